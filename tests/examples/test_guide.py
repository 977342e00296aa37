"""The guide does what it says, word for word."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from accord import Client, permissions
from tests.examples.guide_pages import GUIDE, ROOT, blocks, follow, shown_by

pytestmark = pytest.mark.skipif(not hasattr(os, "openpty"), reason="no terminals")

YOURS = {"/home/you/acp/bin/python": sys.executable, "/home/you/notebook/agent.py": "agent.py"}


def environment(home: Path) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "HOME": str(home)}


def check(steps: list[tuple[str, str, str]], folder: Path, python: str = sys.executable) -> None:
    assert steps
    for typed, told, shown in steps:
        expected = told.replace("/home/you/acp/bin/python", python).replace("/home/you/notebook", str(folder))
        assert shown == expected, typed


@pytest.mark.requirement("CHECK-09", "CHECK-11")
def test_the_first_agent_and_the_first_client_work_as_told(tmp_path: Path):
    check(follow("first-agent.md", tmp_path, environment(tmp_path)), tmp_path)
    check(follow("first-client.md", tmp_path, environment(tmp_path)), tmp_path)
    assert (tmp_path / "notes.md").read_text() == "- Buy milk\n- Buy bread\n"


def test_agents_and_clients_of_the_official_sdk_and_ours_talk_with_each_other(tmp_path: Path):
    check(follow("migrating.md", tmp_path, environment(tmp_path)), tmp_path)


def test_the_test_of_the_guide_passes_in_an_empty_directory(tmp_path: Path):
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "NO_COLOR": "1", "PYTEST_ADDOPTS": ""}
    [(typed, told, shown)] = follow("testing.md", tmp_path, {**environment(tmp_path), **alone})
    assert typed == "python -m pytest -q --no-header\n"
    assert re.sub(r" +\[100%\]| in [\d.]+s", "", shown) == told


def test_the_readme_installs_as_the_guide_does():
    [install] = [block.text for block in blocks("first-agent.md") if block.name == "install"]
    readme = re.sub(r" +#.*", "", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert f"```sh\n{install}```" in readme


@pytest.mark.parametrize("page", ["first-agent.md", "first-client.md", "migrating.md"])
def test_every_program_of_a_page_is_started_by_one_of_its_steps(page: str):
    typed = "".join(block.text for block in blocks(page) if block.language == "sh")
    programs = {block.name for block in blocks(page) if block.language == "python" and block.name}
    assert programs
    assert [name for name in programs if name not in typed and name != "agent.py"] == []


@pytest.mark.parametrize("number", [0, 1], ids=["zed", "jetbrains"])
async def test_the_settings_of_an_editor_start_the_agent(number: int, tmp_path: Path):
    page = blocks("first-agent.md")
    settings = json.loads([block.text for block in page if block.language == "json"][number])
    [server] = settings["agent_servers"].values()
    agent = [block.text for block in page if block.name == "agent.py"][-1]
    (tmp_path / "agent.py").write_text(agent, encoding="utf-8")
    command = [server["command"], *server["args"]]
    assert set(command) == set(YOURS)
    here = [str(tmp_path / YOURS[part]) for part in command]
    async with Client(here, version=1, on_permission=permissions.allow_all) as client:
        reply = (await client.new_session(tmp_path)).prompt("Buy milk")
        assert (await reply).text == "Noted."


def test_the_settings_for_neovim_name_the_same_command():
    for block in blocks("first-agent.md"):
        if block.language == "lua":
            assert [part for part in YOURS if f'"{part}"' not in block.text] == []
            assert block.text.count("{") == block.text.count("}")
            assert block.text.count("(") == block.text.count(")")


def test_what_the_page_on_versions_says_is_lost_is_in_the_table_of_losses():
    from accord.dialects.translation_losses import loss_table

    page = (GUIDE / "versions.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| .* \| (.*) \| .* \|$", page, re.MULTILINE)
    assert rows
    assert {row: ", ".join(loss_table()[row].dialects) for row, _ in rows} == dict(rows)


def test_what_the_table_of_equivalents_calls_a_name_of_the_official_sdk_is_one():
    import acp
    from acp import contrib, helpers, schema

    known = {name for place in (acp, helpers, contrib, acp.Agent, acp.Client, acp.RequestError) for name in dir(place)}
    known |= {field for model in vars(schema).values() for field in getattr(model, "model_fields", ())}
    assert [word for word in names(column=0) if word not in known and word not in PLAIN_WORDS] == []


def test_what_the_table_of_equivalents_calls_a_name_of_accord_is_one():
    import accord
    from accord.agent import STOP_REASONS, AgentSession, AgentToolCall, Turn
    from accord.agent.files import ClientFiles
    from accord.client.reply import Reply
    from accord.client.session import Session as ClientSession
    from accord.store import SqliteStore

    turn_attributes = re.findall(r"self\.(\w+)", (ROOT / "src/accord/agent/turn.py").read_text())
    session_attributes = re.findall(r"self\.(\w+)", (ROOT / "src/accord/agent/session.py").read_text())
    places = (accord, accord.Agent, accord.Client, Turn, AgentToolCall, AgentSession, ClientSession, Reply, ClientFiles)
    known = {name for place in places for name in dir(place)} | {*turn_attributes, *session_attributes}
    known |= {*arguments_of(accord.Agent), *arguments_of(accord.Client), *STOP_REASONS}
    known |= {AgentSession.__name__, ClientSession.__name__, SqliteStore.__name__}
    assert [word for word in names(column=1) if word not in known and word not in PLAIN_WORDS] == []


PLAIN_WORDS = {
    *(
        "acp",
        "class",
        "MyAgent",
        "contrib",
        "helpers",
        "client",
        "command",
        "args",
        "text",
        "title",
        "reason",
        "session",
    ),
    *("agent", "turn", "call", "async", "with", "await", "raise", "async", "name", "version", "kind", "path", "folder"),
    *(
        "id",
        "message",
        "fields",
        "choices",
        "description",
        "summary",
        "for",
        "in",
        "as",
        "reply",
        "True",
        "update",
        "prompt",
    ),
    *("s",),
}


def arguments_of(kind: type) -> list[str]:
    return list(kind.__init__.__code__.co_varnames)


def names(column: int) -> list[str]:
    rows = re.findall(r"^\| (.*) \| (.*) \|$", (GUIDE / "migrating.md").read_text(), re.MULTILINE)
    code = [snippet for row in rows for snippet in re.findall(r"`([^`]+)`", row[column])]
    without_strings = [re.sub(r'"[^"]*"', "", snippet) for snippet in code]
    return [word for snippet in without_strings for word in re.findall(r"[A-Za-z_]+", snippet)]


@pytest.mark.interop
@pytest.mark.timeout(600)
def test_all_of_it_works_in_a_new_environment(tmp_path: Path):
    """With the packages that pip fetches, and nothing of ours but what the wheel has."""
    checkout, folder = tmp_path / "accord", tmp_path / "notebook"
    kept = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True)
    for name in kept.stdout.decode().splitlines():
        if (ROOT / name).is_file():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, checkout / name)
    folder.mkdir()
    env = {name: value for name, value in environment(tmp_path).items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    [install] = [block.text for block in blocks("first-agent.md") if block.name == "install"]
    shown = shown_by(install + "echo installed\n", checkout, env)
    assert shown.endswith("installed\n"), shown
    new = tmp_path / "acp" / "bin"
    env["PATH"] = f"{new}{os.pathsep}{os.environ['PATH']}"
    check(follow("first-agent.md", folder, env), folder, str(new / "python"))
    check(follow("first-client.md", folder, env), folder, str(new / "python"))
