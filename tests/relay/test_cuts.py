"""Connections to a router that are cut at any byte and resumed: nothing is lost, doubled or out of order."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

from accord import Client, Remote, permissions
from accord.dialects.negotiation import ProtocolVersion
from accord.transports import resumption
from accord.transports.remote import Profile
from tests.asgi_driver import until
from tests.cutting_proxy import cutting_proxy, seeded_cuts
from tests.relay.served_agents import Farm, client_of, routed

pytest.importorskip("hypercorn")
pytestmark = pytest.mark.timeout(120)

SEEDS = int(os.environ.get("ACCORD_SEEDS", "3"))


@pytest.fixture(autouse=True)
def short_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resumption, "_FIRST_DELAY", 0.002)
    monkeypatch.setattr(resumption, "_LONGEST_DELAY", 0.05)


@pytest.mark.parametrize("profile", ["websocket", "http"])
@pytest.mark.parametrize("seed", range(SEEDS))
async def test_cuts_lose_double_and_reorder_nothing(seed: int, profile: Profile):
    version: ProtocolVersion = (1, 2, "2-draft")[seed % 3]
    farm, asked = Farm(), list[str]()

    async def allow(request: Any) -> Any:
        asked.append(request.title)
        return await permissions.allow_all(request)

    async with (
        routed(farm.router()) as url,
        cutting_proxy(url) as (through, proxy),
        Client(Remote(through, profile=profile), version=version, on_permission=allow) as client,
        client_of(url, profile, version) as watcher,
        asyncio.timeout(90),
    ):
        session = await client.new_session(cwd="/tmp")
        watched = await watcher.load_session(session.id, cwd="/tmp")
        proxy.cut_point = seeded_cuts(seed, 15, proxy, 50, 4000)
        proxy.cut_all()
        for turn in range(2):
            reply = session.prompt("90")
            for number in range(10):
                await client.notify("_acme/tick", {"n": 10 * turn + number})
                assert await client.request("_acme/echo", {"n": number}) == {"n": number}
            assert (await reply).text.split() == [str(number) for number in range(90)]
        seen = [each.text for each in session.transcript.messages.values()]
        await until(lambda: [each.text for each in watched.transcript.messages.values()] == seen)
        steps = [f"Step {number}" for number in range(90) if number % 20 == 10]
        assert (farm.prompts, farm.ticks, asked) == (["90"] * 2, list(range(20)), steps * 2)
        assert (farm.answers, len(farm.started)) == ([True] * len(steps) * 2, 1)
        assert proxy.cuts >= 10
