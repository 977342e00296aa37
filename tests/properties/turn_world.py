"""A client and an agent that both may vanish at any moment, and what must be true of them whatever happens."""

from __future__ import annotations

import asyncio
import copy
import tempfile
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from accord import Agent, Client, permissions
from accord.agent import Turn
from accord.client.reply import Reply
from accord.client.session import Session
from accord.errors import AccordError, ConnectionClosed, RequestCancelled, RequestFailed, StoreClosed
from accord.session import Transcript
from accord.session.content import Text, text_of
from accord.session.entities import Message, ToolCall
from accord.session.requests import PermissionAnswer, PermissionRequest, Prompt
from accord.session.updates import MessageChunk, Patch, StateChanged, ToolCallChanged
from accord.store import Claim, MemoryStore, Owner, SqliteStore, Store
from accord.transports.memory import MemoryTransport, memory_pair
from tests.virtual_clock import VirtualClockLoop

__all__ = ["KINDS", "Asked", "World"]

T = TypeVar("T")
Told = list[tuple[str, str]]

CWD = tempfile.gettempdir()
KINDS = ["talk", "ask", "hang", "fail", "open", "stubborn", "refuse", "listen"]
ENDS = {"fail": {"failed"}, "refuse": {"refusal"}, "hang": set[str](), "stubborn": set[str]()}


class MortalStore:
    """The store of a process that may die: what was appended and not committed waits here, and dies with it."""

    def __init__(self, store: Store, kept: dict[str, list[Patch]]) -> None:
        self.store = store
        self.kept = kept
        self.waiting: list[tuple[Claim, list[Patch]]] = []
        self.is_dead = False

    async def claim(self, session_id: str, owner: Owner, take_over: bool = False) -> Claim:
        """Whoever had it is dead, which only this world knows; and time passes without its being renewed."""
        claim = await self._do(lambda: self.store.claim(session_id, owner, True))
        return msgspec.structs.replace(claim, lease=None)

    async def release(self, claim: Claim) -> None:
        await self._do(lambda: self.store.release(claim))

    def append(self, claim: Claim, reports: Iterable[Patch]) -> None:
        if not self.is_dead:
            self.waiting.append((claim, copy.deepcopy(list(reports))))

    def die(self, survivors: int) -> None:
        """All that the process does from now on has no effect; of what it had not committed, the oldest survive."""
        del self.waiting[survivors:]
        self._write()
        self.is_dead = True

    async def commit(self, claim: Claim | None = None) -> None:
        await self._do(lambda: self.store.commit(claim))

    async def create(self, kept: Any) -> Any:
        return await self._do(lambda: self.store.create(kept))

    async def find(self, session_id: str) -> Any:
        return await self._do(lambda: self.store.find(session_id))

    async def update(self, claim: Claim, kept: Any) -> Any:
        return await self._do(lambda: self.store.update(claim, kept))

    async def read(self, session_id: str) -> AsyncIterator[Any]:
        self._write()
        pages = self.store.read(session_id)
        while (page := await self._do(lambda: anext(pages, None))) is not None:
            yield page

    async def aclose(self) -> None:
        await outside(self.store.aclose())

    async def _do(self, work: Any) -> Any:
        if self.is_dead:
            raise StoreClosed("of a process that is dead")
        self._write()
        result = await outside(work())
        if self.is_dead:
            raise StoreClosed("of a process that is dead")
        return result

    def _write(self) -> None:
        for claim, reports in self.waiting:
            self.kept.setdefault(claim.session_id, []).extend(copy.deepcopy(reports))
            self.store.append(claim, reports)
        self.waiting.clear()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)


async def outside(work: Awaitable[T]) -> T:
    """Await something that happens in another thread, for which a virtual clock has to wait."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualClockLoop)
    loop.outside += 1
    try:
        return await work
    finally:
        loop.outside -= 1


class Wire:
    """A target that either side can be cut off from."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.ours, self.theirs = memory_pair()

    def connect(self) -> MemoryTransport:
        self.serving = asyncio.create_task(self._agent.serve(self.theirs))
        return self.ours


class Asked:
    """A prompt, and what became of it."""

    def __init__(self, number: int, kind: str, session: str, is_read: bool) -> None:
        self.number = number
        self.kind = kind
        self.session = session
        self.is_read = is_read
        self.is_steered = False
        self.may_be_cancelled = False
        self.may_be_cut = False
        self.outcome: str | None = None
        self.reply: Reply | None = None
        self.call: Any = None
        self.changes: list[Any] = []
        self.said: list[str] = []
        self.reading: asyncio.Task[None] | None = None


