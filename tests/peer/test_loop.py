from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import asyncio, os
from accord.peer.loop import run

os.close({descriptor})
run(asyncio.sleep(0))
os.fstat({descriptor})
"""


@pytest.mark.parametrize("descriptor", [0, 1, 2])
def test_a_program_whose_standard_streams_are_closed_runs_and_ends(descriptor: int):
    """The loop must not take their numbers: uvloop ends the process when it closes one of them."""
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(descriptor=descriptor)], check=False)
    assert done.returncode == 0


def test_the_result_of_a_program_is_returned():
    code = "from accord.peer.loop import run\nasync def main(): return 7\nprint(run(main()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"7\n"
