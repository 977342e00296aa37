"""Fetching a page.

Laws: the user is asked for every host, before anybody is asked for its address, and only that host is talked to. It is
looked up once; what was checked is what is connected to. What is not on the public internet is asked for each time,
whatever was allowed for always.
"""

from __future__ import annotations

import asyncio
import codecs
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated
from weakref import WeakKeyDictionary

from msgspec import Meta, Struct

from accord.agent.tool_calls import AgentToolCall, ToolCallContent
from accord.apps.coder.approvals import confirm_danger, rejection
from accord.apps.coder.errors import ToolFailed
from accord.apps.coder.tools.addresses import ResolvedHost, known_host, resolve_host
from accord.apps.coder.tools.file_state import ToolContext
from accord.apps.coder.tools.page_text import text_of_page
from accord.apps.coder.tools.tool import Tool, ToolResult, fenced
from accord.local.redaction import redact
from accord.local.threads import in_thread

if TYPE_CHECKING:
    from httpx2 import URL, AsyncClient, Response

__all__ = ["FetchPage", "host_of"]

_MOST_BYTES = 5 * 1024 * 1024
_SECONDS = 60.0
_CONNECT_SECONDS = 10.0
_REDIRECTS = 5
_PACKINGS = ("gzip", "deflate", "identity")  # others make gigabytes of a small piece
# Python has others: some are no text, and the time of `punycode` and `idna` grows with the square of the text.
_TEXT_ENCODING = re.compile(r"utf|ascii|iso|latin|cp\d|koi8|gb|big5|euc|shift|mac|hz|johab|tis|ptcp|kz|hp")


class FetchArguments(Struct, eq=False, weakref=True):
    url: Annotated[str, Meta(description="The address, http or https.", min_length=1)]


class FetchPage(Tool[FetchArguments]):
    name = "fetch"
    description = "Fetch a text, a web page or JSON from an address and read it. The user is asked first."
    kind = "fetch"
    needs = "network"
    arguments = FetchArguments

    def __init__(self) -> None:
        self._targets: WeakKeyDictionary[FetchArguments, ResolvedHost] = WeakKeyDictionary()

    def title(self, context: ToolContext, arguments: FetchArguments) -> str:
        return f"Fetch {arguments.url}"

    async def preview(self, context: ToolContext, arguments: FetchArguments) -> list[ToolCallContent]:
        address = await in_thread(lambda: _address(arguments.url))
        name = address.raw_host.decode("ascii")
        target = await in_thread(lambda: known_host(address.scheme, name, address.port))
        if target is not None:
            self._targets[arguments] = target
        return [f"{fenced(arguments.url)}\nfrom the host `{host_of(address)}`"]

    def scope(self, context: ToolContext, arguments: FetchArguments) -> str:
        address = _address(arguments.url)
        open_to_all = " by http, without encryption" if address.scheme == "http" else ""
        return f"fetch from {host_of(address)}{open_to_all}"

    def danger(self, context: ToolContext, arguments: FetchArguments) -> str | None:
        target = self._targets.get(arguments)
        return None if target is None else target.danger

    async def run(self, context: ToolContext, arguments: FetchArguments, call: AgentToolCall) -> ToolResult:
        address = _address(arguments.url)
        target = self._targets.get(arguments)
        if target is None:  # not looked up before the user said yes: a name can carry a secret to its owner
            target = await resolve_host(address.raw_host.decode("ascii"))
            if target.danger is not None and not await confirm_danger(context, call, target.danger):
                return rejection()
        try:
            async with asyncio.timeout(_SECONDS):
                kind, text = await _fetched(address, target)
        except TimeoutError:
            raise ToolFailed(f"{arguments.url} did not answer in full within {_SECONDS:g} seconds") from None
        shown = await in_thread(lambda: text_of_page(text)) if "html" in kind else text
        await call.say(fenced(shown))
        return ToolResult(shown or "(the page is empty)", {"contentType": kind, "characters": len(text)})


