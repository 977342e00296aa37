"""Our agent as a program, for the clients made with the official SDKs. The first block of a prompt says what it should do.

Its argument is the path of a store, without one nothing survives it; after `--load-only` it offers to load sessions, but not
to resume them. Where the official schemas are at hand, it ends badly if a frame did not fit.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import msgspec
from msgspec.structs import replace

from accord import Agent, RequestFailed, Turn
from accord.session.entities import PlanEntry
from accord.store import MemoryStore, SqliteStore
from tests.conversations.story import STORY
from tests.interop.peers.frame_report import run_watched

FILE, COMMAND, QUESTION = STORY["file"], STORY["command"], STORY["question"]
NAME = Path(FILE["path"]).name

*flags, path = sys.argv[1:] or [""]


agent = Agent(
    "accord-story",
    "1.0",
    title="Erzähler",
    store=SqliteStore(path) if path else MemoryStore(),
    image=True,
    audio=True,
    embedded_context=True,
    merge_seconds=0.0,
    meta={"accord.test": {"echo": True}},
)
offered = agent._definition.capabilities
agent._definition.capabilities = lambda: replace(offered(), resume="--load-only" not in flags)
agent.option("mode", choices=[("quick", "Quick"), (STORY["mode"]["id"], STORY["mode"]["name"])])
agent.option("web", default=False)
notes: list[Any] = []


@agent.option("model", choices=["fast", "good"], default="good")
async def choose_model(session: Any, value: str) -> None:
    session.state["model"] = value


@agent.login("key", name="With a key")
async def log_in() -> None:
    return


@agent.logout
async def log_out() -> None:
    return


@agent.method("_accord/echo")
async def echo_params(params: Any) -> Any:
    return params


@agent.method("_accord/boom")
async def boom() -> None:
    raise ValueError("the secret cause")


@agent.notification("_accord/note")
async def take_note(params: Any) -> None:
    notes.append(params)


@agent.command("review", "Look again", hint="which file")
async def review(turn: Turn) -> None:
    await turn.say(f"reviewing {turn.arguments}")


@agent.prompt
async def act(turn: Turn) -> Any:
    block: Any = turn.content[0]
    what, *words = block.text.split()
    return await ACTS[what](turn, *words)


async def story(turn: Turn) -> None:
    for piece in STORY["thought"]:
        await turn.think(piece)
    await turn.plan(entries("pending"))
    await read(turn, **STORY["read"])
    await edit(turn, **STORY["edit"])
    await run(turn, **STORY["run"])
    await turn.plan(entries("completed"))
    for piece in STORY["message"]:
        await turn.say(piece)
    await turn.usage(**STORY["usage"], cost=0.5, currency="EUR")
    await turn.set_mode(STORY["mode"]["id"])
    await turn.notice("Mind the gap", severity="warning")
    await turn.set_title(STORY["title"])


def entries(status: str) -> list[PlanEntry]:
    return [PlanEntry(each["content"], each["priority"], status) for each in STORY["plan"]]


def unused(turn: Turn, id: str) -> str:
    """The id, numbered when the story is told again in the same session."""
    earlier = [known for known in turn.session.transcript.tool_calls if known.startswith(id)]
    return f"{id}-{len(earlier)}" if earlier else id


async def read(turn: Turn, id: str, title: str, kind: str) -> None:
    async with turn.tool_call(
        title, kind=kind, id=unused(turn, id), locations=[NAME], raw_input={"path": NAME}
    ) as call:
        await call.say(await turn.files.read(NAME, line=1, limit=2))
        await call.locate(NAME, 2)


async def edit(turn: Turn, id: str, title: str, kind: str) -> None:
    async with turn.tool_call(title, kind=kind, id=unused(turn, id), name="edit_file") as call:
        await call.diff(NAME, FILE["before"], FILE["after"])
        if await turn.allowed(call):
            await turn.files.write(NAME, FILE["after"])


async def run(turn: Turn, id: str, title: str, kind: str) -> None:
    async with turn.tool_call(title, kind=kind, id=unused(turn, id)) as call:
        ran = await turn.run(COMMAND["command"], *COMMAND["args"], env={"LANG": "C"}, call=call)
        await call.update(raw_output={"output": ran.output, "code": ran.code})


async def echo(turn: Turn) -> None:
    for block in turn.content[1:]:
        await turn.say(block)


async def many(turn: Turn, count: str) -> None:
    for number in range(int(count)):
        await turn.say(f"{number} ")


async def permit(turn: Turn, tool: str) -> None:
    async with turn.tool_call("Delete all", kind="delete", name=tool) as call:
        allowed = await turn.allowed(call)
    await turn.say("yes" if allowed else "no")


async def sleep(turn: Turn, seconds: str = "0.1") -> None:
    """Run what does not end by itself, for a while."""
    async with turn.tool_call("Sleep", kind="execute", id=unused(turn, "call-sleep")) as call:
        ran = await turn.run("sleep", "600", deadline=float(seconds), call=call)
    await turn.say(json.dumps(msgspec.to_builtins(ran)))


async def ask(turn: Turn) -> None:
    answer = await turn.ask(QUESTION["message"], {QUESTION["field"]: {"type": "string"}})
    await turn.say(json.dumps(answer))


async def open_address(turn: Turn) -> None:
    await turn.say(json.dumps(await turn.ask_to_open("Log in", "https://example.com/login", "e-1")))


async def missing(turn: Turn) -> None:
    try:
        await turn.files.read("none.txt")
    except FileNotFoundError:
        await turn.say("not found")


async def extend(turn: Turn, method: str) -> None:
    await turn.client.notify("_accord/highlight", {"line": 3})
    try:
        answer = {"result": await turn.client.request(method, {"from": ["a", "größe"]})}
    except RequestFailed as error:
        answer = {"error": {"code": error.code, "data": msgspec.to_builtins(error.data)}}
    await turn.say(json.dumps(answer))


async def wait(turn: Turn) -> None:
    async with turn.tool_call("Wait", id=unused(turn, "call-wait")) as call:
        await call.begin()
        await asyncio.Event().wait()


async def stop(turn: Turn, reason: Any) -> Any:
    return reason


async def fail(turn: Turn) -> None:
    raise ValueError("the secret cause")


async def tell_what_is_known(turn: Turn) -> None:
    """Of the client, of the session and of what was noted."""
    capabilities = msgspec.to_builtins(turn.client.capabilities)
    known = {
        "name": None if turn.client.info is None else turn.client.info.name,
        "can": sorted(name for name, value in capabilities.items() if value is True),
        "cwd": str(turn.cwd),
        "directories": [str(each) for each in turn.session.additional_directories],
        "options": turn.options,
        "model": turn.session.state.get("model"),
        "notes": notes,
        "meta": turn.meta,
    }
    await turn.say(json.dumps(known))


ACTS: dict[str, Any] = {
    "ask": ask,
    "echo": echo,
    "extend": extend,
    "fail": fail,
    "known": tell_what_is_known,
    "many": many,
    "missing": missing,
    "open": open_address,
    "permit": permit,
    "sleep": sleep,
    "stop": stop,
    "story": story,
    "wait": wait,
}


if __name__ == "__main__":
    sys.exit(run_watched(partial(agent.run, http=os.environ.get("ACCORD_HTTP"))))
