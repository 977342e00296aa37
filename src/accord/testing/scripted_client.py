"""A client to test agents with: it sends anything at all, and keeps everything that comes back, in order."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Self

import msgspec

from accord.client.target import AnyTarget, target_of
from accord.dialects.dialect import Dialect
from accord.dialects.negotiation import ProtocolVersion, accepted, offer
from accord.errors import AccordError, ConnectionClosed
from accord.session.capabilities import ClientCapabilities, Implementation
from accord.testing.scripted_end import PATIENCE, ReceivedFrame, ScriptedEnd, SentRequest

_INFO = Implementation(name="scripted", version="1")


class ScriptedClient(ScriptedEnd):
    """A connection with an agent, as long as its `async with` block; nothing is sent by itself.

    The target is what a `Client` takes: an `Agent` in memory, a command line. Requests of the agent wait until the
    test answers them, unless `on()` says how.
    """

    side = "client"

    def __init__(
        self,
        target: AnyTarget,
        version: ProtocolVersion = "auto",
        *,
        capabilities: ClientCapabilities | None = None,
        patience: float = PATIENCE,
    ) -> None:
        super().__init__(patience)
        self.version: ProtocolVersion = version
        self.session_id = ""
        """The session that was opened last: the one that `prompt` and `cancel` mean."""
        self._capabilities = capabilities
        self._target = target_of(target)
        self._greeted: SentRequest | None = None
        self._dialect: Dialect | None = None

    async def __aenter__(self) -> Self:
        self._transport = self._target.connect()
        await self._transport.open(self)
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()
        if exception[0] is None:
            self.check()

    async def aclose(self) -> None:
        """Hang up."""
        if self.closed is None:
            self.closed = ConnectionClosed("closed by this side", kind="closed_here")
            self.recording.end("client", self.closed)
        await self._end_handlers()
        if self._transport is not None:
            await self._transport.aclose()

    async def initialize(self, **members: Any) -> ReceivedFrame:
        """Shake hands, in the version given; members are laid over the params."""
        params = {**offer(self.version, _INFO, self._capabilities), **members}
        self._greeted = self.ask("initialize", params)
        answer = await self._greeted
        with suppress(AccordError):  # whatever it is, the test asked for it
            self._dialect, _ = accepted(msgspec.Raw(msgspec.json.encode(answer.result)), self.version)
        return answer

    async def new_session(self, cwd: str = "/work", **members: Any) -> str:
        """Open a session, after a handshake if there was none; the session's id."""
        if self._greeted is None:
            await self.initialize()
        answer = await self.ask("session/new", {"cwd": cwd, "mcpServers": [], **members})
        if answer.error is not None:
            raise AssertionError(f"session/new was refused\n{self._story()}")
        self.session_id = answer.result["sessionId"]
        return self.session_id

    def prompt(self, text: str, *, session_id: str | None = None) -> SentRequest:
        """Send a prompt; await what this returns for its answer, or give it to `stop_reason`."""
        content = [{"type": "text", "text": text}]
        return self.ask("session/prompt", {"sessionId": session_id or self.session_id, "prompt": content})

    async def stop_reason(self, prompt: SentRequest) -> str:
        """Wait for the end of a turn, wherever its version tells it: in the answer, or in the idle that follows."""
        answer = await prompt
        if answer.error is not None:
            raise AssertionError(f"the prompt failed\n{self._story()}")
        if self._dialect is None or self._dialect.result_ends_turn:
            return answer.result["stopReason"]
        idle = await self.next("session/update", where=_is_idle)
        return idle.params["update"]["stopReason"]

    def cancel(self, session_id: str | None = None) -> None:
        """Send `session/cancel`."""
        self.notify("session/cancel", {"sessionId": session_id or self.session_id})

    def updates(self, tag: str | None = None, session_id: str | None = None) -> list[dict[str, Any]]:
        """The updates that came so far, of one kind or of all."""
        return [
            heard.params["update"]
            for heard in self.calls("session/update")
            if session_id in (None, heard.session_id) and tag in (None, heard.params["update"].get("sessionUpdate"))
        ]

    def said(self, session_id: str | None = None) -> str:
        """What the agent has said so far, piece by piece."""
        return "".join(each["content"].get("text", "") for each in self.updates("agent_message_chunk", session_id))


def _is_idle(heard: ReceivedFrame) -> bool:
    update = heard.params.get("update", {})
    return update.get("sessionUpdate") == "state_update" and update.get("state") == "idle" and "stopReason" in update
