"""A recorded conversation, played again: the agent's side for a client, or the client's side against an agent."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from typing import Any, cast

from accord.client.target import AnyTarget
from accord.testing.comparison import Account, differences, renamed, told_apart
from accord.testing.frames import Peek, frame_of, peek
from accord.testing.recording import Recording
from accord.testing.scripted_client import ScriptedClient
from accord.testing.scripted_end import PATIENCE, AgentEnd, ReceivedFrame

__all__ = ["ReplayedAgent", "replay"]


async def replay(
    recording: Recording, target: AnyTarget, *, ignore: Collection[str] = (), patience: float = PATIENCE
) -> Recording:
    """Say to an agent what the client said, and raise an AssertionError if it answers otherwise than it did.

    Generated ids, times and how a text is cut don't count, nor do members whose names are in `ignore`. Returns what was
    said this time.
    """
    client = ScriptedClient(target, patience=patience)
    async with client:
        playing = _Playing(client, ignore)
        for entry in recording.entries:
            if entry.closed is not None:
                break
            if entry.sender == "client":
                await playing.catch_up()
                playing.send(entry.frame)
            else:
                playing.recorded.add("agent", entry.frame)
        await playing.catch_up(to_the_end=True)
    return client.recording


class _Playing:
    """The client's side, and what the agent has said: before, and now."""

    def __init__(self, client: ScriptedClient, ignore: Collection[str]) -> None:
        self.recorded = Account(ignore)
        self._now = Account(ignore)
        self._client = client
        self._taken = 0

    def send(self, frame: bytes) -> None:
        """What the client said, with the ids of now."""
        seen = peek(frame)
        self.recorded.add("client", frame)
        sent = frame_of(self._translated(seen)) if isinstance(seen.json, dict) else frame
        self._now.add("client", sent)
        self._client.send(sent)

    async def catch_up(self, *, to_the_end: bool = False) -> None:
        """Wait until the agent has said as much as it had said here."""
        try:
            await self._client.wait_until(lambda: self._has_caught_up(to_the_end) or None, "what the agent said next")
        except AssertionError as error:
            raise self._different(str(error).splitlines()[0]) from None

    def _has_caught_up(self, to_the_end: bool) -> bool:
        for heard in self._client.received[self._taken :]:
            self._now.add("agent", heard.raw)
            self._taken += 1
        before, now = self.recorded.statements["agent"], self._now.statements["agent"]
        if told_apart(before, now) is not None or len(now) > len(before):
            raise self._different("the agent says something else than it did")
        return before == now if to_the_end else len(now) == len(before)

    def _different(self, why: str) -> AssertionError:
        before, now = self.recorded.statements["agent"], self._now.statements["agent"]
        return AssertionError(f"{why}\n{differences(before, now)}")

    def _translated(self, seen: Peek) -> dict[str, Any]:
        message = cast("dict[str, Any]", renamed(seen.json, self._name_now))
        if seen.is_answer:
            number = self.recorded.number_of("agent", seen.id)
            message["id"] = seen.id if number is None else self._now.id_of("agent", number)
        return message

    def _name_now(self, member: str, value: str) -> str | None:
        name = self.recorded.name_of(member, value)
        return None if name is None else self._now.value_of(name)


class ReplayedAgent(AgentEnd):
    """A target for `Client`: says what the agent said, each time as soon as the client has said what came before.

    What the client says is matched by method and by the id that it answers; `check()` raises if the rest differs, or if
    something recorded was never said. A request that the recording doesn't have is refused.
    """

    def __init__(self, recording: Recording, *, ignore: Collection[str] = (), patience: float = PATIENCE) -> None:
        super().__init__(patience)
        self._played = recording
        self._ignore = ignore
        self._start()

    def begun(self) -> None:
        """Called when a connection begins."""
        self._start()
        self._begin(self._play())

    def check(self) -> None:
        """Raises an AssertionError if the client has not said what it said when it was recorded."""
        super().check()
        before, now = self._recorded.statements["client"], self._now.statements["client"]
        if before != now:
            raise AssertionError(f"the client says something else than it did\n{differences(before, now)}")
        if self._expected:
            unsaid = ", ".join(str(each) for each in self._expected[:3])
            raise AssertionError(f"the client has not said: {unsaid}\n{self._story()}")

    def _start(self) -> None:
        self._entries = list(self._played.entries)
        self.received.clear()
        self._recorded, self._now = Account(self._ignore), Account(self._ignore)
        self._ids: list[tuple[Any, Any]] = []
        said = [entry.frame for entry in self._entries if entry.sender == "client" and entry.closed is None]
        self._expected = [peek(frame) for frame in said]

    async def _play(self) -> None:
        with suppress(AssertionError):  # the client hung up, or says something else: `check` tells what
            await self._say_and_hear()

    async def _say_and_hear(self) -> None:
        for entry in self._entries:
            if entry.sender == "client":
                if entry.closed is None:
                    await self._hear(self._expected[0])
            elif entry.closed is not None:
                self.die(entry.exit_code, entry.stderr, entry.closed)
            else:
                self._recorded.add("agent", entry.frame)
                said = self._translated(peek(entry.frame))
                self._now.add("agent", said)
                self.send(said)

    async def _hear(self, expected: Peek) -> None:
        def fits(heard: ReceivedFrame) -> bool:
            if expected.is_answer:
                return heard.is_answer and heard.id == expected.id
            return heard.method == expected.method and (expected.is_json or heard.raw == expected.raw)

        heard = await self.next(where=fits)
        self._expected.pop(0)
        if expected.is_request:
            self._ids.append((expected.id, heard.id))
        self._recorded.add("client", expected.raw)
        self._now.add("client", heard.raw)

    def _heard(self, heard: ReceivedFrame) -> None:
        waiting = sum(1 for each in self.received if each.method == heard.method and not each.is_taken)
        known = sum(1 for each in self._expected if each.method == heard.method)
        if heard.is_request and waiting > known:
            self._failed(heard, LookupError(f"{heard} is not in the recording"))

    def _translated(self, seen: Peek) -> bytes:
        if not seen.is_answer:
            return seen.raw
        ours = next((now for before, now in reversed(self._ids) if before == seen.id), seen.id)
        return seen.raw if ours == seen.id else frame_of({**seen.json, "id": ours})
