"""Attacks through `fetch`: names and redirects that lead to where only this machine can reach, and pages that cost time."""

from __future__ import annotations

import asyncio
import datetime as dt
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from accord.apps.coder.tools import addresses
from accord.apps.coder.tools.addresses import kind_of_address
from accord.apps.coder.tools.fetch import text_of_page
from accord.apps.coder.tools.tool import fenced
from accord.session.requests import PermissionAnswer, PermissionRequest
from tests.apps.coder.scripted import desk, git

PLAIN = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\nthe page"


class Host:
    """A server, and the heads of the requests that it got."""

    def __init__(self, address: str, answers: dict[str, str]) -> None:
        self.address = address
        self.answers = answers
        self.heads: list[str] = []
        self.names: list[str | None] = []
        self.port = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        writer.write(self.answers.get(head.split()[1], PLAIN).replace("{port}", str(self.port)).encode())
        await writer.drain()
        writer.close()


@pytest.fixture
async def serve() -> AsyncIterator[Callable[..., Any]]:
    async with AsyncExitStack() as running:

        async def start(address: str = "127.0.0.1", tls: ssl.SSLContext | None = None, **answers: str) -> Host:
            host = Host(address, {f"/{path}": answer for path, answer in answers.items()})
            if tls is not None:
                tls.sni_callback = lambda _, name, __: host.names.append(name)
            server = await running.enter_async_context(
                await asyncio.start_server(host.answer, address, 0, ssl=tls, family=socket.AF_UNSPEC)
            )
            host.port = server.sockets[0].getsockname()[1]
            return host

        yield start


class Person:
    """Answers questions, always with `option`, and keeps them."""

    def __init__(self, option: str = "allow") -> None:
        self.option = option
        self.answers: list[str] = []
        self.asked: list[PermissionRequest] = []

    async def __call__(self, asked: PermissionRequest) -> PermissionAnswer:
        self.asked.append(asked)
        if self.answers:
            return PermissionAnswer(outcome="selected", option_id=self.answers.pop(0))
        chosen = (
            self.option if self.option in [option.id for option in asked.options] else self.option.partition("-")[0]
        )
        return PermissionAnswer(outcome="selected", option_id=chosen)

    @property
    def shown(self) -> list[str]:
        return [str(asked) for asked in self.asked]


@pytest.fixture(params=[1, 2], ids=["v1", "v2"])
def sit(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("ACCORD_HOME", str(tmp_path / "home"))
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "-q")

    @asynccontextmanager
    async def open_desk(person: Person) -> AsyncIterator[Any]:
        async with desk(project, request.param, home=tmp_path / "home", on_permission=person) as opened:
            yield opened

    return open_desk


def looks_up(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """Names are looked up in turn as these addresses; the names that were."""
    asked: list[str] = []

    def look_up(host: str, flags: int = 0) -> tuple[str, ...]:
        if flags:
            raise OSError("no number")
        asked.append(host)
        return tuple(answers[min(len(asked), len(answers)) - 1])

    monkeypatch.setattr(addresses, "_look_up", look_up)
    return asked


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.9.9.9", "168.63.129.16",
        "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.168.1.1", "198.18.0.1",
        "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
        "::", "::1", "::2", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "2001:db8::1",
        "3fff::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::127.0.0.1",
        "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::1", "2002:a00:1::", "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "100::1", "5f00::1", "4000::1", "not an address",
    ],
)  # fmt: skip
def test_an_address_that_the_internet_does_not_reach_is_known_as_such(address: str) -> None:
    assert kind_of_address(address) is not None


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "8.8.8.8", "172.32.0.1", "100.128.0.1", "192.0.1.1", "223.255.255.255", "2606:4700::1111",
     "2a00:1450:4001::200e", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"],
)  # fmt: skip
def test_an_address_of_the_internet_is_one(address: str) -> None:
    assert kind_of_address(address) is None


@pytest.mark.parametrize("mode", ["ask", "architect", "code"])
@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.1", "0x7f.1", "2130706433", "017700000001", "localhost", "[::ffff:127.0.0.1]"]
)
async def test_every_spelling_of_this_machine_is_asked_for_with_that_fact_in_every_mode(
    sit: Any, serve: Any, host: str, mode: str
) -> None:
    server, person = await serve(), Person("allow-always")
    async with sit(person) as opened:
        await opened.session.set_mode(mode)
        for _ in range(2):
            assert (await opened.use_one("fetch", url=f"http://{host}:{server.port}/")).text == "the page"
    assert len(person.asked) == 2
    assert all("this machine itself" in shown and "asked each time" in shown for shown in person.shown)
    assert [option.id for option in person.asked[0].options] == ["allow", "reject"]


