"""Fetching a page. Law: the user is asked for every host, and only that host is talked to."""

from __future__ import annotations

import asyncio
import codecs
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from accord.agent.tool_calls import OpenToolCall, Shown
from accord.apps.coder.failures import ToolFailed
from accord.apps.coder.tools.tool import Result, Tool, fenced
from accord.apps.coder.tools.work import Work
from accord.local.blocking import in_thread

if TYPE_CHECKING:
    from httpx2 import URL, Response

__all__ = ["FetchPage", "host_of", "text_of_page"]

_MOST_BYTES = 5 * 1024 * 1024
_SECONDS = 60.0
_REDIRECTS = 5


class FetchArguments(Struct):
    url: Annotated[str, Meta(description="The address, http or https.", min_length=1)]


class FetchPage(Tool[FetchArguments]):
    name = "fetch"
    description = "Fetch a text, a web page or JSON from an address and read it. The user is asked first."
    kind = "fetch"
    needs = "network"
    arguments = FetchArguments

    def title(self, work: Work, arguments: FetchArguments) -> str:
        return f"Fetch {arguments.url}"

    async def preview(self, work: Work, arguments: FetchArguments) -> list[Shown]:
        host = host_of(await in_thread(lambda: _address(arguments.url)))
        return [f"{fenced(arguments.url)}\nfrom the host `{host}`"]

    def scope(self, work: Work, arguments: FetchArguments) -> str:
        return f"fetch from {host_of(_address(arguments.url))}"

    async def run(self, work: Work, arguments: FetchArguments, call: OpenToolCall) -> Result:
        try:
            async with asyncio.timeout(_SECONDS):
                kind, text = await _fetched(_address(arguments.url))
        except TimeoutError:
            raise ToolFailed(f"{arguments.url} did not answer in full within {_SECONDS:g} seconds") from None
        shown = await in_thread(lambda: text_of_page(text)) if "html" in kind else text
        await call.say(fenced(shown))
        return Result(shown or "(the page is empty)", {"contentType": kind, "characters": len(text)})


def _address(url: str) -> URL:
    """Read by who will also talk to the host, so that both mean the same one."""
    import httpx2  # noqa: PLC0415  # comes with the model library, and takes a while

    try:
        address = httpx2.URL(url)
    except (httpx2.InvalidURL, ValueError) as error:
        raise ToolFailed(f"{url!r} is no address of the web: {error}") from None
    if address.scheme not in ("http", "https") or not address.host:
        raise ToolFailed(f"{url!r} is no address of the web: it begins with http:// or https://")
    if address.userinfo:
        raise ToolFailed(f"{url!r} holds a name or a password: an address without them can be fetched")
    return address


def host_of(address: URL) -> str:
    """The host that is asked, as the network knows it; with its port if that is not the usual one."""
    return address.netloc.decode("ascii")


async def _fetched(address: URL) -> tuple[str, str]:
    import httpx2  # noqa: PLC0415  # as above

    host, url = host_of(address), address
    try:
        async with httpx2.AsyncClient(timeout=_SECONDS, follow_redirects=False) as client:
            for _ in range(_REDIRECTS):
                async with client.stream("GET", url, headers={"user-agent": "accord"}) as response:
                    if not response.has_redirect_location:
                        return await _content(response, url)
                    url = _address(str(url.join(response.headers["location"])))
                if host_of(url) != host:
                    raise ToolFailed(f"it redirects to another host: fetch {url} if that is wanted")
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise ToolFailed(f"{url} can't be fetched: {error or type(error).__name__}") from None
    raise ToolFailed(f"{address} redirects for ever")


async def _content(response: Response, url: URL) -> tuple[str, str]:
    if response.status_code >= 300:
        raise ToolFailed(f"{url} answers with the status {response.status_code}")
    kind = response.headers.get("content-type", "")
    if not any(word in kind for word in ("text/", "json", "xml", "javascript")):
        raise ToolFailed(f"{url} is {kind or 'of no kind'}, which is no text")
    content = bytearray()
    async for piece in response.aiter_bytes():
        content += piece
        if len(content) > _MOST_BYTES:
            raise ToolFailed(f"{url} is larger than {_MOST_BYTES // 2**20} MiB")
    return kind, content.decode(_encoding(response), "replace")


def _encoding(response: Response) -> str:
    try:
        return codecs.lookup(response.charset_encoding or "utf-8").name
    except LookupError:
        return "utf-8"


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "style", "noscript", "svg"):
            self._hidden += 1
        elif tag in ("p", "br", "div", "li", "tr", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "section"):
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style", "noscript", "svg"):
            self._hidden = max(0, self._hidden - 1)

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.pieces.append(data)


def text_of_page(page: str) -> str:
    """What a reader sees of a page, roughly: its text, a block on a line."""
    reader = _Page()
    reader.feed(page)
    reader.close()
    lines = [" ".join(line.split()) for line in "".join(reader.pieces).splitlines()]
    return "\n".join(line for line in lines if line)
