"""In a real browser: the status page, and a page that talks to an agent with the official TypeScript SDK."""

from __future__ import annotations

import asyncio
import re
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pytest

from accord import Client, PermissionAnswer, PermissionRequest
from accord.client.client import Implementation
from tests.apps.remote.test_serve import AGENT, serving
from tests.interop import typescript_peer
from tests.interop.browser import chromium, dump_page, page_server, start_chromium

pytestmark = [pytest.mark.interop, pytest.mark.timeout(180)]

NAME = "<img src=x onerror=\"document.title='attacked'\">\u202egpj.exe</td><script>document.title='attacked'</script>"


@pytest.fixture
def agent_file(tmp_path: Path) -> Path:
    path = tmp_path / "agent.py"
    path.write_text(AGENT)
    return path


def cells(page: str, place: str) -> list[list[str]]:
    """The rows of a table of the page, as text."""
    [table] = re.findall(rf'id="{place}".*?<tbody>(.*?)</tbody>', page, re.DOTALL)
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", table, re.DOTALL)
    return [
        [unescape(re.sub(r"<[^>]*>", "", cell)) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)] for row in rows
    ]


async def test_the_status_page_shows_names_of_clients_as_text(agent_file: Path, tmp_path: Path):
    chromium()
    asked = asyncio.Event()

    async def hesitate(_: PermissionRequest) -> PermissionAnswer:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    async with serving(agent_file, "--status", "127.0.0.1:0") as (url, process):
        assert process.stderr is not None
        status = (await process.stderr.readline()).decode().split()[-1]
        async with Client(url, info=Implementation(NAME, "1"), on_permission=hesitate) as client:
            session = await client.new_session("/")
            turn = asyncio.ensure_future(session.prompt("ask"))
            await asked.wait()
            page = await dump_page(tmp_path / "profile", status)
            turn.cancel()
    assert "<title>accord serve: status</title>" in page
    assert ">live</span>" in page
    [row] = cells(page, "sessions")
    assert row[1:3] == ["waiting", "permission"]
    [row] = cells(page, "connections")
    assert row[1] == f"{NAME} 1".replace("\u202e", "\ufffd")
    assert "<img" not in page
    assert len(cells(page, "processes")) == 1


async def test_a_web_page_talks_to_an_agent_with_the_official_sdk(agent_file: Path, tmp_path: Path):
    chromium()
    typescript_peer.need_node()
    with page_server(typescript_peer.HERE) as pages:
        async with serving(agent_file, "--origins", pages.url) as (url, _):
            address = quote(url.replace("http://", "ws://"), safe="")
            process = await start_chromium(
                tmp_path / "profile", "--remote-debugging-port=0", f"{pages.url}/browser.html?url={address}"
            )
            try:
                page = await pages.page
            finally:
                process.terminate()
                await process.wait()
    [answer] = re.findall(r'<pre id="answer">(.*?)</pre>', page, re.DOTALL)
    assert unescape(answer) == "größe 🐘 [end_turn][asked: Delete everything]yes[end_turn]"
