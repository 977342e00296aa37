"""Converts elicitations: questions to the user by form or URL."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from accord.dialects.dialect import Dialect, RequestConverter
from accord.dialects.unset_values import none_if_unset, unset_if_none
from accord.errors import InvalidParams
from accord.schema.reader import Reader
from accord.schema.wire_values import UNSET
from accord.schema.wire_values import Unknown as UnknownOnWire
from accord.session.requests import ElicitationAnswer, ElicitationRequest

_FORMATS = ("email", "uri", "date", "date-time")
_SCOPE = ("message", "session_id", "tool_call_id", "request_id", "meta")


class ElicitationConverter:
    """For the schema of one version; `is_open`: it allows formats and values that it does not list."""

    def __init__(self, schema: Any, is_open: bool = True) -> None:
        self._schema = schema
        self._is_open = is_open
        self._form: Reader[Any] = Reader(schema.ElicitationSchema)
        self.request = RequestConverter(
            ElicitationRequest,
            "elicitation/create",
            self.to_wire,
            self.from_wire,
            self.result_to_wire,
            self.result_from_wire,
        )

    def to_wire(self, dialect: Dialect, request: ElicitationRequest) -> Any:
        """InvalidParams for a scope that the version can't express.

        Malformed for a form whose schema is not one of the flat objects that the protocol allows.
        """
        if request.raw is not None:
            return UnknownOnWire(request.mode, request.raw)
        scope: dict[str, Any] = {name: unset_if_none(getattr(request, name)) for name in _SCOPE}
        if dialect.odd_ids_allowed:
            if request.session_id is None:
                scope["request_id"] = request.request_id  # null is an id, too
        elif request.session_id is not None:
            scope["request_id"] = UNSET  # of two scopes, the session counts
        elif request.request_id is None:
            raise InvalidParams("an elicitation needs a session, or a request that has an id", field="requestId")
        if request.mode == "url":
            return self._schema.ElicitationUrlMode(
                elicitation_id=request.elicitation_id or "", url=request.url or "", **scope
            )
        form = self._form.convert({"type": "object", "properties": {}, **(request.schema or {})})
        if not self._is_open:
            self._drop_formats(dialect, form)
        return self._schema.ElicitationFormMode(requested_schema=form, **scope)

    def _drop_formats(self, dialect: Dialect, form: Any) -> None:
        for name, field in form.properties.items():
            is_text = isinstance(field, self._schema.StringPropertySchema)
            if is_text and none_if_unset(field.format) not in (None, *_FORMATS):
                dialect.record_loss("form-format", name)
                field.format = UNSET

    def from_wire(self, dialect: Dialect, params: Any) -> ElicitationRequest:
        """InvalidParams for an unknown mode."""
        if isinstance(params, UnknownOnWire):
            raise InvalidParams("this client has no such mode", field="mode")
        scope: dict[str, Any] = {name: none_if_unset(getattr(params, name)) for name in _SCOPE}
        if isinstance(params, self._schema.ElicitationUrlMode):
            return ElicitationRequest(mode="url", elicitation_id=params.elicitation_id, url=params.url, **scope)
        form = msgspec.to_builtins(params.requested_schema, enc_hook=lambda unknown: unknown.__wire__())
        return ElicitationRequest(mode="form", schema={"type": "object", "properties": {}, **form}, **scope)

    def result_to_wire(self, dialect: Dialect, request: Any, result: ElicitationAnswer) -> Any:
        """An unknown action that was received is sent unchanged; any other is sent as cancel."""
        meta = unset_if_none(result.meta)
        if result.raw is not None:
            return UnknownOnWire(result.action, result.raw)
        if result.action == "accept":
            content = result.content
            if content is not None and not self._is_open:
                for name in [name for name, value in content.items() if not _fits_v1(value)]:
                    dialect.record_loss("form-value", name)
                    content = {key: value for key, value in content.items() if key != name}
            return self._schema.ElicitationAcceptAction(content=unset_if_none(content), meta=meta)
        if result.action == "decline":
            return self._schema.ElicitationDeclineAction(meta=meta)
        return self._schema.ElicitationCancelAction(meta=meta)

    def result_from_wire(self, dialect: Dialect, request: Any, response: Any) -> ElicitationAnswer:
        """An unknown action is kept; it counts as cancel."""
        if isinstance(response, UnknownOnWire):
            return ElicitationAnswer(action=response.tag, raw=response.raw)
        content = none_if_unset(getattr(response, "content", None))
        action = str(response.__struct_config__.tag)
        return ElicitationAnswer(action=action, content=content, meta=none_if_unset(response.meta))


def _fits_v1(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(element, str) for element in cast("list[Any]", value))
    return isinstance(value, str | bool | int | float)
