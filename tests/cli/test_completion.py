from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from accord.apps.console.known_agents import PRESETS
from accord.cli import main
from accord.cli.commands import COMMANDS, TALK, Subcommand
from accord.cli.completion import script
from accord.cli.parser import new_parser

BASH = shutil.which("bash")
SHELLS = ["bash", "zsh", "fish"]


@pytest.fixture
def completed(home, project, tmp_path) -> Callable[[str], list[str]]:
    """What bash offers for a line; the last word is the one that is being typed."""
    if BASH is None:
        pytest.skip("no bash")
    file = tmp_path / "completion.bash"
    file.write_text(script("bash"))
    (home / "config.toml").write_text("models = ['anthropic:claude-x', 'anthropic:claude-y']\n")

    def offers(line: str) -> list[str]:
        words = line.split(" ")
        asking = (
            f'source {file}; COMP_WORDS=("$@"); COMP_CWORD={len(words) - 1}; _accord 2>/dev/null; '
            'printf "%s\\n" "${COMPREPLY[@]}"'
        )
        command = [BASH, "--norc", "-c", asking, "bash", *words]
        env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        finished = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, check=True)
        return finished.stdout.split("\n")[:-1]

    return offers


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("accord ", [*COMMANDS, "accord", *PRESETS]),
        ("accord co", ["connect", "config", "completion", "codex", "copilot"]),
        ("accord gem", ["gemini"]),
        ("accord --c", ["--cwd", "--continue"]),
        ("accord --ver", ["--version"]),
        ("accord gemini --c", ["--cwd", "--continue"]),
        ("accord --plain --permissions allow-e", ["allow-edits"]),
        ("accord run --agent q", ["qoder", "qwen"]),
        ("accord agents q", ["qoder", "qwen"]),
        ("accord help tr", ["trust", "troubleshooting", "transports"]),
        ("accord agent --mod", ["--model", "--models", "--mode"]),
        ("accord agent --mode ", ["ask", "architect", "code"]),
        ("accord agent --mode a", ["ask", "architect"]),
        ("accord agent --framing c", ["content-length"]),
        ("accord agent --model o", ["offline"]),
        ("accord agent --model=o", ["offline"]),
        ("accord run --model anthropic : cl", ["claude-x", "claude-y"]),
        ("accord run --model anthropic:claude-x", ["claude-x"]),
        (
            "accord --mode a",
            ["ask  (Asks before each change and each command)", "architect  (Reads and plans; changes nothing)"],
        ),
        ("accord --theme accord-l", ["accord-light"]),
        ("accord run --timeout ", [""]),
        ("accord config --j", ["--json"]),
        ("accord completion z", ["zsh"]),
    ],
)
def test_bash_offers_what_fits(completed, line, offered):
    assert completed(line) == offered


def test_bash_offers_directories_and_files_where_they_belong(completed, project):
    (project / "a directory").mkdir()
    (project / "a file").touch()
    assert completed("accord trust a") == ["a directory"]
    assert completed("accord --cwd a") == ["a directory"]
    assert sorted(completed("accord config --config a")) == ["a directory", "a file"]


def options_of(command: Subcommand) -> list[str]:
    return [option for action in new_parser(command)._actions for option in action.option_strings]


@pytest.mark.parametrize("command", [TALK, *COMMANDS.values()], ids=lambda command: command.name or "accord")
class TestEveryOption:
    def test_in_bash(self, completed, command):
        own = ["--version"] if command is TALK else []
        assert completed(f"accord {command.name or 'gemini'} -") == [*options_of(command), *own]

    @pytest.mark.usefixtures("project")
    def test_in_zsh(self, command):
        _, _, rest = script("zsh").partition(f"        '{command.name}') _arguments")
        specs = rest.partition(";;")[0].split("\n")
        for option in options_of(command):
            assert any(re.match(rf" +'{option}=?\[", spec) for spec in specs), option

    @pytest.mark.usefixtures("project")
    def test_in_fish(self, command):
        when = f"'__fish_seen_subcommand_from {command.name}'"
        lines = [line for line in script("fish").splitlines() if (when if command.name else "'not __fish") in line]
        for option in options_of(command):
            flag = f" -l {option[2:]} " if option.startswith("--") else f" -s {option[1:]} "
            assert any(flag in line for line in lines), option


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_itself_can_read_its_script(shell, tmp_path):
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell}")
    file = tmp_path / "script"
    file.write_text(script(shell))
    subprocess.run([program, "-n", str(file)], check=True)


@pytest.mark.usefixtures("project")
def test_the_users_own_shell_is_guessed(monkeypatch, capsys):
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert main(["completion"]) == 0
    assert capsys.readouterr().out == script("fish")
    monkeypatch.setenv("SHELL", "/usr/bin/tcsh")
    assert main(["completion"]) == 1
    assert capsys.readouterr().err == (
        "accord: say for which shell: `accord completion bash`, `accord completion zsh`, `accord completion fish`\n"
    )
