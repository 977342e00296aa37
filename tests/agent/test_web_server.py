"""An agent behind a real web server on loopback: HTTP/1.1, HTTP/2 and WebSocket, and how it ends."""

from __future__ import annotations

import asyncio
import errno
import json
import signal
import socket
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from websockets.asyncio.client import connect as connect_websocket
from websockets.exceptions import InvalidStatus

from accord import Agent
from accord.local.token_file import TokenFile
from accord.transports.event_stream import EventParser
from accord.transports.http_server import HttpLimits
from accord.transports.web_server import ListenAddress, WebServer
from tests.agent.test_asgi import initialize, new_agent, prompt
from tests.asgi_driver import until

PROGRAM = """
import asyncio
from accord import Agent, Turn
agent = Agent("slow")
@agent.prompt
async def wait(turn: Turn):
    await turn.say("begun")
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        await turn.say("ending")
        raise
agent.run(http="127.0.0.1:0")
"""


@asynccontextmanager
async def served(agent: Agent, limits: HttpLimits | None = None) -> AsyncIterator[str]:
    server = WebServer(agent.asgi(limits=limits), ListenAddress("127.0.0.1:0").listen())
    stop = asyncio.Event()
    task = asyncio.create_task(server.serve(stop))
    try:
        yield server.url
    finally:
        stop.set()
        await task


@pytest.fixture
async def url() -> AsyncIterator[str]:
    async with served(new_agent()) as url:
        yield url


