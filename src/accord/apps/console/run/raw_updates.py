"""`accord run --format v1|v2`: the updates of the protocol itself, a `session/update` notification per line."""

from __future__ import annotations

from typing import Literal

import msgspec

from accord.apps.console.run.output_format import Outcome, Reporter, describe_stop
from accord.apps.console.run.output_stream import StandardStreams
from accord.apps.console.sanitizer import escape_json
from accord.client.session import Session
from accord.dialects.negotiation import load_dialect
from accord.jsonrpc.codec import encode
from accord.jsonrpc.messages import Notification
from accord.session.capabilities import ClientCapabilities
from accord.session.memory_estimate import weigh
from accord.session.replay import replay
from accord.session.requests import InitializeResult
from accord.session.updates import StateChanged, Update

_EARLY_BYTES = 4 * 1024 * 1024
_HISTORY = ("user_message", "agent_message", "agent_thought", "tool_call", "plan", "terminal", "compaction")


class _Update(msgspec.Struct, rename="camel"):
    session_update: str


class _Params(msgspec.Struct, rename="camel"):
    session_id: str
    update: _Update


class _Frame(msgspec.Struct):
    method: str
    params: _Params


class RawUpdatePrinter(Reporter):
    """As the agent sent them where it speaks the version that was asked for, translated otherwise."""

    def __init__(self, outputs: StandardStreams, version: Literal["v1", "v2"]) -> None:
        self._outputs = outputs
        self._dialect = load_dialect(version)(
            client=ClientCapabilities(boolean_options=True, notices=True, compaction=True)
        )
        self._session_id: str | None = None
        self._is_spoken = False
        self._early: list[Update] = []
        self._early_frames: list[bytes] = []
        self._early_room = _EARLY_BYTES

    def started(self, agent: InitializeResult, session: Session, *, resumed: bool) -> None:
        self._is_spoken = session.dialect == self._dialect.name
        self._session_id = session.id
        for frame in self._early_frames:
            self._received(frame, with_history=not resumed)
        settings = [each for each in replay(session.transcript, 0) if not isinstance(each, StateChanged)]
        for change in settings if resumed else self._early:
            self.changed(change)
        self._early.clear()
        self._early_frames.clear()

    def changed(self, change: Update) -> None:
        if self._session_id is None:
            self._early_room -= weigh(change.patch)
            if self._early_room >= 0:
                self._early.append(change)
            return
        if self._is_spoken:
            return
        for params in self._dialect.update_to_wire(self._session_id, change):
            self._write(encode(Notification("session/update", params)))

    def frame(self, direction: Literal["sent", "received"], frame: bytes) -> None:
        if direction == "received" and b'"session/update"' in frame:
            self._received(frame, with_history=True)

    def _received(self, frame: bytes, *, with_history: bool) -> None:
        if self._session_id is None:
            self._early_room -= len(frame)
            if self._early_room >= 0:
                self._early_frames.append(frame)
        elif self._is_spoken and _is_update(frame, self._session_id, with_history=with_history):
            self._write(frame)

    def ended(self, outcome: Outcome) -> None:
        if stopped := describe_stop(outcome):
            self._outputs.err.write(f"{stopped}\n")

    def _write(self, frame: bytes) -> None:
        self._outputs.out.write_bytes(escape_json(frame.strip().replace(b"\n", b" ")) + b"\n")


def _is_update(frame: bytes, session_id: str, *, with_history: bool) -> bool:
    try:
        said = msgspec.json.decode(frame, type=_Frame)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    is_history = said.params.update.session_update.startswith(_HISTORY)
    return said.method == "session/update" and said.params.session_id == session_id and (with_history or not is_history)
