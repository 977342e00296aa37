"""OpenTelemetry spans for the requests that pass through a server, without any text of them.

Only the API of OpenTelemetry is used (the extra `otel`), and only if the program around it has loaded it: whoever sets up
the SDK, such as `opentelemetry-instrument`, has done that before a connection begins. Otherwise nothing is imported.

The span of a client's request is a child of the context in its `_meta`, and becomes that context for the agent.
"""

from __future__ import annotations

import sys
from typing import Any

from accord.telemetry.messages import Message
from accord.transports.trace_context import trace_of, valid_trace, with_trace

_NAME = "accord.serve"


class Span:
    """The span of a request."""

    def __init__(self, api: Any, span: Any) -> None:
        self._api = api
        self._span = span

    def end(self, outcome: str, error_code: int | None) -> None:
        """The request was answered, or its connection lost."""
        self._span.set_attribute("acp.outcome", outcome)
        if error_code is not None:
            self._span.set_attribute("rpc.response.status_code", str(error_code))
        if outcome in ("error", "lost"):
            self._span.set_status(self._api.StatusCode.ERROR, outcome)
        self._span.end()


class Traces:
    """Starts the spans."""

    def __init__(self, api: Any, propagator: Any) -> None:
        self._api = api
        self._propagator = propagator
        self._tracer = api.get_tracer(_NAME)

    @classmethod
    def current(cls) -> Traces | None:
        """None unless the program has set up OpenTelemetry."""
        api: Any = sys.modules.get("opentelemetry.trace")
        if api is None or isinstance(api.get_tracer_provider(), (api.ProxyTracerProvider, api.NoOpTracerProvider)):
            return None
        from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415  # an extra
            TraceContextTextMapPropagator,
        )

        return cls(api, TraceContextTextMapPropagator())

    def start_request(
        self, method: str, session_id: str | None, connection: str, user: str | None, frame: bytes
    ) -> tuple[Span, bytes]:
        """The span of a client's request, and the frame with its context for the agent."""
        parent = self._propagator.extract(trace_of(frame))
        attributes = _attributes(method, session_id) | {"acp.connection": connection}
        if user is not None:
            attributes["enduser.id"] = user
        span = self._tracer.start_span(method, parent, kind=self._api.SpanKind.SERVER, attributes=attributes)
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier, self._api.set_span_in_context(span, parent))
        return Span(self._api, span), with_trace(frame, valid_trace(carrier), replace=True)

    def start_question(self, method: str, session_id: str | None, message: Message) -> Span:
        """The span of an agent's request to its client."""
        parent = self._propagator.extract(message.trace)
        attributes = _attributes(method, session_id)
        return Span(
            self._api, self._tracer.start_span(method, parent, kind=self._api.SpanKind.CLIENT, attributes=attributes)
        )


def _attributes(method: str, session_id: str | None) -> dict[str, str]:
    attributes = {"rpc.system.name": "jsonrpc", "rpc.method": method}
    if session_id is not None:
        attributes["session.id"] = session_id
    return attributes
