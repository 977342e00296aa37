"""Programs of ours that watch their own frames, because whoever starts them does not."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from accord.peer import Peer
from tests.frame_watch import FrameWatch

__all__ = ["REPORT", "run_watched"]

REPORT = "ACP_FRAME_REPORT"
"""Names a file for what is wrong with the frames, where nobody sees how the program ends."""


class Reporting(FrameWatch):
    """Tells what is wrong when it is sent: the program may be killed."""

    def _observe(self, peer: Peer, is_ours: bool, frames: Sequence[bytes]) -> None:
        known = len(self.violations)
        super()._observe(peer, is_ours, frames)
        found = "".join(f"{violation}\n" for violation in self.violations[known:])
        if found:
            sys.stderr.write(found)
            if path := os.environ.get(REPORT):
                with Path(path).open("a", encoding="utf-8") as file:
                    file.write(found)


def run_watched(run: Callable[[], object]) -> int:
    """Run it; where the official schemas are at hand, 1 if a frame did not fit."""
    if "ACP_SCHEMAS" not in os.environ:
        run()
        return 0
    watch = Reporting()
    with watch.watching():
        run()
    return 1 if watch.violations else 0
