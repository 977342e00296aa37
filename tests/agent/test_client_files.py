"""Files read and written through clients that answer in their own ways, in the frames that they send."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from accord.agent import Turn
from accord.errors import RequestFailed
from accord.session.capabilities import ClientCapabilities
from accord.testing import ScriptedClient
from tests.agent.user import plain_agent

FILES = ClientCapabilities(read_files=True, write_files=True)
ACPX = RequestFailed(-32603, "Internal error", {"details": "Permission denied: fs/read_text_file"})


async def attempt(cwd: Path, answer: Any, *, strict: bool = False, writes: str | None = None, **part: Any) -> str:
    """What a handler has of `a.txt` when the client answers so: the text, or the error's type and reason."""
    agent = plain_agent(strict=strict)

    @agent.prompt
    async def use(turn: Turn) -> None:
        try:
            if writes is None:
                await turn.say(await turn.files.read("a.txt", **part))
            else:
                await turn.files.write("a.txt", writes)
        except OSError as error:
            await turn.say(f"{type(error).__name__}: {error.strerror}")

    async with ScriptedClient(agent, 1, capabilities=FILES) as client:
        client.on("fs/read_text_file", answer)
        client.on("fs/write_text_file", answer)
        await client.new_session(str(cwd))
        await client.stop_reason(client.prompt("x"))
        return client.said()


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ACPX, "PermissionError: Internal error: Permission denied: fs/read_text_file"),
        (
            RequestFailed(-32603, "Internal error", "Permission denied"),
            "PermissionError: Internal error: Permission denied",
        ),
        (RequestFailed(-32603, "Internal error"), "OSError: Internal error"),
        (RequestFailed(-32000, "Rejected by the user"), "OSError: Rejected by the user"),
        (RequestFailed(-32602, "Bad path", {"message": "no such workspace"}), "OSError: Bad path: no such workspace"),
        (RequestFailed(7, "", {"reason": "permission_denied", "scope": "a.txt"}), "PermissionError: a.txt"),
    ],
)
async def test_what_a_client_refuses_to_read_is_not_read_from_the_disk(tmp_path, error, expected):
    """FN-112: acpx --deny-all refuses by -32603, with the reason in the data."""
    (tmp_path / "a.txt").write_text("secret\n")
    assert await attempt(tmp_path, error) == expected


@pytest.mark.parametrize("code", [-32002, -32601])
async def test_what_a_client_does_not_have_is_read_from_the_disk(tmp_path, code):
    (tmp_path / "a.txt").write_text("text\n")
    assert await attempt(tmp_path, RequestFailed(code, "No")) == "text\n"


@pytest.mark.parametrize(
    "answer", [{"content": ""}, lambda _: [], ACPX, RequestFailed(-32603, "ENOENT"), RequestFailed(-32002, "No")]
)
async def test_a_file_that_nobody_has_is_missing(tmp_path, answer):
    """Toad, CodeCompanion and chrome-acp answer with an empty text, agentic.nvim with an empty list."""
    assert (await attempt(tmp_path, answer)).startswith("FileNotFoundError: ")


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("answer", [lambda _: [], {"content": 5}, {}, lambda _: "text", {"text": "x"}])
async def test_an_answer_that_cannot_be_read_is_an_error_of_the_system(tmp_path, answer, strict):
    (tmp_path / "a.txt").write_text("text\n")
    assert (await attempt(tmp_path, answer, strict=strict)).startswith("OSError: the client's response is malformed: ")


async def test_an_empty_text_of_a_file_on_another_machine_is_its_text(tmp_path):
    assert await attempt(tmp_path / "elsewhere", {"content": ""}) == ""


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ACPX, "PermissionError: Internal error: Permission denied: fs/read_text_file"),
        (lambda _: "done", "OSError: the client's response is malformed: "),
    ],
)
async def test_a_refused_write_says_why_and_is_not_done(tmp_path, error, expected):
    assert (await attempt(tmp_path, error, strict=True, writes="text")).startswith(expected)
    assert not (tmp_path / "a.txt").exists()


@pytest.mark.parametrize(
    ("disk", "answer", "part", "expected"),
    [
        ("one\ntwo\n", "one\ntwo", {}, "one\ntwo\n"),
        ("one\r\ntwo\r\n", "one\r\ntwo", {}, "one\r\ntwo\r\n"),
        ("one\ntwo\n", "one\nunsaved", {}, "one\nunsaved\n"),
        ("one\ntwo", "one\ntwo", {}, "one\ntwo"),
        ("one\ntwo", "one\ntwo\n", {}, "one\ntwo\n"),
        ("one\ntwo\nthree\n", "two", {"line": 2, "limit": 1}, "two\n"),
        ("one\ntwo\nthree\n", "two\nthree", {"line": 2}, "two\nthree\n"),
        ("one\ntwo\nthree\n", "unsaved", {"line": 2, "limit": 1}, "unsaved"),
    ],
)
async def test_the_last_line_break_that_a_client_loses_is_kept(tmp_path, disk, answer, part, expected):
    """FN-113: agentic.nvim joins the lines of its buffer, and the last line break is gone."""
    (tmp_path / "a.txt").write_bytes(disk.encode())
    assert await attempt(tmp_path, {"content": answer}, **part) == expected
