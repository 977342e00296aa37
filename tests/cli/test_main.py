from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import accord
from accord.apps.coder.settings.settings import RESERVED
from accord.cli import main
from accord.cli.commands import COMMANDS
from accord.cli.parser import parse_arguments

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.mark.usefixtures("project")
class TestWords:
    def test_its_help_shows_every_command(self, capsys):
        assert main(["--help"]) == 0
        shown = capsys.readouterr().out
        for command in COMMANDS.values():
            assert f"  {command.name} " in shown
            assert command.summary in shown
        assert main(["-h"]) == 0
        assert capsys.readouterr().out == shown

    def test_it_says_its_version(self, capsys):
        assert main(["--version"]) == 0
        assert capsys.readouterr().out == f"accord {PACKAGE['version']}\n"

    @pytest.mark.parametrize("command", COMMANDS)
    def test_every_command_has_help_in_both_ways(self, command, capsys):
        with pytest.raises(SystemExit) as ended:
            main([command, "--help"])
        assert ended.value.code == 0
        shown = capsys.readouterr().out
        assert shown.startswith(f"usage: accord {command} [options]")
        assert main(["help", command]) == 0
        assert capsys.readouterr().out.startswith(shown)

    def test_a_word_that_is_no_command_is_refused_with_the_nearest(self, capsys):
        assert main(["agnet"]) == 2
        assert capsys.readouterr().err == (
            "accord: there is no command and no agent 'agnet'; did you mean `accord agent`?\n"
            "  `accord --help` and `accord agents` list them\n"
        )

    def test_an_argument_that_there_is_not_is_refused_with_the_nearest(self, capsys):
        with pytest.raises(SystemExit) as ended:
            main(["config", "--jsno"])
        assert ended.value.code == 2
        assert capsys.readouterr().err == (
            "accord config: unknown argument: --jsno; did you mean --json? (`accord config --help` tells more)\n"
        )

    def test_a_prompt_after_the_name_of_the_program_is_refused_with_the_command_for_it(self, capsys):
        with pytest.raises(SystemExit) as ended:
            main(["fix", "the", "bug"])
        assert ended.value.code == 2
        assert capsys.readouterr().err == (
            "accord: unknown argument: the. A prompt is typed on the screen, or sent with `accord run PROMPT` "
            "(`accord --help` tells more)\n"
        )

    def test_words_may_stand_on_both_sides_of_an_option(self):
        told = parse_arguments(COMMANDS["run"], ["foo", "--json", "bar", "--", "cat", "--json"])
        assert told == {"prompt": ["foo", "bar"], "json": True, "command": ["cat", "--json"]}

    def test_what_a_terminal_would_obey_is_not_repeated_to_it(self, home, capsys):
        (home / "config.toml").write_text('"\\u001b[31mx" = 1')
        assert main(["config"]) == 1
        assert "\x1b" not in capsys.readouterr().err

    def test_options_cannot_be_shortened(self, capsys):
        with pytest.raises(SystemExit):
            main(["config", "--js"])
        assert "unknown argument: --js" in capsys.readouterr().err

    def test_what_the_user_can_mend_is_one_line_without_a_traceback(self, home, capsys):
        (home / "config.toml").write_text("mode = 3")
        assert main(["config"]) == 1
        assert capsys.readouterr().err == "accord: ~/accord/config.toml:1: mode: must be text, not a whole number\n"

    def test_what_the_system_refuses_is_one_line_too(self, monkeypatch, capsys):
        def refuse(*_arguments: object) -> None:
            raise PermissionError(13, "Permission denied", "/state")

        monkeypatch.setattr("accord.apps.coder.settings.trust.Trust.records", refuse)
        assert main(["trust", "--list"]) == 1
        assert capsys.readouterr().err == "accord: [Errno 13] Permission denied: '/state'\n"

    def test_a_fault_of_our_own_is_not_hidden(self, monkeypatch):
        def fail(*_arguments: object) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr("accord.apps.coder.settings.trust.Trust.records", fail)
        with pytest.raises(ZeroDivisionError):
            main(["trust", "--list"])

    def test_control_c_is_130(self, monkeypatch):
        def interrupt(*_arguments: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr("accord.apps.coder.settings.trust.Trust.records", interrupt)
        assert main(["trust", "--list"]) == 130


def test_the_version_is_told_in_one_place_and_repeated_in_the_other():
    assert accord.__version__ == PACKAGE["version"]


def test_the_package_installs_the_command():
    assert PACKAGE["scripts"] == {"accord": "accord.cli:program"}


def test_no_agent_can_take_the_name_of_a_command():
    assert {*COMMANDS, "help"} <= RESERVED


def test_it_runs_as_a_module(typed):
    finished = typed("--version")
    assert (finished.returncode, finished.stdout) == (0, f"accord {accord.__version__}\n")
    finished = typed("agnet")
    assert (finished.returncode, finished.stdout) == (2, "")


@pytest.mark.skipif(sys.platform == "win32", reason="no such pipes")
def test_when_nobody_reads_the_output_it_ends_in_silence(project):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        finished = subprocess.run(
            [sys.executable, "-m", "accord", "config"], cwd=project, stdout=writer, stderr=subprocess.PIPE, check=False
        )
    finally:
        os.close(writer)
    assert (finished.returncode, finished.stderr) == (141, b"")


@pytest.mark.skipif(sys.platform == "win32", reason="no such shell")
@pytest.mark.parametrize(
    ("words", "closed", "status"),
    [
        ("--version", ">&-", 0),
        ("agents", ">&-", 0),
        ("sessions", ">&-", 0),
        ("config", ">&-", 0),
        ("completion bash", ">&-", 0),
        ("config --nope", "2>&-", 2),
        ("nope", "2>&-", 2),
        ("nope", "<&- >&- 2>&-", 2),
    ],
)
def test_closed_streams_cost_nothing(project, words, closed, status):
    command = ["/bin/sh", "-c", f'"$0" -m accord {words} {closed}', sys.executable]
    finished = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert (finished.returncode, finished.stderr) == (status, "")


def test_what_an_encoding_lacks_is_replaced(typed, monkeypatch):
    typed("run", "/search ✓")
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    finished = typed("sessions")
    assert (finished.returncode, "/search ?" in finished.stdout, finished.stderr) == (0, True, "")


@pytest.mark.skipif(sys.platform == "win32", reason="a directory in use can't be removed")
@pytest.mark.parametrize("words", ["config", "agents", "run Hi", "run --cwd / Hi -- cat"])
def test_a_directory_that_is_gone_is_named_as_what_it_is(project, tmp_path, words):
    (tmp_path / "gone").mkdir()
    command = ["/bin/sh", "-c", f'rmdir "$PWD"; "$0" -P -m accord {words}', sys.executable]
    finished = subprocess.run(command, cwd=tmp_path / "gone", capture_output=True, text=True, check=False)
    assert (finished.returncode, finished.stdout) == (1, "")
    assert finished.stderr.startswith("accord: the directory that this was started in is gone\n  Change into another")


LOADED = (
    "import sys; from accord.cli import main; status = main({words!r}); print(status, *sys.modules, file=sys.stderr)"
)


@pytest.mark.parametrize(
    ("words", "unwanted"),
    [
        (["--version"], {"msgspec", "argparse", "asyncio", "accord.apps"}),
        (["--help"], {"msgspec", "argparse", "asyncio", "accord.apps"}),
        (["config"], {"argparse", "asyncio", "sqlite3", "tomllib", "hashlib", "accord.agent", "accord.client"}),
        (["trust", "--list"], {"asyncio", "sqlite3", "accord.agent"}),
        (["permissions"], {"argparse", "asyncio", "sqlite3", "accord.agent"}),
        (
            ["agent"],
            {"argparse", "tomllib", "platformdirs", "pydantic", "pydantic_ai", "xllamacpp", "httpx", "accord.client"}
            | {"accord.cli.completion", "accord.cli.parser", "accord.apps.coder.settings.validation"},
        ),
    ],
    ids=lambda value: " ".join(sorted(value)),
)
def test_a_command_loads_only_what_it_needs(project, words, unwanted):
    finished = subprocess.run(
        [sys.executable, "-c", LOADED.format(words=words)],
        cwd=project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    status, *loaded = finished.stderr.split()
    assert status == "0"
    assert unwanted & set(loaded) == set()


@pytest.fixture
def heard_control_c() -> Iterator[None]:
    """A script's background job, which these tests may be, ignores Ctrl+C, and so does every program that it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
@pytest.mark.usefixtures("heard_control_c")
def test_the_agent_ends_by_control_c_without_a_traceback(project):
    with subprocess.Popen(
        [sys.executable, "-m", "accord", "agent"],
        cwd=project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        assert agent.stderr is not None
        agent.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n')
        agent.stdin.flush()
        assert b"protocolVersion" in agent.stdout.readline()
        agent.send_signal(signal.SIGINT)
        assert agent.wait() == 130
        assert agent.stderr.read() == b""


def test_a_command_whose_extra_is_not_installed_says_how_to_add_it(project):
    code = (
        "import sys; sys.modules['websockets.asyncio.client'] = None\n"
        "from accord.cli import main; sys.exit(main(['connect', 'http://127.0.0.1:1/']))"
    )
    finished = subprocess.run(
        [sys.executable, "-c", code], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, cwd=project
    )
    assert finished.returncode == 1
    [line] = finished.stderr.splitlines()
    assert line.startswith("accord: URLs of agents need the extra `http`: ")
