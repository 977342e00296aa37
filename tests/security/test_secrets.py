"""Attacks on secrets: a password in an address must not be shown, sent or kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest
from pydantic_ai.exceptions import ModelAPIError, ModelConnectionError, ModelNotFoundError, UserError

from accord import Agent, Client, Turn
from accord.agent.mcp.protocol import reason_of, traceback_of
from accord.apps.coder.errors import InvalidSettings, ModelFailed, ToolFailed
from accord.apps.coder.models.catalog import ModelEndpoint
from accord.apps.coder.models.errors import model_failure
from accord.apps.coder.models.providers import load_model
from accord.apps.coder.settings.precedence import load_settings
from accord.apps.coder.settings.settings import ModelSettings
from accord.apps.coder.settings.validation import without_secrets
from accord.apps.coder.tools.fetch import FetchArguments, FetchPage
from accord.local.redaction import HIDDEN, redact, url_error
from accord.session.mcp_servers import HttpServer, SseServer

URL = "http://me:sesame@127.0.0.1:1/v1?key=sesame"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://host/v1", "http://host/v1"),
        (URL, "http://********@127.0.0.1:1/v1?key=********"),
        ("no answer from 'https://sesame@host:80/x'.", "no answer from 'https://********@host:80/x'."),
        ("http://me:ses@me@host/", "http://********@host/"),
        ("GET http://me:sesame@a/x?b=c&d=e#f then ws://me:sesame@b", "GET http://********@a/x?b=********&d=********#******** then ws://********@b"),
        ("http://h/v1;key=ses/ame;b=sesame&x", "http://h/v1;key=********;b=********&x"),
        ("at \"http://me:ses\"<>`ame@h/v1\"", "at \"http://********@h/v1\""),
        ("http://me:ses/ame@h/v1, http://me:5x/ses?a#me@h:1/", "http://********@h/v1, http://********@h:1/"),
        ("(http://h/v1#ses\"a'm>e)", "(http://h/v1#********)"),
        ("http://h:80/@a/b, http://[::1]:80/@a", "http://h:80/@a/b, http://[::1]:80/@a"),
        ("{'url': 'http://h/v1#sesame', 'n': '#1'}", "{'url': 'http://h/v1#********', 'n': '#1'}"),
        ("issue #12; a=b, c//d", "issue #12; a=b, c//d"),
        ("mail me@host, a//b, 1/2@3, what?", "mail me@host, a//b, 1/2@3, what?"),
    ],
)  # fmt: skip
def test_addresses_are_told_without_their_secrets(text: str, shown: str) -> None:
    assert redact(text) == shown


@pytest.mark.parametrize(
    "piece",
    ["//", "/", "//a", "?", "&", "?a", "&a=", "@", "//@", "?=", "//a@//", "//#", "#", ";", ";a", "//;a=", "//a "],
)
def test_a_long_text_is_looked_through_once(piece: str) -> None:
    redact(piece * 300_000)


ODD = [
    *(f"http://me:{letter}sesame@127.0.0.1:1/v1" for letter in '"<>` \t\n\\^{|}\u00a0\u2003\u2028\u3164\x7f\x85'),
    *("http://me:ses/ame@h/v1", "http://me:ses?ame@h/v1", "http://me:ses#ame@h/v1"),
    *("http://me:5/sesame@h/v1", "http://sesame/x@h/v1", "http://me:80?sesame@h"),
    *("http://h/v1#sesame", "http://me:sesame@[::1/v1", "http://me:sesame@h:port/", "http://me:sesame@h:99999/"),
    *("http://me:sesame@/v1", "http://me:sesame@h:0/", "http:me:sesame@h/", "http:\\\\me:sesame@h/", "me:sesame@h/v1"),
    *("ftp://me:sesame@h/", "HTTP://me:sesame@h/", "http:///me:sesame@h/", ""),
]
GOOD = [
    *("http://host/v1", "https://me:sesame@host:8443/v1?key=sesame&x", "http://[::1]:80/a;b=c", "http://127.0.0.1"),
    *(
        "https://me:p%2Fs%20s%22@host/v1",
        "https://bücher.example/v1",
        "https://me@a.b/~c/%C3%A9",
        "http://me:ses@me@h/%40x",
    ),
]


def test_an_address_that_could_be_read_in_two_ways_is_refused_and_not_quoted() -> None:
    for url in ODD:
        fault = url_error(url)
        assert fault is not None, url
        assert "ses" not in fault
        assert "ame" not in fault.replace("name", "")
    assert [url for url in GOOD if url_error(url) is not None] == []


@pytest.mark.parametrize("setting", ["[base_urls]\nopenai = {}", "[servers.m]\nurl = {}"], ids=["provider", "server"])
def test_no_setting_takes_such_an_address(tmp_path: Path, setting: str) -> None:
    path = tmp_path / "config.toml"
    for url in ODD:
        path.write_text(setting.format(json.dumps(url)))
        with pytest.raises(InvalidSettings, match="must be a URL, such as https://host/v1: it") as wrong:
            load_settings(None, environment={}, config=path)
        assert "ses" not in str(wrong.value).replace(str(path), "").replace("expects", "")
    for url in GOOD:
        path.write_text(setting.format(json.dumps(url)))
        assert load_settings(None, environment={}, config=path).settings


@pytest.mark.parametrize("url", [url for url in ODD if url])
def test_a_variable_with_such_an_address_is_refused_and_not_quoted(url: str) -> None:
    with pytest.raises(ModelFailed, match="invalid base URL: it") as failed:
        load_model(ModelEndpoint("openai:x", ModelSettings(), {"OPENAI_BASE_URL": url}))
    assert "ses" not in str(failed.value)


@pytest.mark.parametrize("kind", [HttpServer, SseServer])
@pytest.mark.parametrize("url", ODD)
async def test_no_server_is_asked_at_such_an_address_and_none_of_it_is_told(kind: Any, url: str, caplog: Any) -> None:
    agent = Agent("any")

    @agent.prompt
    async def wait_for_servers(turn: Turn) -> None:
        await turn.servers()

    async with Client(agent, version=1) as client:
        session = await client.new_session(cwd="/", servers=[kind(name="m", url=url, headers={})])
        changes = "".join([repr(change) async for change in session.prompt("go")])
    assert "not connected: invalid URL: it" in caplog.text
    assert "ses" not in f"{changes} {caplog.text}".replace("session", "")


def test_a_server_that_repeats_the_password_alone_is_not_repeated() -> None:
    url = "http://me:op%65n%2Fsesame@127.0.0.1:1/v1?key=abra%20cadabra"
    place = ModelEndpoint("openai:x", ModelSettings(base_urls={"openai": url}), {})
    failed = model_failure(
        RuntimeError("wrong: open/sesame or op%65n%2Fsesame, abra cadabra or abra%20cadabra"), place, has_begun=False
    )
    assert str(failed).count(HIDDEN) >= 4
    assert not any(part in f"{failed}" for part in ("sesame", "cadabra"))
    assert redact("me and you", "http://me:you@h/") == "me and you"  # so short that it could be any word


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
    place = ModelEndpoint("openai:x", ModelSettings(base_urls={"openai": URL}), {})
    failed = model_failure(error, place, has_begun=began)
    assert "sesame" not in f"{failed} {failed.reason} {failed.advice} {failed!r}"


@pytest.mark.parametrize(
    "url", ["http://me:ses/ame@host/v1", "http://me:sesame@[::1/v1", "http://me:sesame@host:port/"]
)
def test_an_address_that_is_none_is_not_told_in_parts(url: str) -> None:
    with pytest.raises(ModelFailed) as failed:
        load_model(ModelEndpoint("openai:x", ModelSettings(base_urls={"openai": url}), {}))
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
    assert b"Can't connect to" in ended.stdout + ended.stderr
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
    assert "must be a URL" in ended.stderr
    assert "ses" not in ended.stderr.replace("expects", "")
    assert "percent-encode" in ended.stderr


@pytest.mark.parametrize("kind", [HttpServer, SseServer])
async def test_the_log_has_the_traceback_of_a_lost_server_without_its_password(kind: Any, caplog: Any) -> None:
    caplog.set_level("DEBUG", "accord")
    agent = Agent("any")
    agent.prompt(lambda turn: turn.say("Done."))
    async with Client(agent, version=1) as client:
        session = await client.new_session(cwd="/", servers=[kind(name="m", url=URL, headers={})])
        changes = "".join([repr(change) async for change in session.prompt("go")])
    assert "Traceback" in caplog.text
    assert "sesame" not in f"{changes} {caplog.text}"


def test_a_traceback_for_the_log_has_no_password_in_it() -> None:
    try:
        try:
            raise ValueError("sesame is wrong")
        except ValueError as cause:
            raise httpx2.ConnectError(f"no route to {URL}") from cause
    except httpx2.ConnectError as error:
        told = traceback_of(error, URL)
    assert "no route to http://********@127.0.0.1:1/v1" in told
    assert "sesame is wrong" not in told


@pytest.mark.parametrize("url", ["http://me:sesame@h/", "ftp://me:ses/ame@h/", "http://me:ses/ame@h/"])
async def test_an_address_that_is_not_fetched_is_not_told_with_its_password(url: str) -> None:
    with pytest.raises(ToolFailed) as failed:
        await FetchPage().preview(cast("Any", None), FetchArguments(url))
    assert "ses" not in str(failed.value)
