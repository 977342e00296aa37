"""Fetching pages from real hosts, which answer oddly."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from accord import permissions
from accord.apps.coder.tools import addresses
from accord.apps.coder.tools.fetch import host_of
from accord.session.requests import PermissionAnswer, PermissionRequest

ALLOW = {"on_permission": permissions.allow_all}
PAGES = {
    "/": ("200 OK", "text/html", "<h1>Hello</h1><script>alert(1)</script><p>to <b>all</b>"),
    "/plain": ("200 OK", "text/plain; charset=nonsense", "![x](http://evil.test/pixel)"),
    "/same": ("302 Found", "text/plain\r\nlocation: /plain", ""),
    "/other": ("302 Found", "text/plain\r\nlocation: http://localhost:{port}/plain", ""),
    "/file": ("302 Found", "text/plain\r\nlocation: file:///etc/passwd", ""),
    "/nowhere": ("302 Found", "text/plain", ""),
    "/ever": ("302 Found", "text/plain\r\nlocation: /ever", ""),
    "/missing": ("404 Not Found", "text/plain", ""),
    "/picture": ("200 OK", "image/png", "x"),
    "/huge": ("200 OK", "text/plain", "x" * (6 * 1024 * 1024)),
}


@pytest.fixture
async def host() -> AsyncIterator[tuple[str, list[str]]]:
    """Where the pages are, and the hosts that were asked for."""
    asked: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        asked.append(next(line for line in head.splitlines() if line.lower().startswith("host:"))[6:])
        status, kind, content = PAGES[head.split()[1]]
        kind = kind.replace("{port}", str(port))
        writer.write(f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n{content}".encode())
        try:
            await writer.drain()
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, family=socket.AF_INET)
    port = server.sockets[0].getsockname()[1]
    async with server:
        yield f"http://127.0.0.1:{port}", asked


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/", "Hello\nto all"),
        ("/plain", "![x](http://evil.test/pixel)"),
        ("/same", "![x](http://evil.test/pixel)"),
        ("/other", "redirects to another host, http://localhost"),
        ("/file", "invalid URL"),
        ("/nowhere", "returned status 302"),
        ("/ever", "too many redirects"),
        ("/missing", "returned status 404"),
        ("/picture", "is not text: its content type is image/png"),
        ("/huge", "is larger than 5 MiB"),
    ],
)
async def test_a_page_is_read_or_the_reason_is_told(
    sit: Any, host: tuple[str, list[str]], path: str, told: str
) -> None:
    url, asked = host
    async with sit(**ALLOW) as desk:
        outcome = await desk.use_one("fetch", url=url + path)
        assert told in outcome.text
        assert {f"http://{name}" for name in asked} == {url}


async def test_a_page_is_shown_as_it_is_written_and_loads_nothing(sit: Any, host: tuple[str, list[str]]) -> None:
    async with sit(**ALLOW) as desk:
        await desk.use_one("fetch", url=f"{host[0]}/plain")
        shown: Any = desk.calls[-1].content[-1]
        assert shown.content.text == "```\n![x](http://evil.test/pixel)\n```"


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("file:///etc/passwd", "must begin with http"),
        ("example.org", "must begin with http"),
        ("http://", "must begin with http"),
        ("http://[::1/", "invalid URL"),
        ("http://exa\tmple.org/", "invalid URL"),
        ("http://good.test\\@evil.test/", "contains a user name or password"),
        ("http://user:secret@example.org/", "contains a user name or password"),
    ],
)
async def test_what_is_no_plain_address_is_not_even_asked_for(sit: Any, url: str, reason: str) -> None:
    async with sit(on_permission=permissions.allow_all) as desk:
        outcome = await desk.use_one("fetch", url=url)
        assert outcome.is_error
        assert reason in outcome.text


async def test_an_always_choice_is_for_one_host(
    sit: Any, host: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(addresses, "kind_of_address", lambda address: None)  # as if it were on the internet
    seen: list[PermissionRequest] = []

    async def always(asked: PermissionRequest) -> PermissionAnswer:
        seen.append(asked)
        return PermissionAnswer(outcome="selected", option_id="allow-always")

    url = host[0]
    async with sit(on_permission=always) as desk:
        for address in (f"{url}/", f"{url}/plain", url.replace("127.0.0.1", "localhost")):
            await desk.use_one("fetch", url=address)
        port = url.rpartition(":")[2]
        assert [asked.options[1].name.rpartition(": ")[2] for asked in seen] == [
            f"fetch from 127.0.0.1:{port} by http, without encryption",
            f"fetch from localhost:{port} by http, without encryption",
        ]


def test_a_host_is_told_as_the_network_knows_it() -> None:
    assert host_of(httpx2.URL("https://EXAMPLE.org:443/x")) == "example.org"
    assert host_of(httpx2.URL("https://\u0430pple.com/")) == "xn--pple-43d.com"  # a letter that only looks like an a
