"""`accord agent` as a program that watches its own frames."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from accord.cli import main
from tests.interop.peers.frame_report import run_watched

if __name__ == "__main__":
    sys.exit(run_watched(lambda: main(["agent", *sys.argv[1:]])))
