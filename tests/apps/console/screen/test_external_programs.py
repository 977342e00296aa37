"""The terminal in an editor's or a login's hands, at a pseudo-terminal: the screen comes back whole."""

from __future__ import annotations

import asyncio
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from accord.testing import ScriptedAgent, program

if sys.platform == "win32":
    pytest.skip("no pseudo-terminals", allow_module_level=True)

from tests.apps.console.looking import SeenTerminal
from tests.apps.console.terminal import at_terminal


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!{sys.executable}\nimport os, sys, time\nfrom pathlib import Path\n{text}")
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    return path


EDITOR = """
path = Path(sys.argv[-1])
print("EDITOR", flush=True)
said = sys.stdin.readline()
path.write_text(path.read_text() + ", " + said)
sys.exit(int(os.environ.get("EDITOR_EXIT", "0")))
"""


def at_screen(command: Any, cwd: Path) -> Any:
    return at_terminal("--", *command.args, cwd=cwd, kind=SeenTerminal)


async def test_the_prompt_is_written_in_an_editor_and_the_screen_comes_back_whole(project, monkeypatch):
    monkeypatch.setenv("EDITOR", str(script(project / "editor", EDITOR)))
    agent = ScriptedAgent(1)
    agent.on("session/prompt", agent.reply("Hello from the agent"))
    async with program(agent) as command, at_screen(command, project) as (terminal, accord):
        await terminal.shows("ready")
        usual = terminal.settings()
        terminal.type("Say hi")
        await terminal.shows("Say hi")
        before = terminal.rows
        terminal.type("\x07")
        await terminal.shows("EDITOR")
        assert not terminal.is_taken
        assert terminal.settings() != usual  # the editor has it as it was before accord came
        terminal.type("please\n")
        await terminal.until(lambda: terminal.is_taken and "Say hi, please" in "\n".join(terminal.rows))
        await terminal.until(lambda: [row.replace(", please", "") for row in terminal.rows] == before)
        assert terminal.settings() == usual
        terminal.type("!\r")
        await terminal.shows("Hello from the agent")
        assert agent.calls("session/prompt")[0].params["prompt"][0]["text"] == "Say hi, please!"
        terminal.type("\x11")
        assert await accord.wait() == 0


async def test_what_is_typed_right_behind_the_key_is_not_lost(project, monkeypatch):
    monkeypatch.setenv("EDITOR", str(script(project / "editor", EDITOR)))
    async with program(ScriptedAgent(1)) as command, at_screen(command, project) as (terminal, accord):
        await terminal.shows("ready")
        terminal.type("one\x07two")
        await terminal.shows("EDITOR")
        terminal.type("edited\n")
        await terminal.sees("edited")
        terminal.type("three")  # maybe before the screen is back
        await terminal.until(lambda: terminal.is_taken and "three" in "\n".join(terminal.rows))
        (prompt,) = [row.strip() for row in terminal.rows if "edited" in row]
        assert prompt in ("one, editedtwothree", "onetwo, editedthree")
        terminal.type("\x11")
        assert await accord.wait() == 0


@pytest.mark.parametrize(
    ("editor", "code", "notice"),
    [
        ("/no/such/editor --wait", "0", "Command not found: /no/such/editor --wait"),
        ("{script} --wait", "3", "exited with code 3"),
        ("'unbalanced", "0", "No closing quotation"),
        ("{cwd}", "0", "Cannot run"),
    ],
)
async def test_an_editor_that_fails_is_told_and_the_prompt_stays(project, monkeypatch, editor, code, notice):
    name = script(project / "editor", EDITOR)
    monkeypatch.setenv("VISUAL", editor.format(script=name, cwd=project))
    monkeypatch.setenv("EDITOR_EXIT", code)
    async with program(ScriptedAgent(1)) as command, at_screen(command, project) as (terminal, accord):
        await terminal.shows("ready")
        terminal.type("Say hi")
        await terminal.shows("Say hi")
        terminal.type("\x07")
        if code != "0":
            await terminal.shows("EDITOR")
            terminal.type("x\n")
        await terminal.shows("Say hi", "ready")
        words = notice.split()
        await terminal.until(lambda: terminal.is_taken and all(word in "\n".join(terminal.rows) for word in words))
        terminal.type("!")
        await terminal.shows("Say hi!")
        terminal.type("\x11")
        assert await accord.wait() == 0


async def test_a_ctrl_c_for_the_editor_is_not_for_accord(project, monkeypatch):
    interrupted = """
try:
    print("EDITOR", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    print("INTERRUPTED", flush=True)
    sys.stdin.readline()
"""
    monkeypatch.setenv("EDITOR", str(script(project / "editor", interrupted)))
    async with program(ScriptedAgent(1)) as command, at_screen(command, project) as (terminal, accord):
        await terminal.shows("ready")
        terminal.type("Say hi\x07")
        await terminal.shows("EDITOR")
        terminal.type("\x03")
        await terminal.shows("INTERRUPTED")
        terminal.type("\n")
        await terminal.until(lambda: "Say hi" in "\n".join(terminal.rows) and terminal.is_taken)
        terminal.type("\x11")
        assert await accord.wait() == 0


