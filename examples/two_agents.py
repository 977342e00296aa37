"""Two agents that talk with each other, each in a process of its own, and a client between them: python two_agents.py"""

from __future__ import annotations

import asyncio
import sys

from accord import Agent, Client, Turn

DEAL = "It's a deal."
agents = {"seller": Agent("seller", version="1.0"), "buyer": Agent("buyer", version="1.0")}


@agents["seller"].prompt
async def ask(turn: Turn) -> None:
    price = turn.session.state["price"] = turn.session.state.get("price", 100) - 10
    await turn.say(str(price))


@agents["buyer"].prompt
async def bid(turn: Turn) -> None:
    offer = turn.session.state["offer"] = turn.session.state.get("offer", 0) + 10
    await turn.say(DEAL if offer >= int(turn.text) else str(offer))


async def main() -> None:
    clients = {name: Client([sys.executable, __file__, name]) for name in agents}
    async with clients["seller"], clients["buyer"]:
        sessions = {name: await client.new_session(".") for name, client in clients.items()}
        said = "What does it cost?"
        while said != DEAL:
            for name, session in sessions.items():
                said = (await session.prompt(said)).text
                print(f"{name:>8}: {said}")


if __name__ == "__main__":
    agents[sys.argv[1]].run() if len(sys.argv) > 1 else asyncio.run(main())
