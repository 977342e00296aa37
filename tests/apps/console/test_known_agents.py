from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from accord.apps.coder.settings.settings import RESERVED
from accord.apps.console.errors import ConsoleFailed, ExitStatus, InvalidUsage
from accord.apps.console.known_agents import (
    PRESETS,
    AgentCommand,
    Environment,
    KnownAgent,
    find_agent,
    find_preset,
    known_agents,
)
from accord.session.capabilities import Implementation

AROUND = Environment(
    builtin=["python", "-m", "accord", "agent"],
    state=Path("/nowhere"),
    agents={"gemini": AgentCommand(command=["my-gemini", "--fast"]), "own": AgentCommand(command=["own-agent"])},
)


def test_nothing_means_the_built_in_agent():
    agent = find_agent(None, None, AROUND)
    assert (agent.name, agent.command, agent.is_builtin) == ("accord", AROUND.builtin, True)


def test_a_name_of_the_users_wins_over_a_preset():
    assert find_agent("gemini", None, AROUND).command == ["my-gemini", "--fast"]
    assert [agent.name for agent in known_agents(AROUND)].count("gemini") == 1


def test_a_preset_is_the_command_that_starts_it_for_clients():
    agent = find_agent("qwen", None, AROUND)
    assert (agent.command, agent.source) == (["qwen", "--acp"], "preset")


def test_gemini_reads_files_itself_whoever_named_it():
    """FN-95: its SDK hides from it that our answer says "not found", so that it could create no file."""
    own = Environment(
        builtin=[], state=Path("/nowhere"), agents={"mine": AgentCommand(command=["/opt/gemini", "--acp"])}
    )
    assert find_agent("mine", None, own).reads_itself
    assert find_agent("gemini", None, own).reads_itself
    assert find_agent(None, ["gemini", "--acp"], own).reads_itself
    assert not find_agent("claude", None, own).reads_itself
    assert not find_agent(None, ["node", "agent.js"], own).reads_itself


SELF_READERS = {"gemini", "kimi"}
UNASKED = {"fast-agent"}
NAMES = [(preset, name) for preset, row in PRESETS.items() for name in row.names]


@pytest.mark.parametrize(("preset", "name"), NAMES)
def test_an_agent_is_recognised_by_the_name_it_gives_whatever_starts_it(preset, name):
    for given in (name, name.upper(), name.replace("-", " "), name.replace("-", "_"), f"@acme/{name}"):
        for command in (["node", "/x/agent.js"], ["npx", "-y", "something"], ["/opt/own-agent"]):
            agent = find_agent(None, command, AROUND).introduced(Implementation(name=given, version="1"))
            assert find_preset(agent.command, agent.identity) is PRESETS[preset]
            assert agent.reads_itself is (preset in SELF_READERS)
            assert agent.runs_unasked is (preset in UNASKED)


@pytest.mark.parametrize(
    ("given", "preset"),
    [
        ("gemini-cli", "gemini"),
        ("Kimi Code CLI", "kimi"),
        ("kimi", "kimi"),
        ("@agentclientprotocol/claude-agent-acp", "claude"),
        ("@zed-industries/claude-code-acp", "claude"),
        ("@mistralai/mistral-vibe", "vibe"),
        ("Copilot", "copilot"),
        ("OpenCode", "opencode"),
        ("qwen-code", "qwen"),
        ("gemini-proxy", None),
        ("agent", None),
        ("node", None),
        ("", None),
        ("  ", None),
    ],
)
def test_names_as_agents_give_them_are_recognised(given, preset):
    agent = find_agent(None, ["node", "agent.js"], AROUND).introduced(Implementation(name=given, version="1"))
    assert find_preset(agent.command, agent.identity) is (PRESETS[preset] if preset else None)


