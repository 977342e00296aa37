"""Several clients on one session over the network: all hear everything, all are asked, and the first answer counts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from accord import Client, Remote, permissions
from accord.agent.audit import audit_log
from accord.dialects.negotiation import ProtocolVersion
from accord.local.token_file import TokenFile
from accord.transports.remote import Profile
from tests.asgi_driver import until
from tests.client.test_remote import new_agent, served
from tests.cutting_proxy import cutting_proxy


@pytest.fixture(params=["websocket", "http"])
def profile(request: pytest.FixtureRequest) -> Profile:
    return request.param


@pytest.fixture
async def url() -> AsyncIterator[str]:
    async with served(new_agent().asgi()) as url:
        yield url


class Person:
    """Somebody who sees a question and answers it when they are told to."""

    def __init__(self, answer: Any = permissions.allow_all) -> None:
        self.asked: list[str] = []
        self.go = asyncio.Event()
        self.was_withdrawn = False
        self._answer = answer

    async def __call__(self, request: Any) -> Any:
        self.asked.append(request.title)
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.was_withdrawn = True
            raise
        return await self._answer(request)


async def test_the_first_answer_counts_and_the_other_client_is_told(
    url: str, profile: Profile, version: ProtocolVersion
):
    ada, bob = Person(), Person(permissions.reject_all)
    async with (
        Client(Remote(url, profile=profile), version=version, on_permission=ada) as first,
        Client(Remote(url, profile=profile), version=version, on_permission=bob) as second,
        asyncio.timeout(120),
    ):
        session = await first.new_session(cwd="/tmp")
        watched = await second.load_session(session.id, cwd="/tmp")
        reply = session.prompt("ask")
        await until(lambda: ada.asked and bob.asked)
        bob.go.set()
        assert (await reply).text == "no"
        await until(lambda: ada.was_withdrawn)
        await until(lambda: "no" in "".join(each.text for each in watched.transcript.messages.values()))


async def test_a_client_without_anybody_to_answer_decides_nothing(url: str, profile: Profile, version: ProtocolVersion):
    ada = Person()
    async with (
        Client(Remote(url, profile=profile), version=version, on_permission=ada) as first,
        Client(Remote(url, profile=profile), version=version) as second,
        asyncio.timeout(120),
    ):
        session = await first.new_session(cwd="/tmp")
        await second.load_session(session.id, cwd="/tmp")
        reply = session.prompt("ask")
        await until(lambda: ada.asked)
        await second.list_sessions().__anext__()  # by then it has answered
        ada.go.set()
        assert (await reply).text == "yes"


async def test_a_question_is_asked_again_on_a_new_connection(profile: Profile, version: ProtocolVersion):
    ada, again = Person(), Person()
    again.go.set()
    async with (
        served(new_agent().asgi()) as url,
        cutting_proxy(url) as (through, proxy),
        Client(Remote(through, profile=profile), version=version, on_permission=ada) as lost,
        asyncio.timeout(120),
    ):
        session = await lost.new_session(cwd="/tmp")
        reply = session.prompt("ask")
        await until(lambda: ada.asked)
        proxy.is_down = True
        proxy.cut_all()
        async with Client(Remote(url, profile=profile), version=version, on_permission=again) as client:
            found = await client.load_session(session.id, cwd="/tmp")
            await until(lambda: "yes" in "".join(each.text for each in found.transcript.messages.values()))
            assert again.asked == ["Delete everything"]
        proxy.is_down = False
        assert (await reply).text == "yes"


async def test_the_audit_log_says_which_device_answered(tmp_path: Path, profile: Profile):
    tokens = TokenFile(tmp_path / "tokens.json")
    laptop, phone = tokens.create("laptop", "ada"), tokens.create("phone", "ada")
    ids = {each.name: each.id for each in tokens.list()}
    with audit_log(tmp_path / "audit.log"):
        async with (
            served(new_agent().asgi(tokens=tokens)) as url,
            Client(Remote(url, token=laptop, profile=profile), on_permission=Person()) as first,
            Client(Remote(url, token=phone, profile=profile), on_permission=permissions.allow_all) as second,
        ):
            session = await first.new_session(cwd="/tmp")
            await second.load_session(session.id, cwd="/tmp")
            assert (await session.prompt("ask")).text == "yes"
    lines = await asyncio.to_thread((tmp_path / "audit.log").read_text)
    told = {each["event"]: each["token"] for each in map(json.loads, lines.splitlines())}
    assert (told["prompted"], told["answered"]) == (ids["laptop"], ids["phone"])