def _address(url: str) -> URL:
    """Read by who will also talk to the host, so that both mean the same one."""
    import httpx2  # noqa: PLC0415  # comes with the model library, and takes a while

    try:
        address = httpx2.URL(url)
    except (httpx2.InvalidURL, ValueError) as error:
        reason = "its host or port can't be read" if "@" in url else error  # which would show a part of a password
        raise ToolFailed(f"{redact(url)!r} is no address of the web: {reason}") from None
    if address.scheme not in ("http", "https") or not address.host:
        raise ToolFailed(f"{redact(url)!r} is no address of the web: it begins with http:// or https://")
    if address.userinfo:
        raise ToolFailed(f"{redact(url)!r} holds a name or a password: an address without them can be fetched")
    return address


def host_of(address: URL) -> str:
    """The host that is asked, as the network knows it; with its port if that is not the usual one."""
    return address.netloc.decode("ascii")


async def _fetched(address: URL, target: ResolvedHost) -> tuple[str, str]:
    """From the addresses that were looked up, and from no others: a name may lead somewhere else a moment later."""
    import httpx2  # noqa: PLC0415  # as above

    host, url = host_of(address), address
    # The environment may name certificates; whether it names a proxy is in the target.
    verify = httpx2.create_ssl_context()
    try:
        async with httpx2.AsyncClient(
            timeout=_SECONDS, follow_redirects=False, trust_env=False, verify=verify, proxy=target.proxy
        ) as client:
            for _ in range(_REDIRECTS):
                async with _answer(client, url, target) as response:
                    if not response.has_redirect_location:
                        return await _content(response, url)
                    scheme, url = url.scheme, _address(str(url.join(response.headers["location"])))
                if host_of(url) != host:
                    raise ToolFailed(f"it redirects to another host, {url}", "fetch that if it is wanted")
                if (scheme, url.scheme) == ("https", "http"):
                    raise ToolFailed(
                        f"it redirects from https to http, without a certificate: {url}", "fetch that if it is wanted"
                    )
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, ImportError) as error:
        reason = redact(str(error), target.proxy) or type(error).__name__
        raise ToolFailed(f"{url} can't be fetched: {reason}") from None
    raise ToolFailed(f"{address} redirects for ever")


@asynccontextmanager
async def _answer(client: AsyncClient, url: URL, target: ResolvedHost) -> AsyncGenerator[Response]:
    import httpx2  # noqa: PLC0415  # as above

    headers = {"user-agent": "accord", "host": host_of(url), "accept-encoding": ", ".join(_PACKINGS)}
    if target.proxy is not None:
        async with client.stream("GET", url, headers=headers) as response:
            yield response
        return
    name = url.raw_host.decode("ascii")  # what the certificate has to be for
    for place in target.addresses:
        request = client.build_request(
            "GET", url.copy_with(host=place), headers=headers, extensions={"sni_hostname": name}
        )
        request.extensions["timeout"] = {**request.extensions["timeout"], "connect": _CONNECT_SECONDS}
        try:
            response = await client.send(request, stream=True)
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            if place == target.addresses[-1]:
                raise
            continue
        try:
            yield response
        finally:
            await response.aclose()
        return


async def _content(response: Response, url: URL) -> tuple[str, str]:
    if response.status_code >= 300:
        raise ToolFailed(f"{url} answers with the status {response.status_code}")
    kind = response.headers.get("content-type", "")
    if not any(word in kind for word in ("text/", "json", "xml", "javascript")):
        raise ToolFailed(f"{url} is {kind or 'of no kind'}, which is no text")
    packing = response.headers.get("content-encoding", "identity")
    if packing not in _PACKINGS:
        raise ToolFailed(f"{url} is packed as {packing!r}, which was not asked for")
    content = bytearray()
    async for piece in response.aiter_bytes():
        content += piece
        if len(content) > _MOST_BYTES:
            raise ToolFailed(f"{url} is larger than {_MOST_BYTES // 2**20} MiB")
    return kind, content.decode(_encoding(response), "replace")


def _encoding(response: Response) -> str:
    try:
        name = codecs.lookup(response.charset_encoding or "utf-8").name
    except LookupError:
        return "utf-8"
    return name if _TEXT_ENCODING.match(name) else "utf-8"
