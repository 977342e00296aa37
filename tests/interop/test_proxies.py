"""The proxies of docs/deployment.md in front of `accord serve`, with TLS; and what a restart of one does to a turn."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from accord import Client, MessageChunk, Remote, permissions
from accord.local.token_file import TokenFile
from accord.transports.remote import Profile
from tests.apps.remote.test_serve import serving
from tests.cutting_proxy import cutting_proxy

pytestmark = pytest.mark.timeout(180)

PAGE = Path(__file__).resolve().parents[2] / "docs" / "deployment.md"
WORDS = 200
AGENT = f"""
import asyncio
from accord import Agent, Turn
agent = Agent("served")

@agent.prompt
async def answer(turn: Turn) -> None:
    async with turn.tool_call("Count", kind="other") as call:
        assert await turn.allowed(call)
    for number in range({WORDS}):
        await turn.say(f"{{number}} ")
        await asyncio.sleep(0.01)

agent.run()
"""
EVERYTHING = "".join(f"{number} " for number in range(WORDS))


@pytest.fixture
def agent_file(tmp_path: Path) -> Path:
    path = tmp_path / "agent.py"
    path.write_text(AGENT)
    return path


async def count(client: Client, restart: Callable[[], object]) -> str:
    """What a turn says, in the middle of which something happens."""
    session = await client.new_session("/")
    reply = session.prompt("count")
    has_restarted = False
    async for change in reply:
        if isinstance(change, MessageChunk) and " 50 " in reply.text and not has_restarted:
            has_restarted = True
            done = restart()
            if asyncio.iscoroutine(done):
                await done
    assert has_restarted
    return reply.text


@pytest.mark.parametrize("profile", ["http", "websocket"])
async def test_a_turn_survives_a_proxy_that_is_away_for_a_while(agent_file: Path, profile: Profile):
    async with serving(agent_file) as (url, _), cutting_proxy(url) as (address, proxy):

        def restart() -> None:
            proxy.is_down = True
            proxy.cut_all()
            asyncio.get_running_loop().call_later(0.3, lambda: setattr(proxy, "is_down", False))

        target = Remote(address, profile=profile)
        async with Client(target, on_permission=permissions.allow_all) as client:
            assert await count(client, restart) == EVERYTHING


def block(language: str, words: str) -> str:
    """The block of the page that has these words."""
    [found] = [text for text in re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL) if words in text]
    return found


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Proxy:
    """A proxy as the page configures it, on a port of its own."""

    def __init__(self, name: str, place: Path, backend: str) -> None:
        self.port = free_port()
        self.certificate, key = place / "cert.pem", place / "key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out", str(self.certificate),
             "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
            check=True, capture_output=True,
        )  # fmt: skip
        write = {"nginx": self._nginx, "caddy": self._caddy}[name]
        self._command = write(place, backend, str(self.certificate), str(key))
        self._process: subprocess.Popen[bytes] | None = None

    def _nginx(self, place: Path, backend: str, certificate: str, key: str) -> list[str]:
        server = block("nginx", "upstream accord").replace("127.0.0.1:8000", backend)
        server = server.replace("443 ssl", f"127.0.0.1:{self.port} ssl").replace("agents.example.org;", "localhost;", 1)
        server = server.replace("/etc/ssl/agents.example.org.pem", certificate)
        server = server.replace("/etc/ssl/agents.example.org.key", key)
        paths = "".join(
            f"{kind}_temp_path {place}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (place / "nginx.conf").write_text(
            f"daemon off; pid {place}/pid; error_log stderr; events {{}} http {{ access_log off; {paths}\n{server} }}"
        )
        return ["nginx", "-p", str(place), "-c", str(place / "nginx.conf"), "-e", "stderr"]

    def _caddy(self, place: Path, backend: str, certificate: str, key: str) -> list[str]:
        site = block("caddyfile", "reverse_proxy").replace("127.0.0.1:8000", backend)
        site = site.replace("agents.example.org {", f"https://localhost:{self.port} {{\n    tls {certificate} {key}")
        (place / "Caddyfile").write_text(f"{{\n    admin off\n    auto_https off\n}}\n{site}")
        return ["caddy", "run", "--adapter", "caddyfile", "--config", str(place / "Caddyfile")]

    async def start(self) -> None:
        environment = {
            **os.environ,
            "XDG_DATA_HOME": str(self.certificate.parent),
            "XDG_CONFIG_HOME": str(self.certificate.parent),
        }
        self._process = subprocess.Popen(  # noqa: ASYNC220  # it returns at once
            self._command, env=environment, stderr=subprocess.DEVNULL
        )
        while True:
            assert self._process.poll() is None, "the proxy has ended"
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
            except OSError:
                await asyncio.sleep(0.02)
            else:
                writer.close()
                return

    def stop(self) -> None:
        assert self._process is not None
        self._process.kill() if "caddy" in self._command[0] else self._process.terminate()
        self._process.wait()

    async def restart(self) -> None:
        self.stop()
        await asyncio.sleep(0.1)
        await self.start()


@asynccontextmanager
async def proxied(name: str, place: Path, url: str) -> AsyncIterator[Proxy]:
    if shutil.which(name) is None:
        if os.environ.get("CI"):
            pytest.fail(f"no {name}, and everything has to be tested here")
        pytest.skip(f"no {name}")
    proxy = Proxy(name, place, url.removeprefix("http://").removesuffix("/acp"))
    await proxy.start()
    try:
        yield proxy
    finally:
        proxy.stop()


@pytest.mark.interop
@pytest.mark.parametrize("profile", ["http", "websocket"])
@pytest.mark.parametrize("name", ["nginx", "caddy"])
async def test_a_turn_survives_a_restart_of_the_proxy(
    name: str, profile: Profile, agent_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    token = TokenFile(tmp_path / "tokens.json").create("laptop", "ada")
    tokens = str(tmp_path / "tokens.json")
    async with serving(agent_file, "--tokens", tokens) as (url, _), proxied(name, tmp_path, url) as proxy:
        monkeypatch.setenv("SSL_CERT_FILE", str(proxy.certificate))
        assert ssl.create_default_context().get_ca_certs()
        target = Remote(f"https://localhost:{proxy.port}", token=token, profile=profile)
        async with Client(target, on_permission=permissions.allow_all) as client:
            assert await count(client, proxy.restart) == EVERYTHING
