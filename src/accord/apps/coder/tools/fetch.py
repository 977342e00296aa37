"""The tool `fetch`: fetches a web page as text.

Laws: the user is asked about every host, before its name is resolved, and only that host is contacted. It is resolved
once; the addresses that were checked are the ones that are connected to. A host that is not on the public internet is
asked about each time, whatever was allowed for always. The text of a page takes time linear in its size, whatever is in
it: no piece is scanned twice; if an end tag is missing, the rest of the page belongs to the element. No tree is built: the
rules by which browsers repair wrong nesting are quadratic.
"""

from __future__ import annotations

import asyncio
import codecs
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from html import unescape
from typing import TYPE_CHECKING, Annotated
from weakref import WeakKeyDictionary

from msgspec import Meta, Struct

from accord.agent.tool_calls import AgentToolCall, ToolCallContent
from accord.apps.coder.approvals import confirm_danger, rejection
from accord.apps.coder.errors import ToolFailed
from accord.apps.coder.tools.addresses import ResolvedHost, known_host, resolve_host
from accord.apps.coder.tools.tool import Tool, ToolContext, ToolResult, fenced
from accord.local.redaction import redact
from accord.local.threads import in_thread

if TYPE_CHECKING:
    from httpx2 import URL, AsyncClient, Response

_MAX_BYTES = 5 * 1024 * 1024
_TIMEOUT = 60.0
_CONNECT_TIMEOUT = 10.0
_MAX_REDIRECTS = 5
_COMPRESSIONS = ("gzip", "deflate", "identity")  # others expand a small piece to gigabytes
# Python has others: some are not for text, and `punycode` and `idna` take quadratic time.
_TEXT_ENCODING = re.compile(r"utf|ascii|iso|latin|cp\d|koi8|gb|big5|euc|shift|mac|hz|johab|tis|ptcp|kz|hp")


class FetchArguments(Struct, eq=False, weakref=True):
    url: Annotated[str, Meta(description="The URL, http or https.", min_length=1)]


class FetchPage(Tool[FetchArguments]):
    name = "fetch"
    title_format = "Fetch {0.url}"
    description = "Fetch a text, a web page or JSON from a URL. The user is asked first."
    kind = "fetch"
    needs = "network"

    def __init__(self) -> None:
        self._hosts: WeakKeyDictionary[FetchArguments, ResolvedHost] = WeakKeyDictionary()

    async def preview(self, context: ToolContext, arguments: FetchArguments) -> list[ToolCallContent]:
        url = await in_thread(lambda: _parse_url(arguments.url))
        name = url.raw_host.decode("ascii")
        host = await in_thread(lambda: known_host(url.scheme, name, url.port))
        if host is not None:
            self._hosts[arguments] = host
        return [f"{fenced(arguments.url)}\nfrom the host `{host_of(url)}`"]

    def scope(self, context: ToolContext, arguments: FetchArguments) -> str:
        url = _parse_url(arguments.url)
        unencrypted = " by http, without encryption" if url.scheme == "http" else ""
        return f"fetch from {host_of(url)}{unencrypted}"

    def danger(self, context: ToolContext, arguments: FetchArguments) -> str | None:
        host = self._hosts.get(arguments)
        return None if host is None else host.danger

    async def run(self, context: ToolContext, arguments: FetchArguments, call: AgentToolCall) -> ToolResult:
        url = _parse_url(arguments.url)
        host = self._hosts.get(arguments)
        if host is None:  # not resolved before the user allowed it: a name can carry a secret to its owner
            host = await resolve_host(url.raw_host.decode("ascii"))
            if host.danger is not None and not await confirm_danger(context, call, host.danger):
                return rejection()
        try:
            async with asyncio.timeout(_TIMEOUT):
                kind, page = await _fetch(url, host)
        except TimeoutError:
            raise ToolFailed(f"{arguments.url} timed out after {_TIMEOUT:g} s") from None
        text = await in_thread(lambda: text_of_page(page)) if "html" in kind else page
        await call.say(fenced(text))
        details = {"contentType": kind, "characters": len(page)}
        return ToolResult(text, details, "" if text else "the page is empty")


def _parse_url(url: str) -> URL:
    """Parsed by the library that also makes the request, so that both mean the same host."""
    import httpx2  # noqa: PLC0415  # comes with the model library, and takes a while

    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, ValueError) as error:
        reason = "invalid host or port" if "@" in url else error  # which would show a part of a password
        raise ToolFailed(f"invalid URL {redact(url)!r}: {reason}") from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ToolFailed(f"invalid URL {redact(url)!r}: it must begin with http:// or https:// and a host")
    if parsed.userinfo:
        raise ToolFailed(f"{redact(url)!r} contains a user name or password: fetch a URL without them")
    return parsed


def host_of(url: URL) -> str:
    """The host as the network knows it; with its port if that is not the default."""
    return url.netloc.decode("ascii")


