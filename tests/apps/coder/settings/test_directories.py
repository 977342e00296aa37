from __future__ import annotations

import sys
from pathlib import Path

import pytest

from accord.apps.coder.errors import InvalidSettings
from accord.apps.coder.settings.files import config_directory, display_path, state_directory


@pytest.mark.skipif(sys.platform != "linux", reason="the rules of Linux")
def test_on_linux_the_rules_of_xdg_hold(home):
    assert config_directory({}) == home / ".config" / "accord"
    assert state_directory({}) == home / ".local" / "state" / "accord"
    environment = {"XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "relative"}
    assert config_directory(environment) == Path("/c/accord")
    assert state_directory(environment) == home / ".local" / "state" / "accord"


def test_on_a_mac_both_are_in_the_library(home, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert config_directory({}) == state_directory({}) == home / "Library" / "Application Support" / "accord"


def test_one_variable_puts_everything_in_one_place():
    assert config_directory({"ACCORD_HOME": "/portable"}) == Path("/portable")
    assert state_directory({"ACCORD_HOME": "/portable"}) == Path("/portable/state")


def test_without_a_home_it_says_what_to_set(monkeypatch):
    def homeless(_path: str) -> str:
        return "~"

    monkeypatch.setattr("os.path.expanduser", homeless)
    with pytest.raises(InvalidSettings, match="set HOME, or ACCORD_HOME"):
        config_directory({})


def test_paths_are_shown_as_users_write_them(home):
    assert display_path(home / "a" / "b") == "~/a/b"
    assert display_path(home) == str(home)
    assert display_path(Path("/etc")) == "/etc"