def new_certificate(directory: Path) -> tuple[str, str]:
    """A certificate for 127.0.0.1 that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    files = {"cert.pem": certificate.public_bytes(encoding)}
    files["key.pem"] = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    for file, content in files.items():
        (directory / file).write_bytes(content)
    return str(directory / "cert.pem"), str(directory / "key.pem")


def web_client(protocol: str) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(http1=protocol == "1.1", http2=protocol == "2", timeout=120, trust_env=False)


@asynccontextmanager
async def events(client: httpx2.AsyncClient, url: str, headers: dict[str, str]) -> AsyncIterator[AsyncIterator[Any]]:
    async with client.stream("GET", url, headers={"accept": "text/event-stream", **headers}) as response:
        assert response.status_code == 200

        async def read() -> AsyncIterator[Any]:
            parser = EventParser()
            async for chunk in response.aiter_bytes():
                for frames in parser.feed(chunk):
                    assert isinstance(frames, list)
                    for frame in frames:
                        yield json.loads(frame)

        yield read()


async def post(client: httpx2.AsyncClient, url: str, message: Any, headers: dict[str, str]) -> None:
    assert (await client.post(url, json=message, headers=headers)).status_code == 202


@pytest.mark.parametrize("protocol", ["1.1", "2"])
async def test_a_prompt_runs_over_http(url: str, protocol: str):
    async with web_client(protocol) as client:
        first = await client.post(url, json=initialize())
        assert first.http_version == f"HTTP/{protocol}"
        headers = {"acp-connection-id": first.headers["acp-connection-id"]}
        async with events(client, url, headers) as stream:
            new = {"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": {"cwd": "/tmp", "mcpServers": []}}
            await post(client, url, new, headers)
            session_id = (await anext(stream))["result"]["sessionId"]
            of_session = {**headers, "acp-session-id": session_id}
            async with events(client, url, of_session) as session:
                text = "x" * 300_000
                message = {"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": prompt(session_id, text)}
                await post(client, url, message, of_session)
                seen: list[Any] = []
                while not seen or seen[-1].get("id") != 3:
                    seen.append(await anext(session))
                chunks = [event["params"]["update"]["content"]["text"] for event in seen if "content" in str(event)]
                assert f"You said {text}." in "".join(chunks)
                assert (await client.delete(url, headers=headers)).status_code == 202
                assert [event async for event in session] == []
            assert [event async for event in stream] == []


async def test_a_prompt_runs_over_a_websocket(url: str):
    async with connect_websocket(url.replace("http", "ws", 1), proxy=None) as socket:
        assert socket.response is not None
        assert socket.response.headers["acp-connection-id"]
        await socket.send(json.dumps(initialize()))
        assert "result" in json.loads(await socket.recv())


async def test_a_socket_that_its_client_has_closed_does_not_stay(url: str):
    address = urlsplit(url)
    before = len(asyncio.all_tasks())
    for _ in range(20):
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(b"DELETE /acp HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        writer.close()
    await until(lambda: len(asyncio.all_tasks()) <= before + 2)


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="only Linux")
def test_sockets_find_out_that_their_client_is_gone():
    with ListenAddress("127.0.0.1:0").listen() as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            seconds = accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE)
            assert seconds <= 30
            assert 0 < accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) <= 90_000


async def test_a_web_page_from_elsewhere_gets_403(url: str):
    async with web_client("1.1") as client:
        for headers in ({"origin": "http://evil.example"}, {"host": "evil.example"}):
            assert (await client.post(url, json=initialize(), headers=headers)).status_code == 403
    with pytest.raises(InvalidStatus) as refused:
        await connect_websocket(url.replace("http", "ws", 1), origin="http://evil.example", proxy=None)  # pyright: ignore[reportArgumentType]
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize("protocol", ["1.1", "2"])
async def test_a_body_over_the_limit_is_413_and_the_client_can_go_on(protocol: str):
    async with served(new_agent(), HttpLimits(body_bytes=100_000)) as url, web_client(protocol) as client:

        async def pieces() -> AsyncIterator[bytes]:
            for _ in range(50):
                yield b" " * 10_000

        headers = {"content-type": "application/json"}
        response = await client.post(url, content=pieces(), headers=headers)
        assert response.status_code == 413
        assert (await client.post(url, json=initialize())).status_code == 200


async def test_the_server_ends_in_bounded_time_with_open_streams():
    async with web_client("2") as client, asyncio.timeout(120):
        async with served(new_agent()) as url:
            first = await client.post(url, json=initialize())
            headers = {"acp-connection-id": first.headers["acp-connection-id"]}
            request = client.build_request("GET", url, headers=headers)
            response = await client.send(request, stream=True)
        assert b"".join([chunk async for chunk in response.aiter_bytes()]) == b":\n\n"


async def test_sigterm_in_a_turn_ends_it_tells_the_client_and_exits():
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, stderr=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.DEVNULL
    )
    assert program.stderr is not None
    line = (await program.stderr.readline()).decode()
    assert line.startswith("slow listens on http://127.0.0.1:")
    async with connect_websocket(line.split()[-1].replace("http", "ws", 1), proxy=None) as socket:
        await socket.send(json.dumps(initialize()))
        await socket.recv()
        new = {"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": {"cwd": "/tmp", "mcpServers": []}}
        await socket.send(json.dumps(new))
        session_id = json.loads(await socket.recv())["result"]["sessionId"]
        message = {"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": prompt(session_id, "go")}
        await socket.send(json.dumps(message))
        while "begun" not in str(await socket.recv()):
            pass
        program.send_signal(signal.SIGTERM)
        rest = [json.loads(text) async for text in socket]
        assert rest[-1] == {"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "cancelled"}}
        assert socket.close_code == 1001
    assert await program.wait() == 0
    assert (await program.stderr.read()).decode() == ""


@pytest.mark.parametrize("address", ["0.0.0.0:8000", "[::]:80", "192.168.1.2:80", "example.com:80"])
def test_an_address_that_other_machines_reach_is_refused(address: str):
    """FN-46: no endpoint for others without authentication and TLS."""
    with pytest.raises(ValueError, match="refused to listen"):
        new_agent().run(http=address)
    with pytest.raises(ValueError, match="without authentication"):
        new_agent().run(http=address, tls=("cert.pem", "key.pem"))
    with pytest.raises(ValueError, match="without TLS"):
        new_agent().run(http=address, tokens="tokens.json")


def test_tokens_that_let_nobody_in_are_refused(tmp_path: Path):
    with pytest.raises(ValueError, match="no valid token"):
        new_agent().run(http="127.0.0.1:0", tokens=tmp_path / "tokens.json")


def test_a_certificate_that_cannot_be_used_is_refused(tmp_path: Path):
    (tmp_path / "cert.pem").write_text("nonsense")
    with pytest.raises(OSError, match="can't be used"):
        new_agent().run(http="127.0.0.1:0", tls=(str(tmp_path / "cert.pem"), str(tmp_path / "cert.pem")))


def test_with_tokens_and_tls_other_machines_may_reach_it():
    for address in ("0.0.0.0:0", "[::]:0", "example.com:0"):
        assert ListenAddress(address, is_encrypted=True, has_authentication=True).port == 0


@pytest.mark.parametrize("protocol", ["1.1", "2"])
async def test_a_prompt_runs_over_tls_with_a_token(tmp_path: Path, protocol: str):
    certificate = new_certificate(tmp_path)
    tokens = TokenFile(tmp_path / "tokens.json")
    listener = ListenAddress("127.0.0.1:0", is_encrypted=True, has_authentication=True).listen()
    server = WebServer(new_agent().asgi(tokens=tokens), listener, certificate)
    assert server.url.startswith("https://")
    stop = asyncio.Event()
    task = asyncio.create_task(server.serve(stop))
    context = ssl.create_default_context(cafile=certificate[0])
    headers = {"authorization": f"Bearer {tokens.create('ada')}"}
    async with httpx2.AsyncClient(
        http1=protocol == "1.1", http2=protocol == "2", verify=context, timeout=120, trust_env=False
    ) as client:
        first = await client.post(server.url, json=initialize(), headers=headers)
        assert (first.status_code, first.http_version) == (200, f"HTTP/{protocol}")
        assert (await client.post(server.url, json=initialize())).status_code == 401
    url, context = server.url.replace("http", "ws", 1), ssl.create_default_context(cafile=certificate[0])
    async with connect_websocket(url, ssl=context, additional_headers=headers, proxy=None) as socket:
        await socket.send(json.dumps(initialize()))
        assert "result" in json.loads(await socket.recv())
    stop.set()
    await task


def test_an_address_that_is_in_use_is_named_with_what_to_do():
    with ListenAddress("127.0.0.1:0").listen() as listener:
        port = listener.getsockname()[1]
        with pytest.raises(
            OSError, match=f"address already in use: 127.0.0.1:{port}. .* choose another port"
        ) as failed:
            ListenAddress(f"127.0.0.1:{port}").listen()
    assert failed.value.errno == errno.EADDRINUSE


@pytest.mark.parametrize(
    "address", ["", "8000", "localhost", "localhost:http", "a@localhost:1", "localhost:1/acp", ":80"]
)
def test_what_is_no_address_is_refused(address: str):
    with pytest.raises(ValueError, match="expected HOST:PORT"):
        new_agent().run(http=address)


def test_addresses_of_loopback_are_accepted():
    for address in ("localhost:0", "127.0.0.1:0", "127.3.2.1:0", "[::1]:0"):
        assert ListenAddress(address).port == 0