async def test_the_agent_goes_on_while_the_editor_is_open(project, monkeypatch):
    monkeypatch.setenv("EDITOR", str(script(project / "editor", EDITOR)))
    agent = ScriptedAgent(1)
    agent.on("session/prompt", None)
    async with program(agent) as command, at_screen(command, project) as (terminal, accord):
        await terminal.shows("ready")
        terminal.type("Go\r")
        asked = await agent.next("session/prompt")
        terminal.type("Next\x07")
        await terminal.shows("EDITOR")
        for number in range(500):  # many more than the writes that a suspended driver takes
            agent.say(f"line {number}\n\n")
            if number % 10 == 0:
                agent.update("tool_call", toolCallId=str(number), title=f"do {number}", status="completed")
                await agent.ask("fs/read_text_file", {"sessionId": agent.session_id, "path": str(project / "editor")})
        agent.finish(asked)
        terminal.type("please\n")
        await terminal.shows("line 499", "Next, please", "ready")
        terminal.type("\x11")
        assert await accord.wait() == 0


async def test_a_file_is_opened_at_its_line(project, monkeypatch):
    opener = 'Path("opened").write_text(chr(10).join(sys.argv[1:]))\n'
    monkeypatch.setenv("VISUAL", f"'{script(project / 'nano', opener)}' --softwrap")
    agent = ScriptedAgent(1)
    place = {"path": str(project / "a b.py"), "line": 7}

    def answer(asked: Any) -> None:
        agent.update("tool_call", toolCallId="c", title="Look", status="completed", locations=[place])
        agent.finish(asked)

    agent.on("session/prompt", answer)
    async with program(agent) as command, at_screen(command, project) as (terminal, accord):
        await terminal.shows("ready")
        terminal.type("Go\r")
        await terminal.shows("Look")
        terminal.type("\tk")
        await terminal.shows("▶")
        terminal.type("e")
        while not (project / "opened").exists() or not (project / "opened").read_text():
            await terminal.until(lambda: True)
            await asyncio.sleep(0.01)
        await terminal.until(lambda: "Look" in "\n".join(terminal.rows) and terminal.is_taken)
        assert (project / "opened").read_text().split("\n") == ["--softwrap", "+7", place["path"]]
        terminal.type("\x11")
        assert await accord.wait() == 0


LOGIN = """
import json, os, sys
version, state = int(sys.argv[1]), sys.argv[2]
if "--login" in sys.argv:
    print("PASSWORD?", flush=True)
    word = sys.stdin.readline().strip()
    if word != "sesame":
        sys.exit(2)
    open(state, "w").write(word)
    sys.exit(0)
key = "methodId" if version == 2 else "id"
ways = [{key: "app", "name": "By app", "type": "agent"}, {key: "t", "name": "Here", "type": "terminal", "args": ["--login"]}]
ways += [{key: "env", "name": "A key", "type": "env_var", "vars": [{"name": "ACME_KEY"}]}]
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    answer = {}
    if asked["method"] == "initialize":
        answer["result"] = {"protocolVersion": version, "authMethods": ways}
        if version == 1:
            answer["result"]["agentCapabilities"] = {}
        else:
            answer["result"] |= {"capabilities": {"session": {}}, "info": {"name": "a", "version": "1"}}
    elif asked["method"] == "session/new" and not os.path.exists(state):
        answer["error"] = {"code": -32000, "message": "Authentication required"}
    elif asked["method"] == "session/new":
        answer["result"] = {"sessionId": "s"}
    else:
        answer["error"] = {"code": -32603, "message": "The app is not there"}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""


async def ask_again(terminal: SeenTerminal) -> None:
    """`/login`, once the page that asked before is gone."""
    await terminal.until(lambda: "By app (app)" not in "\n".join(terminal.rows))
    terminal.type("/login\r")
    await terminal.shows("By app (app)")


@pytest.mark.parametrize("version", [1, 2])
async def test_a_login_in_the_terminal_leads_to_the_session(project, version, monkeypatch):
    monkeypatch.delenv("ACCORD_STRICT", raising=False)  # there is a way that no version has
    (project / "agent.py").write_text(LOGIN)
    words = ("--", sys.executable, project / "agent.py", version, project / "state")
    async with at_terminal(*words, cwd=project, kind=SeenTerminal) as (terminal, accord):
        await terminal.shows("The agent requires a login", "By app (app)", "Here (t, in the terminal)")
        terminal.type("Here\r")
        await terminal.shows("PASSWORD?")
        assert not terminal.is_taken
        terminal.type("wrong\n")
        await terminal.shows("The login 't' failed", "exit code", "/login")
        await ask_again(terminal)
        terminal.type("\r")  # the agent's own, which fails
        await terminal.shows("The app is not there")
        await ask_again(terminal)
        await terminal.shows("A key (env, by ACME_KEY in the environment)")
        terminal.type("key\r")
        await terminal.shows("needs ACME_KEY")
        await ask_again(terminal)
        terminal.type("\x1b")
        await ask_again(terminal)
        terminal.type("Here\r")
        await terminal.shows("PASSWORD?")
        terminal.type("sesame\n")
        await terminal.shows("Logged in", "ready")
        assert terminal.is_taken
        terminal.type("Hi there")
        await terminal.shows("Hi there")
        terminal.type("\x11")
        assert await accord.wait() == 0
