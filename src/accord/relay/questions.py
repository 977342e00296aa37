"""Questions of an agent to the user that all clients of a session get: permissions, forms, URLs.

Laws, as for an agent that is served itself:

- The first answer counts, and the other clients are told that the question is settled (`$/cancel_request`).
- Whatever the client that prompted says counts, a dismissal too. Of another client only an answer does.
- A client that attaches while the question is open is asked as well. When all have left, it waits for the next.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec import Raw

from accord.relay.agent_process import AgentProcess
from accord.relay.client_end import ClientEnd, with_meta
from accord.relay.envelope import Envelope, encode, find, read_value, result_response

PERMISSION = "session/request_permission"
ELICITATION = "elicitation/create"
_SHARED = "accord/shared"


class Question:
    """One question. `on_answer` gets the client whose answer counts, if it is about a permission."""

    def __init__(
        self,
        process: AgentProcess,
        request: Envelope,
        prompter: ClientEnd | None,
        on_settled: Callable[[Question, ClientEnd | None, Envelope], None],
    ) -> None:
        self._process = process
        self.request = request
        self._prompter = prompter
        self._on_settled = on_settled
        self._asked: dict[ClientEnd, int] = {}
        self._dismissal: Envelope | None = None
        self.is_settled = False

    @property
    def key(self) -> bytes:
        return self.request.key

    @property
    def is_permission(self) -> bool:
        return self.request.method == PERMISSION

    def can_answer(self, client: ClientEnd) -> bool:
        """Whether the client can show it."""
        if self.is_permission or client.handshake is None:
            return self.is_permission
        mode = find(read_value(self.request.params), "mode")
        return f"elicitation/{mode}" in client.handshake.client_methods

    def ask(self, client: ClientEnd) -> None:
        """Ask one more client, unless it can't answer or was asked before."""
        if self.is_settled or client in self._asked or not self.can_answer(client):
            return
        params = self.request.params
        if client is not self._prompter and self._prompter is not None and isinstance(params, Raw):
            params = with_meta(params, _SHARED)
        self._asked[client] = client.ask(str(self.request.method), params, partial(self._answered, client))

    def leave(self, client: ClientEnd) -> None:
        """A client is not attached any more."""
        if self._prompter is client:
            self._prompter = None
        id = self._asked.pop(client, None)
        if id is not None:
            client.withdraw(id)
            if self._asked:
                self._check_open()

    def withdraw(self) -> None:
        """The agent does not need an answer any more."""
        self.is_settled = True
        for client, id in self._asked.items():
            client.withdraw(id)

    def cancel(self) -> None:
        """Answer it as cancelled by the user."""
        outcome: Any = {"outcome": {"outcome": "cancelled"}} if self.is_permission else {"action": "cancel"}
        self._settle(None, result_response(encode(outcome)))

    def _answered(self, client: ClientEnd, response: Envelope) -> None:
        if self.is_settled:
            return
        if client is self._prompter or self._is_answer(response):
            self._settle(client, response)
            return
        self._asked[client] = 0  # not asked again
        self._dismissal = response
        self._check_open()

    def _is_answer(self, response: Envelope) -> bool:
        result = read_value(response.result)
        if self.is_permission:
            return find(result, "outcome", "outcome") == "selected"
        return find(result, "action") in ("accept", "decline")

    def _check_open(self) -> None:
        if self._dismissal is not None and not any(self._asked.values()):
            self._settle(None, self._dismissal)

    def _settle(self, client: ClientEnd | None, response: Envelope) -> None:
        self.withdraw()
        self._process.respond(self.key, response)
        self._on_settled(self, client, response)


def answer_facts(request: Envelope, response: Envelope) -> dict[str, Any]:
    """What the audit log says about the answer to a permission request."""
    params, chosen = read_value(request.params), find(read_value(response.result), "outcome", "optionId")
    options = find(params, "options")
    kinds = {find(each, "optionId"): find(each, "kind") for each in options or () if isinstance(each, dict)}
    kind = kinds.get(chosen) if isinstance(chosen, str) else None
    title = find(params, "title") or find(params, "toolCall", "title")
    return {"request": title, "answer": kind, "allowed": kind in ("allow_once", "allow_always")}
