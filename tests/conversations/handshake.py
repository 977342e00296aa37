"""The handshake of both sides (for now by hand)."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Raw

from accord.dialects.dialect import Dialect
from accord.dialects.v1 import V1
from accord.dialects.v2 import V2
from accord.session.capabilities import ClientCapabilities, Implementation
from accord.session.requests import Initialize, Initialized

Version = Literal[1, 2, "2-draft"] | None


def offer(version: Version, info: Implementation, capabilities: ClientCapabilities) -> Any:
    def shape(dialect: Dialect, number: int) -> Any:
        _, params = dialect.request_to_wire(Initialize(version=number, info=info, capabilities=capabilities))
        return msgspec.to_builtins(params)

    if version == 1:
        return shape(V1(), 1)
    if version == 2:
        return shape(V2(), 2)
    return {**shape(V1(), 2), **shape(V2(), 2)}


def settle(version: Version, result: Raw, capabilities: ClientCapabilities) -> tuple[Dialect, Initialized]:
    number = msgspec.json.decode(result)["protocolVersion"]
    dialect = V1(client=capabilities) if number == 1 else V2(client=capabilities)
    asked = Initialize(version=number, info=None, capabilities=capabilities)
    return dialect, dialect.answer_from_wire(asked, result)


def accept(params: Raw) -> tuple[Dialect, Initialize]:
    number = msgspec.json.decode(params)["protocolVersion"]
    dialect = V1() if number == 1 else V2()
    asked = dialect.request_from_wire("initialize", params, "client")
    assert isinstance(asked, Initialize)
    dialect.client = asked.capabilities
    return dialect, asked