class World:
    """`direct`: prompts are sent as they come, as by a client that holds none back; else by the SDK."""

    def __init__(self, version: Any, busy: Any, on_disk: bool, direct: bool, merge_seconds: float) -> None:
        self.version = version
        self.busy = busy
        self.direct = direct
        self.merge_seconds = merge_seconds
        self.folder = tempfile.TemporaryDirectory() if on_disk else None
        self.memory = MemoryStore()
        self.kept: dict[str, list[Patch]] = {}
        self.prompts: list[Asked] = []
        self.questions: list[asyncio.Future[str]] = []
        self.running: defaultdict[str, set[int]] = defaultdict(set)
        self.acknowledged: dict[str, Told] = {}
        self.base: dict[str, Told] = {}
        self.idles: Counter[str] = Counter()
        self.inserted: Counter[str] = Counter()
        self.idle_updates: list[Any] = []
        self.sessions: dict[str, Session | None] = {}
        self.client: Client | None = None
        self.servings: list[asyncio.Task[None]] = []
        self.was_cut = False
        self._asked_by: dict[Any, str] = {}

    async def start(self) -> None:
        self.agent, self.store = self._agent()
        await self._connect()
        for _ in range(2):
            assert self.client is not None
            session = await self.client.new_session(CWD)
            self.sessions[session.id] = session
            self.base[session.id] = []

    def _agent(self) -> tuple[Agent, MortalStore]:
        inner = self.memory if self.folder is None else SqliteStore(Path(self.folder.name) / "sessions.db")
        store = MortalStore(inner, self.kept)
        agent = Agent(
            "tester",
            store=store,  # pyright: ignore[reportArgumentType]  # the rest of it is found by name
            busy=self.busy,
            cancel_grace=1.0,
            merge_seconds=self.merge_seconds,
            slow_loop_seconds=None,
        )
        agent.prompt(self.work)
        return agent, store

    async def _connect(self) -> None:
        self.wire = Wire(self.agent)
        self.client = Client(
            self.wire,
            version=self.version,
            on_permission=self.question,
            on_update=self.idle_updates.append,
            on_frame=self.frame,
        )
        await self.client.open()
        self.servings.append(self.wire.serving)
        self._asked_by.clear()

    # What the agent does.

    async def work(self, turn: Turn) -> str | None:
        asked = self.prompts[int(turn.text.split()[1])]
        self.running[asked.session].add(asked.number)
        try:
            assert self.running[asked.session] == {asked.number}, "two turns at once"
            await self.say(turn, asked, "<")
            reason = await self.act(turn, asked)
            await self.say(turn, asked, f"{asked.number}>")
            return reason
        finally:
            self.running[asked.session].discard(asked.number)

    async def act(self, turn: Turn, asked: Asked) -> str | None:
        match asked.kind:
            case "talk":
                for word in ["a", "b", "c", "d"]:
                    await self.say(turn, asked, word)
                    await asyncio.sleep(0)
                await turn.think("hm")
            case "ask":
                async with turn.tool_call("Ask", kind="edit") as call:
                    await turn.allowed(call)
            case "hang":
                async with turn.tool_call("Hang") as call:
                    await call.say("...")
                    await asyncio.Event().wait()
            case "fail":
                async with turn.tool_call("Fail"):
                    raise ValueError("broken on purpose")
            case "open":
                await turn.tool_call("Left open").__aenter__()
            case "stubborn":
                await self.resist(asked)
            case "refuse":
                return "refusal"
            case _:
                await self.listen(turn)
        return None

    async def resist(self, asked: Asked) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.running[asked.session].discard(asked.number)  # it is left behind: the next turn need not wait for it
            await asyncio.sleep(5)

    async def listen(self, turn: Turn) -> None:
        for _ in range(20):
            steered = await turn.next_prompt()
            if steered is not None:
                asked = self.prompts[int(text_of(steered).split()[1])]
                asked.is_steered = True
            await asyncio.sleep(0.01)

    async def say(self, turn: Turn, asked: Asked, text: str) -> None:
        asked.said.append(text)
        await turn.say(text)

    # What the user does.

    async def prompt(self, session_id: str, kind: str, is_read: bool) -> None:
        session = self.sessions[session_id]
        assert session is not None
        asked = Asked(len(self.prompts), kind, session_id, is_read)
        self.prompts.append(asked)
        text = f"{kind} {asked.number}"
        if self.direct:
            words = Prompt(session_id=session_id, content=[Text(text)])
            connection = session._open.connection
            asked.call = connection.peer.send_request(*connection.dialect.request_to_wire(words))
            asked.reading = asyncio.create_task(self._answered(asked))
        else:
            asked.reply = session.prompt(text)
            if is_read:
                asked.reading = asyncio.create_task(self._read(asked))

    async def _answered(self, asked: Asked) -> None:
        try:
            asked.outcome = msgspec.json.decode(await asked.call).get("stopReason", "inserted")
        except ConnectionClosed:
            asked.outcome = "closed"
        except RequestCancelled:
            asked.outcome = "withdrawn"
        except RequestFailed as error:
            asked.outcome = "busy" if "busy" in str(error) else "failed"

    async def _read(self, asked: Asked) -> None:
        assert asked.reply is not None
        try:
            async for change in asked.reply:
                asked.changes.append(change)
            asked.outcome = asked.reply.stop_reason
        except ConnectionClosed:
            asked.outcome = "closed"
        except RequestFailed:
            asked.outcome = "failed"
        except AccordError as error:
            asked.outcome = repr(error)

    async def question(self, asked: PermissionRequest) -> PermissionAnswer:
        answered: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.questions.append(answered)
        kind = await answered
        if kind == "cancelled":
            return permissions.cancelled()
        return PermissionAnswer(
            outcome="selected", option_id=next(option.id for option in asked.options if option.kind == kind)
        )

    def open_questions(self) -> list[asyncio.Future[str]]:
        return [question for question in self.questions if not question.done()]

    async def cancel(self, session_id: str) -> None:
        session = self.sessions[session_id]
        assert session is not None
        for asked in self.unfinished(session_id):
            asked.may_be_cancelled = True
        await session.cancel()

    async def withdraw(self, asked: Asked) -> None:
        asked.may_be_cancelled = True
        if self.direct:
            asked.call.cancel()
        elif asked.reply is not None:
            # As `session.cancel` does, if it is the one that runs.
            for each in self.unfinished(asked.session):
                each.may_be_cancelled = True
            await asked.reply.cancel()

    def unfinished(self, session_id: str) -> list[Asked]:
        return [asked for asked in self.prompts if asked.session == session_id and not self.is_over(asked)]

    def is_over(self, asked: Asked) -> bool:
        return asked.reply.is_over if asked.reply is not None else asked.outcome is not None

    # What goes over the wire, seen by the client before it takes it in.

    def frame(self, direction: str, frame: bytes) -> None:
        message = msgspec.json.decode(frame)
        method = message.get("method")
        if direction == "sent":
            if method == "session/prompt":
                self._asked_by[message["id"]] = message["params"]["sessionId"]
            return
        if method == "session/request_permission":
            self._acknowledge(message["params"]["sessionId"])
        elif method == "session/update":
            update = message["params"]["update"]
            if update["sessionUpdate"] == "state_update" and update.get("state") == "idle" and "stopReason" in update:
                self.idles[message["params"]["sessionId"]] += 1
                self._acknowledge(message["params"]["sessionId"])
        elif "result" in message and message["id"] in self._asked_by:
            session_id = self._asked_by.pop(message["id"])
            self.inserted[session_id] += "stopReason" not in message["result"]
            self._acknowledge(session_id)

    def _acknowledge(self, session_id: str) -> None:
        session = self.sessions.get(session_id)
        if session is not None:
            self.acknowledged[session_id] = joined_up(self.base[session_id] + self.told(session.transcript))

    def told(self, transcript: Transcript) -> Told:
        """All that was said and done, in order; where prompts were sent directly, a client of v1 has not seen them."""
        told: Told = []
        for place in transcript.timeline:
            if isinstance(place, Message) and not (self.direct and place.role == "user"):
                told.append((place.role, place.text))
            elif isinstance(place, ToolCall):
                told.append(("call", place.id))
        return joined_up(told)

    # The ends of things.

    async def crash_client(self) -> None:
        await self._cut()
        await self.wire.ours.aclose()
        await self._gone()

    async def crash_agent(self, survivors: int) -> None:
        await self._cut()
        self.store.die(survivors)
        await self.wire.theirs.aclose()
        await self._gone()
        if self.folder is not None:
            await self.store.aclose()
        self.agent, self.store = self._agent()

    async def _cut(self) -> None:
        self.was_cut = True
        for asked in self.prompts:
            asked.may_be_cut = asked.may_be_cut or not self.is_over(asked)

    async def _gone(self) -> None:
        assert self.client is not None
        await self.client.wait_closed()
        await self.client.aclose()
        await asyncio.wait([self.wire.serving])
        assert self.client._agent_requests._questions == []
        await self._all_have_ended()
        self.client = None
        self.sessions = dict.fromkeys(self.sessions)

    async def _all_have_ended(self) -> None:
        for asked in self.prompts:
            if asked.reply is not None and asked.reading is None:
                asked.reading = asyncio.create_task(self._read(asked))
            if asked.reading is not None:
                await asked.reading

    async def close(self, session_id: str) -> None:
        session = self.sessions[session_id]
        assert session is not None
        for asked in self.unfinished(session_id):
            asked.may_be_cancelled = asked.may_be_cut = True
        self.was_cut = True
        await session.close()
        self.sessions[session_id] = None

    async def take_up(self, session_id: str, load: bool) -> None:
        if self.client is None:
            await self._connect()
        assert self.client is not None
        self.idle_updates.clear()
        take_up = self.client.load_session if load else self.client.resume_session
        session = self.sessions[session_id] = await take_up(session_id, CWD)
        stored = self._stored(session_id)
        acknowledged = self.acknowledged.get(session_id, [])
        assert begins(acknowledged, stored), (acknowledged, stored)
        now = session.transcript
        assert all(call.finished for call in now.tool_calls.values())
        if load:
            assert self.told(now) == stored
            self.base[session_id] = []
            assert all(update.replayed for update in self.idle_updates if update.session is session)
        else:
            assert not now.messages
            assert not now.tool_calls
            self.base[session_id] = stored

    def _stored(self, session_id: str) -> Told:
        transcript = Transcript()
        for report in copy.deepcopy(self.kept.get(session_id, [])):
            transcript.apply(report)
        return self.told(transcript)

    async def finish(self) -> None:
        for session_id, session in list(self.sessions.items()):
            if session is None:
                await self.take_up(session_id, load=True)
        for _ in range(20):
            for session_id in self.sessions:
                await self.cancel(session_id)
            await asyncio.sleep(2)
        assert not any(self.running.values()), f"runs for ever: {self.running}"
        assert all(map(self.is_over, self.prompts)), [asked.kind for asked in self.prompts if not self.is_over(asked)]
        await asyncio.sleep(10)
        await self._all_have_ended()
        self.check()
        self.check_quiet()
        assert self.client is not None
        await self.client.aclose()
        await asyncio.wait([self.wire.serving])
        await asyncio.sleep(10)
        if self.folder is not None:
            await self.store.aclose()
            self.folder.cleanup()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, left

    # What must be true.

    def check(self) -> None:
        """At any time."""
        for asked in self.prompts:
            if asked.outcome is not None and (asked.reading is None or asked.reading.done()):
                self._check_outcome(asked)
                if asked.reply is not None:
                    self._check_changes(asked)

    def _check_outcome(self, asked: Asked) -> None:
        expected = set(ENDS.get(asked.kind, {"end_turn"}))
        if asked.may_be_cancelled:
            expected.add("cancelled")
        if asked.may_be_cut:
            expected.add("closed")
        if self.direct:
            if asked.may_be_cancelled:
                expected |= {"withdrawn"}
            if self.version == 2:
                expected = {"inserted", "withdrawn", "busy", "closed"} & (expected | {"inserted", "busy"})
            if self.busy == "refuse":
                expected.add("busy")
            if asked.is_steered:
                expected |= {"end_turn"}
        assert asked.outcome in expected, (asked.outcome, expected, asked.kind)

    def _check_changes(self, asked: Asked) -> None:
        """All of the turn's updates came before its end."""
        said = "".join(change.text for change in asked.changes if is_spoken(change))
        assert "".join(asked.said).startswith(said)
        if asked.outcome not in ("closed", "cancelled"):
            assert said == "".join(asked.said)
        if asked.outcome != "closed":
            calls = {change.call.id: change.call for change in asked.changes if isinstance(change, ToolCallChanged)}
            assert all(call.finished for call in calls.values())
            states = [change.state for change in asked.changes if isinstance(change, StateChanged)]
            assert not states or states[-1].state == "idle"
            assert [state.state for state in states].count("idle") == bool(states)

    def check_quiet(self) -> None:
        """When nothing runs any more."""
        assert not self.open_questions()
        assert self.client is not None
        assert self.client._agent_requests._questions == []
        for session in self.sessions.values():
            assert session is not None
            assert not session.is_busy
            assert all(call.finished for call in session.transcript.tool_calls.values())
        if not self.direct:
            assert not [update for update in self.idle_updates if is_spoken(update.update) and not update.replayed]
        elif self.version == 2:
            turns = self.inserted.total() - sum(asked.is_steered for asked in self.prompts)
            assert self.idles.total() == turns or (self.was_cut and self.idles.total() < turns)


def is_spoken(change: Any) -> bool:
    return isinstance(change, MessageChunk) and change.message.role == "agent"


def joined_up(told: Told) -> Told:
    """Where prompts are left out, what was said before and after one is one text."""
    together: Told = []
    for role, text in told:
        if role != "call" and together and together[-1][0] == role:
            together[-1] = (role, together[-1][1] + text)
        else:
            together.append((role, text))
    return together


def begins(earlier: Told, later: Told) -> bool:
    """Whether all of the earlier is in the later, in the same order, with nothing before or between."""
    if len(earlier) > len(later):
        return False
    for number, (one, other) in enumerate(zip(earlier, later, strict=False)):
        is_last = number == len(earlier) - 1
        same = one[0] == other[0] and (other[1].startswith(one[1]) if is_last else one[1] == other[1])
        if not same:
            return False
    return True
