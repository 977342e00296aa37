from __future__ import annotations

import pytest

from accord import Client, Command, ConnectionClosed
from accord.client.target import target_of


def test_a_command_line_is_split_as_a_shell_would():
    line, parts = target_of("npx -y 'my agent'"), target_of(["my agent", "--acp"])
    assert isinstance(line, Command)
    assert isinstance(parts, Command)
    assert (line.args, parts.args) == (["npx", "-y", "my agent"], ["my agent", "--acp"])


def test_anything_that_connects_is_a_target():
    command = Command("agent")
    assert target_of(command) is command


def test_a_command_shows_no_secrets():
    assert repr(Command("agent --acp", env={"KEY": "secret"})) == "Command('agent --acp')"


def test_an_environment_is_laid_over_ours(monkeypatch):
    monkeypatch.setenv("OURS", "1")
    environment = Command("agent", env={"KEY": "k"}).environment()
    assert (environment["OURS"], environment["KEY"]) == ("1", "k")


def test_an_empty_command_is_refused():
    with pytest.raises(ValueError, match="program"):
        Command("")


async def test_a_program_that_does_not_exist_is_named():
    with pytest.raises(ConnectionClosed, match="no-such-agent"):
        async with Client("no-such-agent --acp"):
            pass


async def test_a_client_that_is_not_open_says_so():
    with pytest.raises(RuntimeError, match="async with"):
        await Client("agent").new_session("/")
