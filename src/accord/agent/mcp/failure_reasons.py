"""The reason why an MCP server could not be connected or was lost, as text without secrets."""

from __future__ import annotations

from traceback import format_exception
from typing import cast

import httpx2
from mcp import MCPError
from pydantic import ValidationError

from accord.errors import ConnectionClosed, request_failed
from accord.local.redaction import redact

__all__ = ["reason_of", "traceback_of"]


def reason_of(error: BaseException, url: str | None = None) -> str:
    """One clause, without a full stop; of several errors at once, the first. What is secret in `url` is left out."""
    if isinstance(error, BaseExceptionGroup):
        return reason_of(cast("BaseExceptionGroup[BaseException]", error).exceptions[0], url)
    return redact(_reason(error), url)


def traceback_of(error: BaseException, url: str | None) -> str:
    """For a log, which shows no secrets either."""
    return redact("".join(format_exception(error)), url)


def _reason(error: BaseException) -> str:
    match error:
        case ConnectionClosed():
            return error.reason
        case MCPError():
            refused = request_failed(error.code, error.message, error.data)
            return f"it refused: {refused.full_message()} (error {error.code})"
        case httpx2.HTTPStatusError():
            return f"it answered {error.response.status_code} {error.response.reason_phrase}".rstrip()
        case httpx2.ConnectError() | httpx2.ConnectTimeout():
            return f"nothing answers at its address: {str(error) or type(error).__name__}"
        case httpx2.InvalidURL():
            return "its address is not valid"  # what the library says of it shows parts of it
        case httpx2.HTTPError():
            return f"its address or the way to it is broken: {type(error).__name__}: {error}".rstrip(": ")
        case ValidationError():
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            return f"it does not speak MCP: {place}: {first['msg']}"
        case _:
            return str(error) or type(error).__name__
