"""The coding agent with editors that do things their own way, in the frames that they send."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from accord.apps.coder.coder import Coder
from accord.apps.coder.settings.precedence import load_settings
from accord.errors import RequestFailed
from accord.session.capabilities import ClientCapabilities
from accord.store import MemoryStore
from accord.testing import ScriptedClient
from accord.testing.scripted_end import ReceivedFrame

Editor = Callable[..., AbstractAsyncContextManager[ScriptedClient]]


@pytest.fixture
def editor(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Editor:
    """A v1 editor with a session in the project; `async with editor(capabilities) as client`."""
    monkeypatch.setenv("ACCORD_HOME", str(tmp_path / "home"))

    @asynccontextmanager
    async def opened(capabilities: ClientCapabilities | None = None) -> AsyncIterator[ScriptedClient]:
        coder = Coder(load_settings(project, {}), store=MemoryStore(), choices_file=tmp_path / "choices.json")
        async with ScriptedClient(coder.agent, 1, capabilities=capabilities or ClientCapabilities()) as client:
            client.on("session/request_permission", allowed)
            await client.new_session(str(project))
            yield client
        await coder.aclose()

    return opened


def allowed(asked: ReceivedFrame) -> Any:
    option = next(each for each in asked.params["options"] if each["kind"] == "allow_once")
    return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}


async def prompt(client: ScriptedClient, *blocks: str | dict[str, Any]) -> str:
    """Send the blocks, and wait for the turn's end; why it ended."""
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    asked = client.ask("session/prompt", {"sessionId": client.session_id, "prompt": content})
    return await client.stop_reason(asked)


async def cancelled(client: ScriptedClient, text: str) -> None:
    """Prompt, and cancel while the user is asked."""
    client.on("session/request_permission", None)
    asked = client.prompt(text)
    question = await client.seen("session/request_permission")
    client.cancel()
    question.answer({"outcome": {"outcome": "cancelled"}})
    assert await client.stop_reason(asked) == "cancelled"
    client.on("session/request_permission", allowed)


def calls(client: ScriptedClient) -> list[str]:
    return [update["kind"] for update in client.updates("tool_call")]


@pytest.mark.parametrize("wanted", ["/read main.py", "read main.py"])
async def test_a_cancelled_command_that_comes_again_before_the_next_request_is_not_run(
    editor: Editor, wanted: str
) -> None:
    """FN-110: CodeCompanion sends the cancelled text again as the first block of the next prompt."""
    async with editor() as client:
        await cancelled(client, "/run touch done.txt")
        assert await prompt(client, "/run touch done.txt", wanted) == "end_turn"
        assert calls(client) == ["execute", "read"]
        assert len(client.calls("session/request_permission")) == 1


async def test_what_was_cancelled_twice_comes_again_twice(editor: Editor) -> None:
    async with editor() as client:
        await cancelled(client, "/run touch one.txt")
        client.on("session/request_permission", None)
        blocks = [{"type": "text", "text": text} for text in ("/run touch one.txt", "/run touch two.txt")]
        asked = client.ask("session/prompt", {"sessionId": client.session_id, "prompt": blocks})
        question = await client.seen("session/request_permission", 2)
        assert "two.txt" in str(question.params)
        client.cancel()
        question.answer({"outcome": {"outcome": "cancelled"}})
        assert await client.stop_reason(asked) == "cancelled"
        client.on("session/request_permission", allowed)
        await prompt(client, "/run touch one.txt", "/run touch two.txt", "what is in this?", "/read main.py")
        assert calls(client) == ["execute", "execute", "read"]


async def test_a_prompt_that_is_only_the_cancelled_text_is_a_request(editor: Editor, project: Path) -> None:
    async with editor() as client:
        await cancelled(client, "/run touch done.txt")
        await prompt(client, "/run touch done.txt")
        assert (project / "done.txt").exists()


async def test_a_text_that_nobody_cancelled_any_more_is_a_request(editor: Editor, project: Path) -> None:
    async with editor() as client:
        await cancelled(client, "/run touch done.txt")
        await prompt(client, "/read main.py")
        await prompt(client, "/run touch done.txt", "as I said before")
        assert (project / "done.txt").exists()


