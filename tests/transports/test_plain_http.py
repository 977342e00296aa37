"""The HTTP/1.1 client for servers without TLS: responses in any pieces, connections that are kept, and broken servers."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from http.cookiejar import CookieJar
from typing import Any

import pytest

from accord.transports import plain_http
from accord.transports.http_response import ResponseReader
from accord.transports.plain_http import PlainHttp, is_plain

OK = b"HTTP/1.1 202 Accepted\r\ncontent-length: 2\r\n\r\nok"


def read(data: bytes, *, size: int = 1 << 20, ends: bool = False) -> tuple[ResponseReader, bytes]:
    pieces: list[bytes] = []
    reader = ResponseReader(pieces.append)
    for start in range(0, len(data), size):
        reader.feed(data[start : start + size])
    if ends:
        reader.end()
    return reader, b"".join(pieces)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize(
    ("data", "body"),
    [
        (OK, b"ok"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, b"ok"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", b""),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0A\r\n0123456789\r\n0\r\n\r\n",
            b"abc0123456789",
        ),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\nx-trailer: 1\r\n\r\n", b"a"),
    ],
)
def test_a_response_is_read_from_any_pieces(data: bytes, body: bytes, size: int):
    reader, content = read(data, size=size)
    assert (reader.is_complete, reader.keeps_alive, content) == (True, True, body)


def test_headers_have_lower_case_names_and_cookies_are_apart():
    head = b"HTTP/1.1 404 Not  Found\r\nX-A: 1\r\nx-a:2\r\nSet-Cookie: a=b; Path=/\r\nset-cookie: c=d\r\n"
    reader, _ = read(head + b"Connection: close\r\ncontent-length: 0\r\n\r\n")
    assert (reader.status_code, reader.reason_phrase, reader.headers["x-a"]) == (404, "Not  Found", "1, 2")
    assert reader.cookies == ["a=b; Path=/", "c=d"]
    assert not reader.keeps_alive


def test_without_a_length_the_end_of_the_connection_is_the_end_of_the_body():
    reader, content = read(b"HTTP/1.0 200 OK\r\n\r\nall of it", ends=True)
    assert (reader.is_complete, reader.keeps_alive, content) == (True, False, b"all of it")


def test_bytes_after_the_response_end_the_connection():
    assert not read(OK + b"HTTP/1.1 200 OK")[0].keeps_alive


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx : y\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1, 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n+1\r\na\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc",
        b"HTTP/1.1 200 OK\r\nx: " + b"x" * 100_000,
    ],
)
def test_what_is_not_a_response_is_an_error(data: bytes):
    with pytest.raises(ConnectionError):
        read(data)


@pytest.mark.parametrize(
    "data", [b"", b"HTTP/1.1 200 OK\r\n", OK[:-1], b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"]
)
def test_a_response_that_is_cut_off_is_an_error(data: bytes):
    with pytest.raises(ConnectionError, match="middle of a response"):
        read(data, ends=True)


@pytest.mark.parametrize("seed", range(10))
def test_noise_is_an_error_or_incomplete(seed: int):
    dice = random.Random(seed)
    for _ in range(200):
        data = bytearray(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
        for _ in range(dice.randrange(1, 6)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        with suppress(ConnectionError):
            read(bytes(data), size=dice.randrange(1, 20))


Answer = Callable[[int, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def server(answer: Answer) -> AsyncIterator[tuple[str, list[bytes], list[int]]]:
    """A server that reads heads and answers; the URL, the heads, and how many connections were made."""
    heads: list[bytes] = []
    connections: list[int] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(1)
        try:
            while True:
                heads.append(await reader.readuntil(b"\r\n\r\n"))
                await answer(len(heads), reader, writer)
        except (OSError, EOFError):
            pass
        finally:
            writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listener:
        yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/acp", heads, connections


def client(url: str, **options: Any) -> PlainHttp:
    return PlainHttp(url, {"user-agent": "test"}, options.pop("cookies", CookieJar()), 30.0, 30.0)


async def test_a_connection_is_used_again_and_cookies_are_sent_back():
    async def answer(number: int, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        cookie = b"set-cookie: node=%d; Path=/\r\n" % number if number == 1 else b""
        writer.write(b"HTTP/1.1 202 Accepted\r\n" + cookie + b"content-length: 0\r\n\r\n")

    async with server(answer) as (url, heads, connections):
        web = client(url)
        for _ in range(3):
            assert (await web.post(url, headers={"x-a": "1"})).status_code == 202
        await web.aclose()
    assert len(connections) == 1
    assert [b"cookie: node=1\r\n" in head for head in heads] == [False, True, True]
    assert heads[0].startswith(b"POST /acp HTTP/1.1\r\nhost: 127.0.0.1:")


async def test_a_connection_that_the_server_has_ended_is_not_used_again():
    async def answer(_: int, __: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(OK)
        writer.close()

    async with server(answer) as (url, _, connections):
        web = client(url)
        for number in range(3):
            assert (await web.post(url, headers={})).content == b"ok"
            while web.idle_connections:  # noqa: ASYNC110
                await asyncio.sleep(0)
            assert len(connections) == number + 1
        await web.aclose()


async def test_a_connection_that_was_idle_for_long_is_not_used_again(monkeypatch: pytest.MonkeyPatch):
    async def answer(_: int, __: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(OK)

    async with server(answer) as (url, _, connections):
        web = client(url)
        await web.post(url, headers={})
        await web.post(url, headers={})
        monkeypatch.setattr(plain_http, "_IDLE_SECONDS", -1.0)
        await asyncio.wait_for(web.delete(url, headers={}), 30)
        await web.aclose()
    assert len(connections) == 2


async def test_a_connection_is_used_again_after_a_long_response():
    async def answer(_: int, __: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 3000000\r\n\r\n" + b"x" * 3_000_000)

    async with server(answer) as (url, _, connections):
        web = client(url)
        for _ in range(3):
            assert len((await web.post(url, headers={})).content) == 3_000_000
        await web.aclose()
    assert len(connections) == 1


async def test_a_response_that_is_cut_off_fails_the_request_and_the_next_one_works():
    async def answer(number: int, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(OK[:-1] if number == 1 else OK)
        if number == 1:
            writer.close()

    async with server(answer) as (url, _, _):
        web = client(url)
        with pytest.raises(ConnectionError):
            await web.post(url, headers={})
        assert (await web.post(url, headers={})).text == "ok"
        await web.aclose()


async def test_a_body_that_nobody_reads_is_not_taken_in():
    sent = 0

    async def answer(_: int, __: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        for _ in range(500):
            writer.write(b"x" * 100_000)
            sent += 1
            await writer.drain()
        writer.close()

    async with server(answer) as (url, _, _):
        web = client(url)
        async with web.stream("GET", url, headers={}, silence=30.0) as response:
            before = -1
            while sent != before:
                before = sent
                await asyncio.sleep(0.05)
            assert sent < 400
            assert sum([len(piece) async for piece in response.aiter_bytes()]) == 50_000_000
        await web.aclose()


async def test_silence_ends_a_stream():
    async def answer(_: int, __: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nx")

    async with server(answer) as (url, _, _):
        web = client(url)
        async with web.stream("GET", url, headers={}, silence=0.1) as response:
            with pytest.raises(TimeoutError):
                await response.aread()
        await web.aclose()


async def test_a_header_with_a_line_break_is_not_sent():
    async def answer(_: int, __: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(OK)

    async with server(answer) as (url, heads, _):
        web = client(url)
        for value in ("a\r\nx-evil: 1", "a\nb", "a\rb", "a\0b"):
            with pytest.raises(ConnectionError, match="line break"):
                await web.post(url, headers={"acp-session-id": value})
        assert heads == []
        await web.aclose()


async def test_a_server_that_is_not_there_is_told_apart():
    with pytest.raises(ConnectionRefusedError):
        await client("http://127.0.0.1:1/acp").post("", headers={})


def test_a_proxy_or_tls_needs_another_client(monkeypatch: pytest.MonkeyPatch):
    for name in ("http_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert is_plain("http://agents.example/acp")
    assert not is_plain("https://agents.example/acp")
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    assert not is_plain("http://agents.example/acp")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert is_plain("http://127.0.0.1:8000/acp")
