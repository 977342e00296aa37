"""`accord agent` before it serves: on a terminal, with wrong settings, with another framing."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

AGENT = [sys.executable, "-m", "accord", "agent"]
INITIALIZE = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}'


def ran(*flags: str, home: Path, **options: Any) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "ACCORD_HOME": str(home)}
    return subprocess.run([*AGENT, *flags], env=environment, check=False, capture_output=True, timeout=120, **options)


def test_on_a_terminal_it_explains_itself(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    try:
        run = ran(home=tmp_path, stdin=theirs)
    finally:
        os.close(ours)
        os.close(theirs)
    assert run.returncode == 0
    assert b"Configure your editor to run this command" in run.stderr
    assert b"Its model is offline, its mode ask" in run.stderr


def test_a_wrong_setting_is_one_line_that_says_what_to_do(tmp_path: Path) -> None:
    run = ran("--mode", "fast", home=tmp_path, input=b"")
    assert run.returncode == 2
    assert b"ask" in run.stderr
    assert b"Traceback" not in run.stderr
    (tmp_path / "config.toml").write_text('modle = "offline"\n')
    run = ran(home=tmp_path, input=b"")
    assert run.returncode == 1
    assert b"config.toml" in run.stderr
    assert b"model" in run.stderr


@pytest.mark.parametrize("framing", ["newline", "content-length"])
def test_it_answers_in_the_framing_that_is_asked_for(tmp_path: Path, framing: str) -> None:
    body = INITIALIZE + b"\n"
    if framing == "content-length":
        body = b"Content-Length: %d\r\n\r\n%s" % (len(INITIALIZE), INITIALIZE)
    run = ran("--framing", framing, home=tmp_path, input=body)
    assert run.returncode == 0
    answer = run.stdout.partition(b"\r\n\r\n")[2] if framing == "content-length" else run.stdout.splitlines()[0]
    assert json.loads(answer)["result"]["agentInfo"]["name"] == "accord"