async def test_an_allowed_host_that_moves_into_the_private_network_is_asked_for_again(
    sit: Any, serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, person = await serve("127.0.0.2"), Person("allow-always")
    monkeypatch.setattr(
        addresses, "kind_of_address", lambda address: None if address == "127.0.0.2" else kind_of_address(address)
    )
    looks_up(monkeypatch, ["127.0.0.2"], ["127.0.0.2"], ["127.0.0.2", "10.0.0.5"])
    async with sit(person) as opened:
        for _ in range(2):
            assert (await opened.use_one("fetch", url=f"http://good.test:{server.port}/")).text == "the page"
        assert len(person.asked) == 1  # for always
        person.option = "reject"
        assert "rejected this call" in (await opened.use_one("fetch", url=f"http://good.test:{server.port}/")).text
    assert "`good.test` leads to `10.0.0.5`, which is a private network" in person.shown[1]
    assert len(server.heads) == 2


async def test_a_name_is_looked_up_once_and_what_was_checked_is_connected_to(
    sit: Any, serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = "HTTP/1.1 302 Found\r\nlocation: /there\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
    checked, person = await serve("127.0.0.2", here=moved), Person()
    monkeypatch.setattr(addresses, "kind_of_address", lambda address: None if address == "127.0.0.2" else "private")
    asked = looks_up(monkeypatch, ["127.0.0.2"], ["127.0.0.1"])

    def lookup(*_: Any, **__: Any) -> Any:
        raise AssertionError("looked up again")

    async with sit(person) as opened:
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", lookup)
        monkeypatch.setattr(socket, "getaddrinfo", lookup)
        outcome = await opened.use_one("fetch", url=f"http://rebound.test:{checked.port}/here")
        assert outcome.text == "the page"
    assert asked == ["rebound.test"]
    assert [f"host: rebound.test:{checked.port}" in head.lower() for head in checked.heads] == [True, True]


async def test_the_next_address_is_tried_where_nobody_answers(
    sit: Any, serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, person = await serve("127.0.0.2"), Person()
    looks_up(monkeypatch, ["127.0.0.3", "127.0.0.2"])
    async with sit(person) as opened:
        assert (await opened.use_one("fetch", url=f"http://two.test:{server.port}/")).text == "the page"
        assert "can't be fetched" in (await opened.use_one("fetch", url="http://two.test:1/")).text


@pytest.mark.parametrize(
    "to", ["http://127.0.0.1:{port}/", "http://[::1]:{port}/", "//127.1:{port}/", "http://other.test/"]
)
async def test_a_redirect_to_another_host_is_not_followed(
    sit: Any, serve: Any, to: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = f"HTTP/1.1 302 Found\r\nlocation: {to}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
    server, person = await serve("127.0.0.2", moved=moved), Person()
    looks_up(monkeypatch, ["127.0.0.2"])
    async with sit(person) as opened:
        outcome = await opened.use_one("fetch", url=f"http://good.test:{server.port}/moved")
    assert "redirects to another host" in outcome.text
    assert len(server.heads) == 1


@pytest.mark.parametrize(
    ("hops", "seen"),
    [
        (["https://good.test/a", "http://good.test/b"], 1),
        (["https://good.test/a", "/b", "//good.test/c", "HTTP://good.test/d"], 3),
        (["http://good.test/a", "https://good.test/b", "http://good.test/c"], 2),
    ],
)
async def test_a_redirect_from_https_to_http_is_not_followed(
    sit: Any, monkeypatch: pytest.MonkeyPatch, hops: list[str], seen: int
) -> None:
    requests: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        requests.append(str(request.url))
        if len(requests) < len(hops):
            return httpx2.Response(302, headers={"location": hops[len(requests)]})
        return httpx2.Response(200, headers={"content-type": "text/plain"}, text="the page")

    usual = httpx2.AsyncClient
    monkeypatch.setattr(httpx2, "AsyncClient", lambda **_: usual(transport=httpx2.MockTransport(answer)))
    looks_up(monkeypatch, ["93.184.215.14"])
    async with sit(Person()) as opened:
        outcome = await opened.use_one("fetch", url=hops[0])
    assert "from https to http" in outcome.text
    assert len(requests) == seen


async def test_an_always_choice_for_https_does_not_cover_http(sit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the model, told of a redirect to http, would get there without a question."""
    requests: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        requests.append(str(request.url))
        if request.url.scheme == "https":
            return httpx2.Response(302, headers={"location": "http://good.test/b"})
        return httpx2.Response(200, headers={"content-type": "text/plain"}, text="the page")

    usual = httpx2.AsyncClient
    monkeypatch.setattr(httpx2, "AsyncClient", lambda **_: usual(transport=httpx2.MockTransport(answer)))
    looks_up(monkeypatch, ["93.184.215.14"])
    person = Person()
    person.answers = ["allow-always", "reject"]
    async with sit(person) as opened:
        for url in ("https://good.test/a", "https://good.test/c"):
            assert "http://good.test/b: fetch that if it is wanted" in (await opened.use_one("fetch", url=url)).text
        assert len(person.asked) == 1
        assert (await opened.use_one("fetch", url="http://good.test/b")).text != "the page"
    assert [asked.options[1].name.rpartition(": ")[2] for asked in person.asked] == [
        "fetch from good.test",
        "fetch from good.test by http, without encryption",
    ]
    assert len(requests) == 2


async def test_nobody_is_asked_for_a_name_before_the_user_said_yes(sit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the name of a host could carry whatever the model has read to the owner of its domain."""
    person, asked = Person("reject"), looks_up(monkeypatch, ["127.0.0.1"])
    async with sit(person) as opened:
        assert "rejected this call" in (await opened.use_one("fetch", url="http://sesame.evil.test/")).text
    assert asked == []
    assert len(person.asked) == 1


async def test_a_yes_to_a_name_is_no_yes_to_this_machine(sit: Any, serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server = await serve()
    person, asked = Person(), looks_up(monkeypatch, ["127.0.0.1"])
    person.answers = ["allow", "reject"]
    async with sit(person) as opened:
        assert "rejected this call" in (await opened.use_one("fetch", url=f"http://evil.test:{server.port}/")).text
    assert ["this machine itself" in shown for shown in person.shown] == [False, True]
    assert (asked, server.heads) == (["evil.test"], [])


async def test_the_certificate_and_the_name_are_those_of_the_host_not_of_the_address(
    sit: Any, serve: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tls = _certified("good.test", tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
    server, person = await serve(tls=tls), Person()
    looks_up(monkeypatch, ["127.0.0.1"])
    async with sit(person) as opened:
        assert (await opened.use_one("fetch", url=f"https://good.test:{server.port}/")).text == "the page"
        assert "can't be fetched" in (await opened.use_one("fetch", url=f"https://evil.test:{server.port}/")).text
    assert server.names == ["good.test", "evil.test"]
    assert [f"host: good.test:{server.port}" in head.lower() for head in server.heads] == [True]


def _certified(name: str, directory: Path) -> ssl.SSLContext:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (directory / "certificate.pem").write_bytes(made.public_bytes(pem))
    (directory / "key.pem").write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(directory / "certificate.pem", directory / "key.pem")
    return tls


async def test_a_proxy_of_the_environment_is_told_the_name_and_asked_for_each_time(
    sit: Any, serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy, person = await serve(), Person("allow-always")
    proxy.answers["http://good.test/x"] = PLAIN
    asked = looks_up(monkeypatch, ["127.0.0.2"])
    async with sit(person) as opened:
        monkeypatch.setenv("http_proxy", f"http://me:sesame@127.0.0.1:{proxy.port}")
        for _ in range(2):
            assert (await opened.use_one("fetch", url="http://good.test/x")).text == "the page"
        monkeypatch.setenv("no_proxy", "good.test")
        assert "can't be fetched" in (await opened.use_one("fetch", url="http://good.test:1/x")).text
    assert [head.split()[1] for head in proxy.heads] == ["http://good.test/x"] * 2
    assert ["looks the host up itself" in shown for shown in person.shown] == [True, True, False, False]
    assert "sesame" not in str(person.shown)
    assert asked == ["good.test"]


@pytest.mark.parametrize(
    ("host", "kind"), [("169.254.169.254", "the local link"), ("0x7f.1", "this machine"), ("localhost", "this machine")]
)
async def test_what_is_known_of_a_host_is_told_also_where_a_proxy_is_asked_for_it(
    sit: Any, monkeypatch: pytest.MonkeyPatch, host: str, kind: str
) -> None:
    person = Person("reject")
    async with sit(person) as opened:
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
        assert "rejected this call" in (await opened.use_one("fetch", url=f"http://{host}/")).text
    (shown,) = person.shown
    assert "looks the host up itself" in shown
    assert kind in shown


@pytest.mark.parametrize("host", ["127.0.0.1", "mine.test"])
async def test_an_address_of_this_machines_own_is_asked_for_whatever_range_it_is_in(
    sit: Any, serve: Any, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    """A machine on the internet may have services that only itself can reach by its public address."""
    server, person = await serve(), Person("allow-always")
    monkeypatch.setattr(addresses, "_IPV4_RANGES", [])  # as if it were on the internet
    if host == "mine.test":
        looks_up(monkeypatch, ["127.0.0.1"])
    async with sit(person) as opened:
        assert (await opened.use_one("fetch", url=f"http://{host}:{server.port}/")).text == "the page"
    assert "this machine itself" in person.shown[-1]
    assert [option.id for option in person.asked[-1].options] == ["allow", "reject"]


async def test_an_address_of_ipv6_is_connected_to_as_it_was_checked(sit: Any, serve: Any) -> None:
    try:
        server = await serve("::1")
    except OSError:
        pytest.skip("there is no IPv6 here")
    person = Person()
    async with sit(person) as opened:
        assert (await opened.use_one("fetch", url=f"http://[::1]:{server.port}/")).text == "the page"
    assert "this machine itself" in person.shown[0]


async def test_a_page_that_is_packed_in_an_unusual_way_is_not_unpacked(sit: Any, serve: Any) -> None:
    bomb = PLAIN.replace("\r\nconnection", "\r\ncontent-encoding: br\r\nconnection")
    server, person = await serve(bomb=bomb), Person()
    async with sit(person) as opened:
        assert (
            "has the content encoding 'br'"
            in (await opened.use_one("fetch", url=f"http://127.0.0.1:{server.port}/bomb")).text
        )


@pytest.mark.parametrize("charset", ["punycode", "idna", "zlib_codec", "unicode_escape", "undefined", "rot13"])
async def test_a_page_in_what_is_no_encoding_of_texts_is_read_as_utf_8(sit: Any, serve: Any, charset: str) -> None:
    odd = PLAIN.replace("text/plain", f"text/plain; charset={charset}") + "x-" * 200_000
    server, person = await serve(odd=odd), Person()
    async with sit(person) as opened:
        outcome = await opened.use_one("fetch", url=f"http://127.0.0.1:{server.port}/odd")
        assert outcome.text.startswith("the pagex-x-")


# Each of these takes hours where a scan begins anew at every character.
@pytest.mark.parametrize(
    "piece",
    ["<!--", "<", "</", "<a", "<a ", "<a b=", "<a b='", '<a b="', "<!", "<?", "<![CDATA[", "&", "&#", "&#x", "&a", "<b>",
     "<p>", "<div>", "<script>", "</script", "<script></scrip", "<svg>", "= ", "='", " ", "\n", "<!-- --", "-->", "<a\n=",
     "<b id=x><p>", "&#9", "9"],
)  # fmt: skip
@pytest.mark.parametrize("before", ["", "<a ", "&#"])
def test_a_hostile_page_takes_time_in_proportion_to_its_size(before: str, piece: str) -> None:
    text_of_page(before + piece * (1_000_000 // len(piece)))


@pytest.mark.parametrize("text", ["`" * 1_000_000, "``` " * 250_000, "".join("`" * n + " " for n in range(1000))])
def test_a_block_is_fenced_in_one_look_at_its_text(text: str) -> None:
    block = fenced(text)
    fence = block.partition("\n")[0]
    assert set(fence) == {"`"}
    assert fence not in text
    assert block.endswith(fence)


def test_what_python_takes_for_global_is_not_taken_on_trust() -> None:
    """Its own answer differs from one release to the next; ours is at least as careful as all of them."""
    for address in ("192.0.0.9", "192.0.0.10", "2001:1::1", "2001:20::1", "224.0.0.1", "ff0e::1"):
        assert kind_of_address(str(ipaddress.ip_address(address))) is not None