async def _fetch(first: URL, host: ResolvedHost) -> tuple[str, str]:
    """Fetch from the resolved addresses only: a name may lead somewhere else a moment later."""
    import httpx2  # noqa: PLC0415  # as above

    url = first
    # The environment may name certificates; whether it names a proxy is in the resolved host.
    verify = httpx2.create_ssl_context()
    try:
        async with httpx2.AsyncClient(
            timeout=_TIMEOUT, follow_redirects=False, trust_env=False, verify=verify, proxy=host.proxy
        ) as client:
            for _ in range(_MAX_REDIRECTS):
                async with _get(client, url, host) as response:
                    if not response.has_redirect_location:
                        return await _content(response, url)
                    scheme, url = url.scheme, _parse_url(str(url.join(response.headers["location"])))
                if host_of(url) != host_of(first):
                    raise ToolFailed(f"it redirects to another host, {url}", "fetch that if it is wanted")
                if (scheme, url.scheme) == ("https", "http"):
                    raise ToolFailed(
                        f"it redirects from https to http, without a certificate: {url}", "fetch that if it is wanted"
                    )
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, ImportError) as error:
        reason = redact(str(error), host.proxy) or type(error).__name__
        raise ToolFailed(f"{url} can't be fetched: {reason}") from None
    raise ToolFailed(f"too many redirects from {first}")


@asynccontextmanager
async def _get(client: AsyncClient, url: URL, host: ResolvedHost) -> AsyncGenerator[Response]:
    import httpx2  # noqa: PLC0415  # as above

    headers = {"user-agent": "accord", "host": host_of(url), "accept-encoding": ", ".join(_COMPRESSIONS)}
    if host.proxy is not None:
        async with client.stream("GET", url, headers=headers) as response:
            yield response
        return
    name = url.raw_host.decode("ascii")  # the certificate has to be for this name
    for address in host.addresses:
        request = client.build_request(
            "GET", url.copy_with(host=address), headers=headers, extensions={"sni_hostname": name}
        )
        request.extensions["timeout"] = {**request.extensions["timeout"], "connect": _CONNECT_TIMEOUT}
        try:
            response = await client.send(request, stream=True)
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            if address == host.addresses[-1]:
                raise
            continue
        try:
            yield response
        finally:
            await response.aclose()
        return


async def _content(response: Response, url: URL) -> tuple[str, str]:
    if response.status_code >= 300:
        raise ToolFailed(f"{url} returned status {response.status_code}")
    kind = response.headers.get("content-type", "")
    if not any(word in kind for word in ("text/", "json", "xml", "javascript")):
        raise ToolFailed(f"{url} is not text: its content type is {kind or 'missing'}")
    compression = response.headers.get("content-encoding", "identity")
    if compression not in _COMPRESSIONS:
        raise ToolFailed(f"{url} has the content encoding {compression!r}, which was not requested")
    content = bytearray()
    async for piece in response.aiter_bytes():
        content += piece
        if len(content) > _MAX_BYTES:
            raise ToolFailed(f"{url} is larger than {_MAX_BYTES // 2**20} MiB")
    return kind, content.decode(_encoding(response), "replace")


def _encoding(response: Response) -> str:
    try:
        name = codecs.lookup(response.charset_encoding or "utf-8").name
    except LookupError:
        return "utf-8"
    return name if _TEXT_ENCODING.match(name) else "utf-8"


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,30}")
_CHARACTER = re.compile(r"&(?:#[0-9]{1,7}(?![0-9])|#[xX][0-9A-Fa-f]{1,6}(?![0-9A-Fa-f])|[A-Za-z][A-Za-z0-9]{1,31});?")
_VALUE_OR_END = re.compile("""=[ \\t\\n\\r\\f]*(["'])|>""")
_WITHOUT_TEXT = {
    name: re.compile(f"</{name}", re.IGNORECASE)
    for name in ("script", "style", "noscript", "svg", "template", "iframe")
}
_BLOCKS = frozenset(
    ("address", "article", "aside", "blockquote", "body", "br", "dd", "div", "dl", "dt", "figure", "footer", "form", "h1",
     "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "option", "p", "pre", "section", "table",
     "td", "th", "title", "tr", "ul")
)  # fmt: skip


def text_of_page(page: str) -> str:
    """The visible text of a page, roughly, with one block per line."""
    pieces: list[str] = []
    position = 0
    while (tag := page.find("<", position)) >= 0:
        pieces.append(_CHARACTER.sub(_character, page[position:tag]))
        position = _after(page, tag, pieces)
    pieces.append(_CHARACTER.sub(_character, page[position:]))
    lines = (" ".join(line.split()) for line in "".join(pieces).splitlines())
    return "\n".join(line for line in lines if line)


def _character(match: re.Match[str]) -> str:
    return unescape(match[0])


def _after(page: str, tag: int, pieces: list[str]) -> int:
    """The position after the tag or comment that starts here."""
    if page.startswith("<!--", tag):
        return _end(page, "-->", tag + 2)  # `<!-->` is a whole comment
    if page.startswith(("<!", "<?"), tag):
        return _end(page, ">", tag + 2)
    is_end = page.startswith("</", tag)
    name_match = _NAME.match(page, tag + 1 + is_end)
    if name_match is None:  # only a character
        pieces.append("<")
        return tag + 1
    name = name_match[0].lower()
    if name in _BLOCKS:
        pieces.append("\n")
    after = _end_of_tag(page, name_match.end())
    if is_end or name not in _WITHOUT_TEXT:
        return after
    end = _WITHOUT_TEXT[name].search(page, after)
    return len(page) if end is None else _end_of_tag(page, end.end())


def _end_of_tag(page: str, position: int) -> int:
    """The position after its `>`; one in a quoted value does not count."""
    while (match := _VALUE_OR_END.search(page, position)) is not None:
        if match[1] is None:
            return match.end()
        position = _end(page, match[1], match.end())
    return len(page)


def _end(page: str, mark: str, position: int) -> int:
    start = page.find(mark, position)
    return len(page) if start < 0 else start + len(mark)
