"""Questions to the user by form or URL, which v1 and v2 spell alike."""

from __future__ import annotations

from typing import Any

import msgspec

from accord.dialects.absent import known, told
from accord.dialects.dialect import Dialect, Exchange, Telling
from accord.dialects.plain import plain
from accord.errors import InvalidParams
from accord.schema.reading import Reader
from accord.schema.values import Unknown as UnknownOnWire
from accord.session.requests import Elicit, ElicitationAnswer, ElicitationCompleted

__all__ = ["ElicitationMapping"]


class ElicitationMapping:
    """Bound to the schema of one version."""

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._form: Reader[Any] = Reader(schema.ElicitationSchema)
        self.exchange = Exchange(
            Elicit, "elicitation/create", self.to_wire, self.from_wire, self.answer_to_wire, self.answer_from_wire
        )
        self.telling = Telling(
            ElicitationCompleted,
            "elicitation/complete",
            *plain(ElicitationCompleted, schema.CompleteElicitationNotification),
        )

    def to_wire(self, dialect: Dialect, asked: Elicit) -> Any:
        """A form's schema must be one of the flat objects that the protocol allows; Malformed otherwise."""
        if asked.raw is not None:
            return UnknownOnWire(asked.mode, asked.raw)
        scope: dict[str, Any] = {
            "message": asked.message,
            "session_id": told(asked.session_id),
            "tool_call_id": told(asked.tool_call_id),
            "request_id": told(asked.request_id),
            "meta": told(asked.meta),
        }
        if asked.session_id is None and dialect.odd_ids_allowed:
            scope["request_id"] = asked.request_id  # null is an id, too
        if asked.mode == "url":
            return self._schema.ElicitationUrlMode(
                elicitation_id=asked.elicitation_id or "", url=asked.url or "", **scope
            )
        form: dict[str, Any] = {"type": "object", "properties": {}, **(asked.schema or {})}
        return self._schema.ElicitationFormMode(requested_schema=self._form.convert(form), **scope)

    def from_wire(self, dialect: Dialect, params: Any) -> Elicit:
        """The question; InvalidParams for a mode that accord does not know."""
        if isinstance(params, UnknownOnWire):
            raise InvalidParams("this client has no such mode", field="mode")
        scope: dict[str, Any] = {
            "message": params.message,
            "session_id": known(params.session_id),
            "tool_call_id": known(params.tool_call_id),
            "request_id": known(params.request_id),
            "meta": known(params.meta),
        }
        if isinstance(params, self._schema.ElicitationUrlMode):
            return Elicit(mode="url", elicitation_id=params.elicitation_id, url=params.url, **scope)
        form = msgspec.to_builtins(params.requested_schema, enc_hook=lambda unknown: unknown.__wire__())
        return Elicit(mode="form", schema={"type": "object", "properties": {}, **form}, **scope)

    def answer_to_wire(self, dialect: Dialect, asked: Any, answer: ElicitationAnswer) -> Any:
        """An action that is not known is sent as cancel."""
        meta = told(answer.meta)
        if answer.action == "accept":
            return self._schema.ElicitationAcceptAction(content=told(answer.content), meta=meta)
        if answer.action == "decline":
            return self._schema.ElicitationDeclineAction(meta=meta)
        return self._schema.ElicitationCancelAction(meta=meta)

    def answer_from_wire(self, dialect: Dialect, asked: Any, result: Any) -> ElicitationAnswer:
        """The answer; an action that is not known is kept, for whoever acts on it to treat as cancel."""
        if isinstance(result, UnknownOnWire):
            return ElicitationAnswer(action=result.tag, raw=result.raw)
        if isinstance(result, self._schema.ElicitationAcceptAction):
            return ElicitationAnswer(action="accept", content=known(result.content), meta=known(result.meta))
        action = "decline" if isinstance(result, self._schema.ElicitationDeclineAction) else "cancel"
        return ElicitationAnswer(action=action, meta=known(result.meta))
