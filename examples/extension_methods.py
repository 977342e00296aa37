"""Methods beyond the protocol, called from both sides: python extension_methods.py"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from accord import Agent, AgentConnection, Client, Turn

agent = Agent("painter", version="1.0", meta={"acme.dev": {"mixes": True}})


@agent.method("_acme.dev/mix")
async def mix(params: dict[str, Any], client: AgentConnection) -> dict[str, Any]:
    return {"colour": "-".join(params["colours"])}


@agent.prompt
async def paint(turn: Turn) -> None:
    chosen = await turn.client.request("_acme.dev/pick", {"colours": ["red", "blue"]})
    await turn.say(f"I paint it {chosen['colour']}.")


async def main() -> None:
    client = Client([sys.executable, __file__, "agent"])

    @client.method("_acme.dev/pick")
    async def pick(params: dict[str, Any]) -> dict[str, Any]:
        return {"colour": params["colours"][-1]}

    async with client:
        if (client.agent.capabilities.meta or {}).get("acme.dev", {}).get("mixes"):
            print(await client.request("_acme.dev/mix", {"colours": ["yellow", "green"]}))
        session = await client.new_session(".")
        print((await session.prompt("Paint the door")).text)


agent.run() if "agent" in sys.argv else asyncio.run(main())
