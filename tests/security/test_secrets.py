"""Attacks on secrets: a password in an address must not be shown, sent or kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic_ai.exceptions import ModelAPIError, ModelConnectionError, ModelNotFoundError, UserError

from accord.agent.mcp.reasons import reason_of
from accord.apps.coder.failures import ModelFailed
from accord.apps.coder.models.choosing import Place
from accord.apps.coder.models.explaining import explained
from accord.apps.coder.models.finding import find
from accord.apps.coder.settings.settings import ModelSettings
from accord.apps.coder.settings.shown import without_secrets
from accord.local.redaction import redacted

URL = "http://me:sesame@127.0.0.1:1/v1?key=sesame"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://host/v1", "http://host/v1"),
        (URL, "http://********@127.0.0.1:1/v1?key=********"),
        ("no answer from 'https://sesame@host:80/x'.", "no answer from 'https://********@host:80/x'."),
        ("http://me:ses@me@host/", "http://********@host/"),
        ("GET http://me:sesame@a/x?b=c&d=e#f then ws://me:sesame@b", "GET http://********@a/x?b=********&d=********#f then ws://********@b"),
        ("mail me@host, a//b, 1/2@3, what?", "mail me@host, a//b, 1/2@3, what?"),
    ],
)  # fmt: skip
def test_addresses_are_told_without_their_secrets(text: str, shown: str) -> None:
    assert redacted(text) == shown


@pytest.mark.parametrize("piece", ["//", "/", "//a", "?", "&", "?a", "&a=", "@", "//@", "?=", "//a@//"])
def test_a_long_text_is_looked_through_once(piece: str) -> None:
    redacted(piece * 300_000)


@pytest.mark.parametrize(
    "error",
    [
        httpx2.ConnectError(f"no route to {URL}"),
        ModelConnectionError("x", f"no route to {URL}"),
        ModelNotFoundError("x", f"nothing at {URL}"),
        ModelAPIError("x", f"bad answer from {URL}"),
        UserError(f"bad {URL}"),
        RuntimeError(f"bad {URL}"),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("began", [False, True])
def test_no_failure_of_a_model_tells_the_password_of_its_address(error: Any, began: bool) -> None:
    place = Place("openai:x", ModelSettings(base_urls={"openai": URL}), {})
    failed = explained(error, place, began=began)
    assert "sesame" not in f"{failed} {failed.reason} {failed.advice} {failed!r}"


@pytest.mark.parametrize(
    "url", ["http://me:ses/ame@host/v1", "http://me:sesame@[::1/v1", "http://me:sesame@host:port/"]
)
def test_an_address_that_is_none_is_not_told_in_parts(url: str) -> None:
    with pytest.raises(ModelFailed) as failed:
        find(Place("openai:x", ModelSettings(base_urls={"openai": url}), {}))
    assert "ses" not in str(failed.value)


def test_a_server_and_a_setting_are_told_without_their_password() -> None:
    assert "sesame" not in reason_of(httpx2.UnsupportedProtocol(f"what is {URL}"))
    assert "sesame" not in reason_of(RuntimeError(f"bad {URL}"))
    assert without_secrets(("base_urls", "openai"), "http://me:ses@me@h/?a=b") == "http://********@h/?a=********"


def test_nothing_that_a_run_writes_has_the_password(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    project.mkdir()
    home.mkdir()
    (home / "config.toml").write_text(f'model = "openai:x"\nretries = 0\n[base_urls]\nopenai = "{URL}"\n')
    ended = subprocess.run(
        [sys.executable, "-m", "accord", "run", "--json", "hello"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=project,
        env={**os.environ, "ACCORD_HOME": str(home), "HOME": str(tmp_path), "OPENAI_API_KEY": "none"},
        check=False,
    )
    assert b"can't be reached" in ended.stdout + ended.stderr
    assert b"sesame" not in ended.stdout + ended.stderr
    kept = [path for path in (home / "state").rglob("*") if path.is_file()]
    assert kept
    assert [path.name for path in kept if b"sesame" in path.read_bytes()] == []


def test_a_setting_that_is_no_address_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[base_urls]\nopenai = "http://me:ses/ame@host"\n')
    ended = subprocess.run(
        [sys.executable, "-m", "accord", "config"],
        capture_output=True,
        text=True,
        env={**os.environ, "ACCORD_HOME": str(tmp_path)},
        check=False,
    )
    assert ended.returncode == 1
    assert "expects an address" in ended.stderr
    assert "ses" not in ended.stderr.replace("expects", "")
