"""Requests and answers whose members the words name as the wire does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from accord.dialects.dialect import RequestConverter, RequestFunction, ResultFunction
from accord.dialects.unset_values import none_if_unset, unset_if_none
from accord.session.requests import AcpRequest, EmptyResult
from accord.session.value import Value

__all__ = ["acknowledged", "plain", "plain_answer"]


def plain(word: type[Value], params: type[Any]) -> tuple[RequestFunction, RequestFunction]:
    """Both directions of a request or notification."""
    to_wire, from_wire = _copied(word, params)
    return lambda dialect, said: to_wire(said), lambda dialect, read: from_wire(read)


def plain_answer(word: type[Value], result: type[Any]) -> tuple[ResultFunction, ResultFunction]:
    """Both directions of an answer."""
    to_wire, from_wire = _copied(word, result)
    return lambda dialect, asked, answer: to_wire(answer), lambda dialect, asked, read: from_wire(read)


def acknowledged(word: type[AcpRequest], method: str, params: type[Any], result: type[Any]) -> RequestConverter:
    """A request that is answered only by saying that it worked."""
    return RequestConverter(word, method, *plain(word, params), *plain_answer(EmptyResult, result))


def _copied(word: type[Value], wire_type: type[Any]) -> tuple[Callable[[Value], Any], Callable[[Any], Value]]:
    names = [name for name in word.__struct_fields__ if name != "meta"]

    def to_wire(said: Value) -> Any:
        return wire_type(meta=unset_if_none(said.meta), **{name: getattr(said, name) for name in names})

    def from_wire(read: Any) -> Value:
        return word(meta=none_if_unset(read.meta), **{name: getattr(read, name) for name in names})

    return to_wire, from_wire