@pytest.mark.parametrize(
    "blocks", [("Some context.", "/read main.py"), ("/run touch x", "/read main.py"), ("/read main.py", "<date/>")]
)
async def test_the_last_block_that_is_a_request_is_the_newest(editor: Editor, blocks: tuple[str, ...]) -> None:
    async with editor() as client:
        await prompt(client, *blocks)
        assert calls(client) == ["read"]


READS = ClientCapabilities(read_files=True)


async def test_a_file_that_the_editor_refuses_to_read_is_not_shown(editor: Editor) -> None:
    """FN-112: acpx --deny-all."""
    refused = RequestFailed(-32603, "Internal error", {"details": "Permission denied: fs/read_text_file"})
    async with editor(READS) as client:
        client.on("fs/read_text_file", refused)
        await prompt(client, "/read main.py")
        assert "return n + n" not in str(client.updates())
        assert "main.py can't be read: Internal error: Permission denied" in client.said()


async def test_an_edit_keeps_the_line_break_at_the_end_of_the_file(editor: Editor, project: Path) -> None:
    """FN-113: agentic.nvim."""
    async with editor(READS) as client:
        client.on("fs/read_text_file", lambda asked: {"content": Path(asked.params["path"]).read_text().rstrip("\n")})
        await prompt(client, "/edit main.py n + n => 2 * n")
        assert (project / "main.py").read_text() == "def double(n):\n    return 2 * n\n"


async def test_a_file_that_the_editor_calls_empty_and_that_is_not_there_is_missing(editor: Editor) -> None:
    """FN-71: Toad, CodeCompanion, chrome-acp."""
    async with editor(READS) as client:
        client.on("fs/read_text_file", {"content": ""})
        await prompt(client, "/read gone.py")
        assert "file not found: gone.py" in client.said()


SHOWS_TERMINALS = ClientCapabilities(display_terminals=True)


async def test_an_editor_that_shows_terminals_sees_a_command_of_ours_as_it_runs(editor):
    """FN-104: an editor of v1 without terminals of its own, which advertises `_meta.terminal_output`, as others read it."""
    async with editor(SHOWS_TERMINALS) as client:
        assert await prompt(client, "/run printf 'one\\ntwo\\n'; exit 3") == "end_turn"
        calls = [update for update in client.updates() if update["sessionUpdate"].startswith("tool_call")]
    announced = next(update for update in calls if "terminal_info" in update.get("_meta", {}))
    id = announced["_meta"]["terminal_info"]["terminal_id"]
    assert announced["sessionUpdate"] == "tool_call"
    assert announced["_meta"]["terminal_info"]["cwd"].endswith("project")
    assert {"type": "terminal", "terminalId": id} in announced["content"]
    told = [update["_meta"] for update in calls[calls.index(announced) :] if "_meta" in update]
    output = [meta["terminal_output"] for meta in told if "terminal_output" in meta]
    assert "".join(each["data"] for each in output) == "one\ntwo\n"
    assert {each["terminal_id"] for each in output} == {id}
    [ended] = [meta["terminal_exit"] for meta in told if "terminal_exit" in meta]
    assert ended == {"terminal_id": id, "exit_code": 3, "signal": None}


async def test_an_editor_that_shows_terminals_is_told_them_when_it_loads_a_session(editor, project):
    async with editor(SHOWS_TERMINALS) as client:
        assert await prompt(client, "/run echo hello") == "end_turn"
        already = len(client.updates())
        about = {"sessionId": client.session_id, "cwd": str(project), "mcpServers": []}
        assert (await client.ask("session/load", about)).error is None
        told = [update for update in client.updates()[already:] if "_meta" in update]
    [announced, ended] = [update for update in told if update["sessionUpdate"].startswith("tool_call")]
    id = announced["_meta"]["terminal_info"]["terminal_id"]
    assert ended["_meta"] == {
        "terminal_output": {"terminal_id": id, "data": "hello\n"},
        "terminal_exit": {"terminal_id": id, "exit_code": 0, "signal": None},
    }
