"""Questions to the user by form or URL, which v1 and v2 spell alike."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from accord.dialects.dialect import Dialect, NotificationConverter, RequestConverter
from accord.dialects.struct_converter import plain
from accord.dialects.unset_values import none_if_unset, unset_if_none
from accord.errors import InvalidParams
from accord.schema.reader import Reader
from accord.schema.wire_values import UNSET
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.requests import ElicitationAnswer, ElicitationCompleted, ElicitationRequest

__all__ = ["ElicitationConverter"]


_FORMATS = ("email", "uri", "date", "date-time")


class ElicitationConverter:
    """Bound to the schema of one version; `is_open`: it takes formats and values that are not listed."""

    def __init__(self, schema: Any, is_open: bool = True) -> None:
        self._schema = schema
        self._is_open = is_open
        self._form: Reader[Any] = Reader(schema.ElicitationSchema)
        self.exchange = RequestConverter(
            ElicitationRequest,
            "elicitation/create",
            self.to_wire,
            self.from_wire,
            self.result_to_wire,
            self.result_from_wire,
        )
        self.telling = NotificationConverter(
            ElicitationCompleted,
            "elicitation/complete",
            *plain(ElicitationCompleted, schema.CompleteElicitationNotification),
        )

    def to_wire(self, dialect: Dialect, asked: ElicitationRequest) -> Any:
        """A form's schema must be one of the flat objects that the protocol allows; Malformed otherwise.

        InvalidParams for a question that belongs to nothing that the version can name.
        """
        if asked.raw is not None:
            return UnknownOnWire(asked.mode, asked.raw)
        scope: dict[str, Any] = {
            "message": asked.message,
            "session_id": unset_if_none(asked.session_id),
            "tool_call_id": unset_if_none(asked.tool_call_id),
            "request_id": unset_if_none(asked.request_id),
            "meta": unset_if_none(asked.meta),
        }
        if dialect.odd_ids_allowed:
            if asked.session_id is None:
                scope["request_id"] = asked.request_id  # null is an id, too
        elif asked.session_id is not None:
            scope["request_id"] = UNSET  # where both are named, the session counts
        elif asked.request_id is None:
            raise InvalidParams("an elicitation needs a session, or a request that has an id", field="requestId")
        if asked.mode == "url":
            return self._schema.ElicitationUrlMode(
                elicitation_id=asked.elicitation_id or "", url=asked.url or "", **scope
            )
        form: dict[str, Any] = {"type": "object", "properties": {}, **(asked.schema or {})}
        written = self._form.convert(form)
        if not self._is_open:
            for name, field in written.properties.items():
                if isinstance(field, self._schema.StringPropertySchema) and none_if_unset(field.format) not in (
                    None,
                    *_FORMATS,
                ):
                    dialect.lose("form-format", name)
                    field.format = UNSET
        return self._schema.ElicitationFormMode(requested_schema=written, **scope)

    def from_wire(self, dialect: Dialect, params: Any) -> ElicitationRequest:
        """The question; InvalidParams for a mode that accord does not know."""
        if isinstance(params, UnknownOnWire):
            raise InvalidParams("this client has no such mode", field="mode")
        scope: dict[str, Any] = {
            "message": params.message,
            "session_id": none_if_unset(params.session_id),
            "tool_call_id": none_if_unset(params.tool_call_id),
            "request_id": none_if_unset(params.request_id),
            "meta": none_if_unset(params.meta),
        }
        if isinstance(params, self._schema.ElicitationUrlMode):
            return ElicitationRequest(mode="url", elicitation_id=params.elicitation_id, url=params.url, **scope)
        form = msgspec.to_builtins(params.requested_schema, enc_hook=lambda unknown: unknown.__wire__())
        return ElicitationRequest(mode="form", schema={"type": "object", "properties": {}, **form}, **scope)

    def result_to_wire(self, dialect: Dialect, asked: Any, answer: ElicitationAnswer) -> Any:
        """An action that is not known is sent as it came; one that came from nowhere, as cancel."""
        meta = unset_if_none(answer.meta)
        if answer.raw is not None:
            return UnknownOnWire(answer.action, answer.raw)
        if answer.action == "accept":
            content = answer.content
            if content is not None and not self._is_open:
                for name in [name for name, value in content.items() if not _is_plain(value)]:
                    dialect.lose("form-value", name)
                    content = {key: value for key, value in content.items() if key != name}
            return self._schema.ElicitationAcceptAction(content=unset_if_none(content), meta=meta)
        if answer.action == "decline":
            return self._schema.ElicitationDeclineAction(meta=meta)
        return self._schema.ElicitationCancelAction(meta=meta)

    def result_from_wire(self, dialect: Dialect, asked: Any, result: Any) -> ElicitationAnswer:
        """The answer; an action that is not known is kept, for whoever acts on it to treat as cancel."""
        if isinstance(result, UnknownOnWire):
            return ElicitationAnswer(action=result.tag, raw=result.raw)
        if isinstance(result, self._schema.ElicitationAcceptAction):
            return ElicitationAnswer(
                action="accept", content=none_if_unset(result.content), meta=none_if_unset(result.meta)
            )
        action = "decline" if isinstance(result, self._schema.ElicitationDeclineAction) else "cancel"
        return ElicitationAnswer(action=action, meta=none_if_unset(result.meta))


def _is_plain(value: Any) -> bool:
    """Whether v1 has a field that can hold the value."""
    if isinstance(value, list):
        return all(isinstance(element, str) for element in cast("list[Any]", value))
    return isinstance(value, str | bool | int | float)