@pytest.mark.parametrize(
    "command",
    [
        ["npx", "-y", "@google/gemini-cli", "--acp"],
        ["npx", "@google/gemini-cli@latest", "--acp"],
        ["npm", "exec", "@google/gemini-cli@0.61.0"],
        ["bunx", "@google/gemini-cli"],
        ["node", "--no-warnings", "/usr/lib/node_modules/@google/gemini-cli/dist/index.js", "--acp"],
        ["node22", "./node_modules/.bin/gemini"],
        ["/usr/bin/node", "/usr/local/bin/gemini"],
        ["node.exe", "C:\\npm\\node_modules\\@google\\gemini-cli\\index.js"],
        ["uvx", "kimi-cli", "acp"],
        ["uvx", "kimi-cli==1.2", "acp"],
        ["uv", "tool", "run", "kimi-cli"],
        ["python3.12", "/opt/kimi", "acp"],
        ["kimi", "acp"],
    ],
    ids=" ".join,
)
def test_gemini_and_kimi_read_files_themselves_also_behind_a_launcher(command):
    assert KnownAgent(name="x", command=command, source="command").reads_itself


@pytest.mark.parametrize(
    "command",
    [
        ["node", "gemini.js"],
        ["node", "/work/gemini/index.js"],
        ["npx", "-y", "gemini-proxy"],
        ["proxy", "gemini"],
        ["node"],
        ["sh", "-c", "gemini --acp"],
    ],
    ids=" ".join,
)
def test_another_agent_is_not_taken_for_one_of_them(command):
    assert not KnownAgent(name="x", command=command, source="command").reads_itself


@pytest.mark.parametrize("program", ["node", "/usr/bin/node", "npx", "python3.12", "uvx", "bun", "sh", "node.exe"])
def test_an_agent_behind_a_launcher_is_called_by_the_name_it_gives(program):
    agent = KnownAgent(name=Path(program).name, command=[program, "a"], source="command")
    named = agent.introduced(Implementation(name="fast-agent\x1b[2J", title="Fast\nAgent", version="1"))
    assert (named.name, named.title) == ("fast-agent␛[2J", "Fast Agent")
    assert named.key == agent.key, "what is kept of its sessions is found again"
    assert named.line == agent.line
    assert agent.introduced(None) == agent.introduced(Implementation(name=" ", version="1")) == agent


def test_an_agent_that_the_user_has_named_or_can_tell_by_its_program_keeps_its_name():
    info = Implementation(name="fast-agent", title="Fast", version="1")
    mine = KnownAgent(name="mine", command=["node", "a.js"], source="config")
    own = KnownAgent(name="own-agent", command=["/opt/own-agent"], source="command")
    assert [mine.introduced(info).name, own.introduced(info).name] == ["mine", "own-agent"]


def test_a_program_that_goes_by_two_names_is_found_by_either(tmp_path, monkeypatch):
    program = tmp_path / "agent"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_agent("cursor", None, AROUND).command == ["agent", "acp"]
    program.unlink()
    assert find_agent("cursor", None, AROUND).command == ["cursor-agent", "acp"]


def test_a_command_is_an_agent_by_its_own_name(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    agent = find_agent(None, ["./bin/agent.sh", "--acp"], AROUND)
    assert (agent.name, agent.command) == ("agent.sh", [str(tmp_path / "bin" / "agent.sh"), "--acp"])
    assert find_agent(None, ["node", "agent.js"], AROUND).command == ["node", "agent.js"]


def test_sessions_are_kept_by_name_and_those_of_a_command_by_all_of_it():
    one, other = (find_agent(None, ["node", f"{name}.js", "--key=s3cret"], AROUND) for name in "ab")
    assert one.key != other.key
    assert one.key == find_agent(None, one.command, AROUND).key
    assert "s3cret" not in one.key
    assert find_agent("own", None, AROUND).key == "own"


def test_an_unknown_name_is_refused_with_the_nearest_and_with_all_of_them():
    with pytest.raises(InvalidUsage) as refused:
        find_agent("gemni", None, AROUND)
    assert str(refused.value).startswith(
        "there is no agent 'gemni'; did you mean 'gemini'?\n  Known are accord, gemini, own,"
    )
    assert refused.value.status == ExitStatus.USAGE


@pytest.mark.parametrize("may_be_command", [False, True], ids=["after --agent", "in the place of a command"])
@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("https://agents.example.org/acp", "accord connect https://agents.example.org/acp"),
        ("ws://127.0.0.1:8000", "accord connect ws://127.0.0.1:8000"),
        ("python agent.py", "python agent.py"),
    ],
)
def test_a_url_or_a_command_in_the_place_of_a_name_is_refused_with_how_to_give_it(name, command, may_be_command):
    with pytest.raises(InvalidUsage, match=re.escape(f"`-- {command}`")):
        find_agent(name, None, AROUND, may_be_command=may_be_command)


