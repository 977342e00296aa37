"""A page of the guide, followed word for word on a terminal of its own.

A block ```` ```python name.py ```` is written into that file, ```` ```sh ```` is typed, and ```` ```text ```` is what it shows.
```` ```sh install ```` is typed only where packages may be fetched.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

__all__ = ["GUIDE", "ROOT", "Block", "blocks", "follow", "shown_by"]

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "guide"
BLOCK = re.compile(r"^```(\w+) ?(.*?)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
QUESTION = b"(y/n) "


class Block(NamedTuple):
    language: str
    name: str
    text: str


def blocks(page: str) -> list[Block]:
    return [Block(*found) for found in BLOCK.findall((GUIDE / page).read_text(encoding="utf-8"))]


def follow(page: str, folder: Path, env: dict[str, str]) -> list[tuple[str, str, str]]:
    """What was typed, what the page says is shown, and what was."""
    steps: list[tuple[str, str, str]] = []
    for block in blocks(page):
        match block:
            case Block("python", name, text) if name:
                (folder / name).write_text(text, encoding="utf-8")
            case Block("sh", "", text):
                steps.append((text, "", shown_by(text, folder, env)))
            case Block("text", _, text):
                typed, _, shown = steps[-1]
                steps[-1] = (typed, text, shown)
            case _:
                pass
    return steps


def shown_by(typed: str, folder: Path, env: dict[str, str]) -> str:
    """What a terminal shows when this is typed and every question is answered with y."""
    ours, theirs = os.openpty()
    shell = subprocess.Popen(["sh", "-e", "-c", typed], cwd=folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while piece := _read(ours):
            shown += piece
            if shown.endswith(QUESTION):
                os.write(ours, b"y\n")
    finally:
        os.close(ours)
        shell.kill()
        shell.wait()
    return shown.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # on Linux this is how a terminal ends
        return b""
