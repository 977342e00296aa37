"""An agent to test clients with: it says anything at all, and by itself only what a client needs to begin."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

import msgspec

from accord.dialects.dialect import Dialect
from accord.dialects.negotiation import ProtocolVersion, accepted
from accord.session.transcript import Transcript
from accord.session.updates import Patch
from accord.testing.scripted_end import PATIENCE, AgentEnd, ReceivedFrame

_OFFERED: dict[str, Any] = {
    "loadSession": True,
    "promptCapabilities": {"embeddedContext": True},
    "sessionCapabilities": {"resume": {}, "list": {}, "close": {}, "delete": {}, "fork": {}},
}
_HANDSHAKES: dict[Any, dict[str, Any]] = {
    1: {"protocolVersion": 1, "agentCapabilities": _OFFERED},
    2: {"protocolVersion": 2, "info": {"name": "scripted", "version": "1"}, "capabilities": {"session": {}}},
    "2-draft": {"protocolVersion": 2, "agentCapabilities": _OFFERED},
}


class ScriptedAgent(AgentEnd):
    """A target for `Client`, or with `run()` a program.

    By itself it answers `initialize`, in the version given or the one that the client offers, and `session/new`. All
    else waits until the test answers it, unless `on()` says how. `handshake` is laid over the answer to `initialize`.
    """

    def __init__(self, version: ProtocolVersion = "auto", *, patience: float = PATIENCE, **handshake: Any) -> None:
        super().__init__(patience)
        self.version: ProtocolVersion = version
        self.session_id = ""
        """The session that was opened or spoken of last: the one that `say` and `update` mean."""
        self._handshake = handshake
        self._opened = 0
        self._turns = 0
        self._dialect: Dialect | None = None
        self._transcripts: dict[str, Transcript] = {}
        self.on("initialize", self._initialize)
        self.on("session/new", self._new_session)

    def update(self, update: Any, /, *, session_id: str | None = None, **members: Any) -> None:
        """Report something: an update's tag and members, or the whole as a dict or a type of `accord.schema`."""
        said = {"sessionUpdate": update, **members} if isinstance(update, str) else update
        self.notify("session/update", {"sessionId": session_id or self.session_id, "update": said})

    def say(self, text: str, *, session_id: str | None = None, **members: Any) -> None:
        """Send a piece of a message; in v2, where each needs the id of its message, there is one for each turn."""
        if self.version == 2:
            members.setdefault("messageId", f"message-{self._turns}")
        content = {"type": "text", "text": text}
        self.update("agent_message_chunk", session_id=session_id, content=content, **members)

    def tell(self, report: Patch, *, session_id: str | None = None) -> None:
        """Report something in words of `accord.session.updates`, which become what this version says for it."""
        if self._dialect is None:
            raise RuntimeError("no version was agreed on: words can be told after initialize")
        session = session_id or self.session_id
        change = self._transcripts.setdefault(session, Transcript()).apply(report)
        for params in self._dialect.update_to_wire(session, change):
            self.notify("session/update", params)

    def begin(self, asked: ReceivedFrame) -> None:
        """Take up a prompt as its version does: in v2 answer it and say that work has begun, else do nothing."""
        if self.version == 2 and not asked.is_answered:
            self._turns += 1
            message = f"user-{self._turns}"
            asked.answer({"messageId": message})
            self.update("user_message", session_id=asked.session_id, messageId=message, content=asked.params["prompt"])
            self.update("state_update", session_id=asked.session_id, state="running")

    def finish(self, asked: ReceivedFrame, stop_reason: str = "end_turn") -> None:
        """End the turn of a prompt as its version does."""
        if self.version == 2:
            self.begin(asked)
            self.update("state_update", session_id=asked.session_id, state="idle", stopReason=stop_reason)
        else:
            asked.answer({"stopReason": stop_reason})

    def reply(self, *texts: str, stop_reason: str = "end_turn") -> Callable[[ReceivedFrame], None]:
        """An answer for `on("session/prompt", ...)`: say this and end the turn."""

        def replying(asked: ReceivedFrame) -> None:
            self.begin(asked)
            for text in texts:
                self.say(text, session_id=asked.session_id)
            self.finish(asked, stop_reason)

        return replying

    def _heard(self, heard: ReceivedFrame) -> None:
        self.session_id = heard.session_id or self.session_id
        super()._heard(heard)

    def answering(self, result: Any) -> None:
        """Called with each result before it is sent: one may open a session."""
        if isinstance(result, dict) and isinstance(opened := cast("dict[str, Any]", result).get("sessionId"), str):
            self.session_id = opened

    def _initialize(self, asked: ReceivedFrame) -> Any:
        offered = 2 if asked.params.get("protocolVersion") != 1 else 1
        if self.version == "auto":
            self.version = "2-draft" if offered == 2 and "info" not in asked.params else offered
        answer = {**_HANDSHAKES[self.version], **self._handshake}
        with suppress(Exception):  # a handshake that is nonsense on purpose
            self._dialect, _ = accepted(msgspec.Raw(msgspec.json.encode(answer)))
        return answer

    def _new_session(self, asked: ReceivedFrame) -> Any:
        self._opened += 1
        return {"sessionId": f"session-{self._opened}"}