def test_a_name_and_a_command_can_not_both_be_given():
    with pytest.raises(InvalidUsage, match="both the agent 'own' and a command"):
        find_agent("own", ["x"], AROUND)
    with pytest.raises(InvalidUsage, match="no command after"):
        find_agent(None, [], AROUND)


def test_an_agent_that_is_not_there_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConsoleFailed) as failed:
        find_agent("codex", None, AROUND).check()
    assert failed.value.status == ExitStatus.NOT_FOUND
    assert str(failed.value) == (
        "the agent 'codex' can't be started: its program 'codex-acp' is not on PATH\n"
        "  Install it with `npm install -g @agentclientprotocol/codex-acp`"
    )
    with pytest.raises(ConsoleFailed, match=re.escape("[agents.own] in config.toml")):
        find_agent("own", None, AROUND).check()


def test_a_file_that_is_no_program_says_what_to_do(tmp_path):
    script = tmp_path / "agent.py"
    script.write_text("")
    with pytest.raises(ConsoleFailed, match=r"is not executable\n  Run `chmod") as failed:
        find_agent(None, [str(script)], AROUND).check()
    assert failed.value.status == ExitStatus.NOT_EXECUTABLE
    with pytest.raises(ConsoleFailed, match="is not there"):
        find_agent(None, [str(tmp_path / "none")], AROUND).check()


def test_the_bare_name_of_a_file_here_says_how_to_start_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").touch()
    with pytest.raises(ConsoleFailed, match=r"`python agent\.py`\), or write \./agent\.py"):
        find_agent(None, ["agent.py"], AROUND).check()


def test_a_directory_is_no_program_and_nobody_is_told_to_make_it_one(tmp_path):
    with pytest.raises(ConsoleFailed, match=r"is a directory\n  Name the program in it") as failed:
        find_agent(None, [str(tmp_path)], AROUND).check()
    assert failed.value.status == ExitStatus.NOT_EXECUTABLE


def test_a_name_in_the_place_of_a_command_is_refused_with_the_nearest_of_both():
    around = msgspec.structs.replace(AROUND, commands=["agents"])
    for name, meant in (("agnets", "agents"), ("gemni", "gemini")):
        with pytest.raises(InvalidUsage, match=f"no command and no agent '{name}'; did you mean `accord {meant}`"):
            find_agent(name, None, around, may_be_command=True)


def test_what_was_left_out_of_the_settings_is_told_with_an_unknown_name():
    around = msgspec.structs.replace(AROUND, notices=[".accord.toml is not trusted"])
    with pytest.raises(InvalidUsage, match=r"\.accord\.toml is not trusted"):
        find_agent("proj", None, around)


def test_a_secret_in_a_command_is_not_shown():
    agent = find_agent(None, ["a", "--api-key", "s3cret", "--token=s3cret", "--key", "--acp", "x"], AROUND)
    assert agent.line == "a --api-key '********' '--token=********' --key --acp x"


def test_no_preset_has_the_name_of_a_command():
    assert not RESERVED & set(PRESETS)


def test_every_preset_says_how_to_install_it():
    way = re.compile(r"npm install -g \S+$|uv tool install \S+$|see https://")
    assert all(way.match(preset.install) for preset in PRESETS.values())


@pytest.mark.parametrize(
    "command",
    [
        ["fast-agent-acp", "-x"],
        ["/opt/venv/bin/fast-agent-acp"],
        ["fast-agent", "serve", "--transport", "acp"],
        ["uvx", "fast-agent-acp@latest", "--model", "kimi"],
        ["uv", "tool", "run", "fast-agent-acp"],
        ["python3", "/opt/venv/bin/fast-agent-acp"],
    ],
    ids=" ".join,
)
def test_an_agent_that_runs_commands_unasked_is_recognised_before_it_is_started(command):
    assert KnownAgent(name="x", command=command, source="command").runs_unasked
