"""The programs that are measured against each other, and how each is started."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = [
    "ACCORD",
    "BARE",
    "OFFICIAL",
    "PROTOCOL",
    "PROTOCOL_UVLOOP",
    "SDK",
    "STREAMS",
    "TYPESCRIPT",
    "Contender",
    "program_command",
]

_PROGRAMS = Path(__file__).parent / "programs"
_TYPESCRIPT_PACKAGES = Path(__file__).parent.parent / "tests/interop/typescript/node_modules"


@dataclass(frozen=True)
class Contender:
    """A pair of programs, the event loop they run on, how they reach each other, and in growth rows how much they do."""

    program: str
    uvloop: bool = False
    label: str | None = None
    count: int = 0
    transport: str | None = None
    """`http` or `websocket`; None for pipes."""

    @property
    def name(self) -> str:
        if self.label is not None:
            return self.label
        return f"{self.program} on uvloop" if self.uvloop else self.program

    @property
    def missing(self) -> str | None:
        """Why it can't run on this machine."""
        return _typescript_missing() if self.program == "typescript" else None


ACCORD, OFFICIAL, TYPESCRIPT = map(Contender, ("accord", "official", "typescript"))
BARE, STREAMS, PROTOCOL = map(Contender, ("bare", "streams", "protocol"))
PROTOCOL_UVLOOP = Contender("protocol", uvloop=True)
SDK = Contender("sdk", label="accord")
"""accord with its public API; `ACCORD` is a peer with a dialect and a transcript."""


def program_command(module: str) -> list[str]:
    """The command that runs a program of `benchmarks.programs`."""
    if module.startswith("typescript_"):
        return ["node", str(_PROGRAMS / f"{module}.mjs")]
    return [sys.executable, "-m", f"benchmarks.programs.{module}"]


@cache
def _typescript_missing() -> str | None:
    for command in ("node", "npm"):
        if shutil.which(command) is None:
            return f"command not found: {command}"
    if not _TYPESCRIPT_PACKAGES.exists():
        return "its packages are not installed; run `make node-peers`"
    return None
