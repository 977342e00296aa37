from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable

import pytest

from accord.cli import main
from accord.cli.commands import COMMANDS
from accord.cli.completion import script
from accord.cli.parsing import parser_of

BASH = shutil.which("bash")
SHELLS = ["bash", "zsh", "fish"]


@pytest.fixture
def completed(project, tmp_path) -> Callable[[str], list[str]]:
    """What bash offers for a line; the last word is the one that is being typed."""
    if BASH is None:
        pytest.skip("no bash")
    file = tmp_path / "completion.bash"
    file.write_text(script("bash"))

    def offers(line: str) -> list[str]:
        words = line.split(" ")
        asking = (
            f'source {file}; COMP_WORDS=("$@"); COMP_CWORD={len(words) - 1}; _accord 2>/dev/null; '
            'printf "%s\\n" "${COMPREPLY[@]}"'
        )
        command = [BASH, "--norc", "-c", asking, "bash", *words]
        finished = subprocess.run(command, cwd=project, capture_output=True, text=True, check=True)
        return finished.stdout.split("\n")[:-1]

    return offers


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("accord ", [*COMMANDS, "help", "--help", "--version"]),
        ("accord co", ["config", "completion"]),
        ("accord help tr", ["trust"]),
        ("accord agent --mod", ["--model", "--models", "--mode"]),
        ("accord agent --mode ", ["ask", "architect", "code"]),
        ("accord agent --mode a", ["ask", "architect"]),
        ("accord agent --framing c", ["content-length"]),
        ("accord agent --model ", [""]),
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
    assert sorted(completed("accord config --config a")) == ["a directory", "a file"]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_option_of_every_command_is_in_every_script(shell):
    written = script(shell)
    for command in COMMANDS.values():
        assert command.name in written
        for action in parser_of(command)._actions:
            for option in action.option_strings:
                assert (
                    f"-l {option[2:]}" if shell == "fish" and option.startswith("--") else option.lstrip("-")
                ) in written


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
