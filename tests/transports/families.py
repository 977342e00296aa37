"""Commands that start more than one process, and how to know that all of them are gone."""

from __future__ import annotations

import json
import os
import select
from collections.abc import Iterable

ANNOUNCE = r'echo "{\"pid\":$$}"'
LIVE_ON = f"'{ANNOUNCE}; exec sleep 1000'"

# A command in a shell with a child, one in a session of its own, and one that was forked twice, so is nobody's child.
MEMBERS = 4
FAMILY = f"{ANNOUNCE}; sh -c {LIVE_ON} & setsid sh -c {LIVE_ON} & (setsid sh -c {LIVE_ON} &) ; "
DEAF_FAMILY = f"trap '' TERM HUP INT; {FAMILY} "


def pids(frames: Iterable[bytes]) -> list[int]:
    return [json.loads(frame)["pid"] for frame in frames]


def parent(pid: int) -> int:
    with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
        return int(file.read().rpartition(b")")[2].split()[1])


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_gone(*processes: int) -> bool:
    """Blocks until all of them have ended; False when one has not within half a minute."""
    for pid in processes:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            if not poll.poll(30_000):
                return False
        finally:
            os.close(descriptor)
    return True
