"""Debian's Chromium without a window, and a web server on loopback for pages of the tests."""

from __future__ import annotations

import asyncio
import functools
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions", "--no-first-run",
    "--disable-background-networking", "--no-proxy-server", "--hide-scrollbars", "--window-size=1280,800",
)  # fmt: skip


def chromium() -> str:
    """The program. Without it the test is skipped, but not where everything has to be tested."""
    found = shutil.which("chromium")
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("no chromium, and everything has to be tested here")
        pytest.skip("no chromium (Debian: apt-get install chromium)")
    return found


async def start_chromium(profile: Path, *arguments: str) -> asyncio.subprocess.Process:
    """Start it with a profile of its own."""
    return await asyncio.create_subprocess_exec(
        chromium(),
        *OPTIONS,
        f"--user-data-dir={profile}",
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )


async def dump_page(profile: Path, url: str) -> str:
    """The page as it is after its script has run for some seconds of its own time."""
    process = await start_chromium(profile, "--virtual-time-budget=3000", "--dump-dom", url)
    page, _ = await process.communicate()
    return page.decode()


class _Handler(SimpleHTTPRequestHandler):
    server: PageServer  # pyright: ignore[reportIncompatibleVariableOverride]

    extensions_map = {**SimpleHTTPRequestHandler.extensions_map, ".js": "text/javascript"}

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        self.send_response(204)
        self.end_headers()
        self.server.deliver(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # its own name
        pass


class PageServer(ThreadingHTTPServer):
    """Serves a directory; `page` is what a page has posted."""

    daemon_threads = True

    def __init__(self, directory: Path) -> None:
        super().__init__(("127.0.0.1", 0), functools.partial(_Handler, directory=str(directory)))
        self._loop = asyncio.get_running_loop()
        self.page: asyncio.Future[str] = self._loop.create_future()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def deliver(self, page: str) -> None:
        self._loop.call_soon_threadsafe(lambda: self.page.done() or self.page.set_result(page))


@contextmanager
def page_server(directory: Path) -> Iterator[PageServer]:
    """A server, until the end."""
    with PageServer(directory) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
