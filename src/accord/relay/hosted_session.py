"""One session, the process that has it open, and the clients that are attached to it.

Laws:

- Every client hears every update once, in order. One that attaches later gets the record first.
- Another client's prompt is told as a `user_message_chunk`, unless the agent echoes prompts itself.
- A turn does not belong to a connection: it goes on when its client has left.
- Without a process the session is asleep; its clients notice nothing of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, Raw, UnsetType

from accord.jsonrpc.error_codes import INTERNAL_ERROR, METHOD_NOT_FOUND
from accord.relay.agent_process import AgentProcess
from accord.relay.client_end import ClientEnd
from accord.relay.envelope import (
    Envelope,
    encode,
    error_response,
    notification_frame,
    read_members,
)
from accord.relay.handshake import Handshake
from accord.relay.questions import ELICITATION, PERMISSION, Question, answer_facts
from accord.relay.session_records import SessionRecord
from accord.relay.status import SessionState, SessionStatus

_UPDATE = "session/update"
_UNRECORDED = ("state_update", "notice")
_BESIDE_A_TURN = (
    "available_commands_update", "current_mode_update", "config_option_update", "session_info_update", "usage_update",
    "state_update",
)  # fmt: skip  # an agent that echoes prompts may send these before the echo
_NEEDS_CAPABILITY = {"fs/read_text_file", "fs/write_text_file"}


class _Update(msgspec.Struct, rename="camel", gc=False):
    session_update: str = ""
    state: Raw | UnsetType = UNSET
    config_options: Raw | UnsetType = UNSET
    current_mode_id: Raw | UnsetType = UNSET
    available_commands: Raw | UnsetType = UNSET


class _UpdateParams(msgspec.Struct, gc=False):
    update: _Update


_read_update = msgspec.json.Decoder(_UpdateParams).decode


class UnechoedPrompt(NamedTuple):
    """A prompt that the agent has not echoed yet."""

    client: ClientEnd
    blocks: list[Raw]


class HostedSession:
    """A session that is open. `on_answer` gets the facts of an answered permission request, for the audit log."""

    def __init__(
        self,
        id: str,
        owner: str | None,
        handshake: Handshake,
        record: SessionRecord,
        on_answer: Callable[[ClientEnd, str, dict[str, Any]], None],
    ) -> None:
        self.id = id
        self.owner = owner
        self.handshake = handshake
        self.record = record
        self._on_answer = on_answer
        self.process: AgentProcess | None = None
        self.clients: dict[ClientEnd, None] = {}
        self.open_params: dict[str, Raw] = {}
        """The params that opened it: its directory and MCP servers."""
        self.setup: dict[str, Raw] = {}
        """The members of the result that opened it, kept up to date."""
        self.is_opening = False
        self.is_dropped = False
        """Whether it is not open any more, for nobody."""
        self.waiting: list[Callable[[], None]] = []
        """Called once it is open, or can't be."""
        self.loader: ClientEnd | None = None
        """The client that alone gets the updates, which are the history."""
        self.is_mute = False
        """Whether updates are dropped, because all clients have them."""
        self.used_at = time.monotonic()
        self.since = time.time()
        self._prompter: ClientEnd | None = None
        self._prompts = 0
        self._is_busy = False
        self._last_state: bytes | None = None
        self._last_commands: bytes | None = None
        self._unechoed: list[UnechoedPrompt] = []
        self._questions: dict[bytes, Question] = {}
        self._direct: dict[bytes, tuple[ClientEnd, int]] = {}

    @property
    def is_running(self) -> bool:
        return self._prompts > 0 or self._is_busy

    @property
    def has_work(self) -> bool:
        """Whether its process must not be ended now."""
        open_requests = 0 if self.process is None else self.process.open_requests
        return self.is_running or self.is_opening or self.loader is not None or open_requests > 0

    @property
    def state(self) -> SessionState:
        if self.process is None:
            return "asleep"
        return "waiting" if self._questions else "running" if self.is_running else "idle"

    def status(self) -> SessionStatus:
        return SessionStatus(
            id=self.id,
            user=self.owner,
            pid=None if self.process is None else self.process.pid,
            state=self.state,
            since=self.since,
            clients=tuple(each.id for each in self.clients),
        )

    def opened(self, result: Raw | UnsetType) -> None:
        """The agent has opened it, with this result."""
        self.setup = {**read_members(result), **self.setup}
        self.setup.pop("sessionId", None)
        self.is_opening = False
        self.touch()

    def touch(self) -> None:
        """It was used now."""
        self.used_at = time.monotonic()

    def attach(self, client: ClientEnd) -> None:
        """Send it everything from now on, and ask it what is open."""
        self.clients[client] = None
        self.touch()
        self.check_flow()

    def ask_again(self, client: ClientEnd) -> None:
        """Ask a client that has attached what the user was asked."""
        for question in list(self._questions.values()):
            question.ask(client)

    def leave(self, client: ClientEnd) -> None:
        """Send it nothing more. Requests that only it could answer fail."""
        self.clients.pop(client, None)
        if self._prompter is client:
            self._prompter = None
        for question in list(self._questions.values()):
            question.leave(client)
        for key, (asked, _) in list(self._direct.items()):
            if asked is client:
                del self._direct[key]
                self._respond(key, error_response(INTERNAL_ERROR, "the client that was asked has left"))
        self.touch()
        self.check_flow()

    def send_history(self, client: ClientEnd, *, whole: bool) -> None:
        """Send the record, if it is wanted, and the current state."""
        for frame in self.record.frames if whole else ():
            client.send(frame)
        if self._last_state is not None:
            client.send(self._last_state)

    def send_commands(self, client: ClientEnd) -> None:
        """Send the commands to a client that has not got the record; they follow the response."""
        if self._last_commands is not None:
            client.send(self._last_commands)

    def prompted(self, client: ClientEnd, params: Raw | UnsetType) -> None:
        """A client has sent a prompt."""
        self._prompter = client
        self._prompts += 1
        self.touch()
        blocks = read_members(params).get("prompt")
        if self.handshake.version == 1 and blocks is not None:
            with suppress(msgspec.DecodeError):  # the agent refuses it
                self._unechoed.append(UnechoedPrompt(client, msgspec.json.decode(blocks, type=list[Raw])))

    def prompt_answered(self, response: Envelope) -> None:
        """The agent has answered a prompt; an error without any update says that it was not taken."""
        self._prompts -= 1
        self.touch()
        if response.error is not UNSET and self._unechoed:
            self._unechoed.pop(0)
        self._tell_prompts()

    def changed(self, method: str, params: Raw | UnsetType, result: Raw | UnsetType, client: ClientEnd) -> None:
        """A client has set an option or a mode: the others are told, and who attaches later."""
        members = read_members(result)
        if method == "session/set_config_option" and "configOptions" in members:
            self.setup["configOptions"] = members["configOptions"]
            update: dict[str, Any] = {
                "sessionUpdate": "config_option_update",
                "configOptions": members["configOptions"],
            }
        elif method == "session/set_mode" and "modeId" in read_members(params):
            self._set_mode(read_members(params)["modeId"])
            update = {"sessionUpdate": "current_mode_update", "currentModeId": read_members(params)["modeId"]}
        else:
            return
        self._tell(update, client)

    def cancel_questions(self) -> None:
        """Answer what the user was asked as cancelled."""
        for question in list(self._questions.values()):
            question.cancel()

    def message_received(self, message: Envelope, frame: bytes) -> None:
        """A request or a notification of the agent about this session."""
        self.touch()
        if message.method == _UPDATE:
            self._update(message, frame)
        elif message.is_request:
            self._tell_prompts()
            self._ask(message)
        else:
            for client in self.clients:
                client.send(frame)

    def withdraw(self, key: bytes) -> bool:
        """The agent needs no answer to a request any more; returns whether it was one of this session's."""
        question, direct = self._questions.pop(key, None), self._direct.get(key)
        if question is not None:
            question.withdraw()
        if direct is not None:
            direct[0].withdraw(direct[1])
        return question is not None or direct is not None

    def process_ended(self, text: str | None = None) -> None:
        """It has no process any more; `text` says why if it ended by itself."""
        for client in self.clients:
            client.hold(self.process, False)
        self.process = None
        self.loader, self.is_mute = None, False
        for question in self._questions.values():
            question.withdraw()
        for client, id in self._direct.values():
            client.withdraw(id)
        self._questions, self._direct, self._unechoed = {}, {}, []
        if self._is_busy:
            self._is_busy = False
            error = {"code": INTERNAL_ERROR, "message": text or "the agent's process was ended"}
            update = {"sessionUpdate": "state_update", "state": "idle", "stopReason": "error", "error": error}
            self._last_state = self._notification(update)
            for client in self.clients:
                client.send(self._last_state)

    def check_flow(self) -> None:
        """Read from the process as long as somebody reads what it says."""
        if self.process is not None:
            listeners = [self.loader] if self.loader is not None else list(self.clients)
            self.process.pause(bool(listeners) and all(client.is_full for client in listeners))

    def _update(self, message: Envelope, frame: bytes) -> None:
        kind = self._read_update(message.params, frame)
        if self.is_mute:
            return
        if self.loader is not None:
            self.loader.send(frame)
        else:
            if kind.startswith("user_message"):
                self._unechoed.clear()
            elif kind not in _BESIDE_A_TURN:
                self._tell_prompts()
            for client in self.clients:
                client.send(frame)
        if kind not in _UNRECORDED:
            self.record.add(frame)

    def _read_update(self, params: Raw | UnsetType, frame: bytes) -> str:
        """The kind of an update; what it says of the state, the options and the commands is kept."""
        try:
            update = _read_update(b"{}" if params is UNSET else params).update
        except msgspec.DecodeError:
            return ""
        kind = update.session_update
        if kind == "state_update":
            self._is_busy = update.state is not UNSET and bytes(update.state) != b'"idle"'
            self._last_state = frame
        elif kind == "config_option_update" and update.config_options is not UNSET:
            self.setup["configOptions"] = update.config_options
        elif kind == "current_mode_update" and update.current_mode_id is not UNSET:
            self._set_mode(update.current_mode_id)
        elif kind == "available_commands_update" and update.available_commands is not UNSET:
            self._last_commands = frame
            if self.handshake.version != 1:
                self.setup["availableCommands"] = update.available_commands
        return kind

    def _set_mode(self, mode: Raw) -> None:
        if "modes" in self.setup:
            self.setup["modes"] = Raw(encode({**read_members(self.setup["modes"]), "currentModeId": mode}))

    def _tell_prompts(self) -> None:
        """The agent does not echo prompts: tell the other clients, and who attaches later."""
        unechoed, self._unechoed = self._unechoed, []
        for prompt in unechoed:
            for block in prompt.blocks:
                self._tell({"sessionUpdate": "user_message_chunk", "content": block}, prompt.client)

    def _tell(self, update: dict[str, Any], sender: ClientEnd) -> None:
        frame = self._notification(update)
        self.record.add(frame)
        for client in self.clients:
            if client is not sender:
                client.send(frame)

    def _notification(self, update: dict[str, Any]) -> bytes:
        return notification_frame(_UPDATE, encode({"sessionId": self.id, "update": update}))

    def _ask(self, message: Envelope) -> None:
        assert self.process is not None
        if message.method in (PERMISSION, ELICITATION):
            prompter = self._prompter or next(iter(self.clients), None)
            question = Question(self.process, message, prompter, self._settled)
            if self.clients and not any(question.can_answer(client) for client in self.clients):
                self._respond(message.key, _unsupported(message))
                return
            self._questions[message.key] = question
            for client in list(self.clients):
                question.ask(client)
            return
        self._ask_directly(message)

    def _ask_directly(self, message: Envelope) -> None:
        """Ask the client that prompted, or the first that can do it: files and terminals are on its machine."""
        candidates = [each for each in (self._prompter, *self.clients) if each is not None and _can(each, message)]
        if not candidates:
            self._respond(message.key, _unsupported(message))
            return
        client, key = candidates[0], message.key

        def answered(response: Envelope) -> None:
            if self._direct.pop(key, None) is not None:
                self._respond(key, response)

        self._direct[key] = client, client.ask(str(message.method), message.params, answered)

    def _settled(self, question: Question, client: ClientEnd | None, response: Envelope) -> None:
        self._questions.pop(question.key, None)
        self.touch()
        if question.is_permission and client is not None:
            self._on_answer(client, self.id, answer_facts(question.request, response))

    def _respond(self, key: bytes, response: Envelope) -> None:
        if self.process is not None:
            self.process.respond(key, response)


def _can(client: ClientEnd, message: Envelope) -> bool:
    method = str(message.method)
    methods = frozenset[str]() if client.handshake is None else client.handshake.client_methods
    if method in _NEEDS_CAPABILITY:
        return method in methods
    return not method.startswith("terminal/") or "terminal" in methods


def _unsupported(message: Envelope) -> Envelope:
    return error_response(METHOD_NOT_FOUND, f"no client of this session can do this: {message.method}")
