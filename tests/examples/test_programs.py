"""The example client and the conversation, run as a reader would run them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conversations.story import PATH

pytestmark = pytest.mark.timeout(60)

ROOT = Path(__file__).resolve().parents[2]
OFFICIAL_AGENT = ROOT / "tests" / "interop" / "peers" / "official_agent.py"


def output_of(program: str, *arguments: str) -> str:
    finished = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples" / program), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8", "COLUMNS": "120"},
        timeout=50,
        check=False,
    )
    assert (finished.returncode, finished.stderr) == (0, "")
    return finished.stdout


def test_the_client_allows_only_when_told_to():
    assert output_of("client.py", "--allow", "Buy milk").splitlines()[-3:] == [
        "[completed] Write into notes.md",
        "I wrote down: Buy milk",
        "(end_turn)",
    ]
    assert output_of("client.py", "Buy milk").splitlines()[-3:] == [
        "[failed] Write into notes.md",
        "As you like.",
        "(end_turn)",
    ]


def test_the_client_talks_with_an_agent_of_the_official_sdk():
    command = [sys.executable, str(OFFICIAL_AGENT), str(PATH)]
    assert output_of("client.py", "many 5", *command).splitlines() == ["0 1 2 3 4 ", "(end_turn)"]


@pytest.mark.parametrize(
    ("arguments", "name", "ending"),
    [
        ([], "v2", "session/update state_update"),
        (["--version", "1"], "v1", '{"stopReason": "end_turn"}'),
        (["--version", "2"], "v2", "session/update state_update"),
        (["--version", "2-draft"], "v2 draft", '"stopReason": "end_turn"'),
    ],
)
def test_the_conversation_shows_frames_changes_and_the_transcript(arguments: list[str], name: str, ending: str):
    shown, _, transcript = output_of("conversation.py", *arguments).partition("\nThe transcript, ")
    assert "  client → agent  initialize #0  " in shown
    assert "  client ← agent  session/request_permission #0  " in shown
    assert "   agent asks: Write into notes.md? (Write it down / Leave it)" in shown
    assert shown.count("    turn over: end_turn") == 2
    assert ending in shown
    title, *lines = transcript.splitlines()
    assert title == f"in words that outlive {name}"
    assert [text for text in lines if text and not text.startswith("         ")] == [
        "  client Buy milk",
        "    plan ✓ Write down the note",
        "    edit ✓ Write into notes.md",
        "   agent I wrote down: Buy milk",
        "  client Call the plumber 🔧",
        "    edit ✓ Write into notes.md",
        "   agent I wrote down: Call the plumber 🔧",
    ]
    assert "         +- Call the plumber 🔧" in lines
