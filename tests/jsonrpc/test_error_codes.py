"""The codes have one number and one name each."""

from __future__ import annotations

import pytest

from accord import errors
from accord.jsonrpc import error_codes


@pytest.mark.requirement("RPC-21", "RPC-22", "RPC-23", "RPC-24", "RPC-25")
def test_the_standard_codes_are_those_of_json_rpc():
    assert (error_codes.PARSE_ERROR, error_codes.INVALID_REQUEST, error_codes.METHOD_NOT_FOUND) == (
        -32700,
        -32600,
        -32601,
    )
    assert (error_codes.INVALID_PARAMS, error_codes.INTERNAL_ERROR) == (-32602, -32603)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (error_codes.INVALID_REQUEST, errors.InvalidRequest("why")),
        (error_codes.METHOD_NOT_FOUND, errors.MethodNotFound("m")),
        (error_codes.INVALID_PARAMS, errors.InvalidParams("why")),
        (error_codes.INTERNAL_ERROR, errors.InternalError("c")),
        (error_codes.REQUEST_CANCELLED, errors.RequestCancelled()),
        (error_codes.AUTH_REQUIRED, errors.AuthRequired()),
        (error_codes.NOT_FOUND, errors.NotFound(uri="u")),
        (error_codes.VERSION_REFUSED, errors.VersionRefused(0, [])),
        (error_codes.RATE_LIMITED, errors.RateLimited()),
        (error_codes.PERMISSION_DENIED, errors.Denied("s")),
        (error_codes.PARSE_ERROR, errors.FrameRejected("why")),
    ],
)
def test_errors_and_codes_agree(code: int, error: errors.RequestFailed | errors.FrameRejected):
    assert error.code == code


@pytest.mark.requirement("RPC-27")
def test_our_own_codes_are_in_the_range_left_to_us_and_avoid_the_protocols():
    for code in (error_codes.RATE_LIMITED, error_codes.PERMISSION_DENIED):
        assert -32099 <= code <= -32001
        assert code not in {error_codes.AUTH_REQUIRED, error_codes.NOT_FOUND, error_codes.VERSION_REFUSED}


@pytest.mark.requirement("RPC-47")
def test_every_code_has_a_name():
    assert error_codes.name_of(-32700) == "parse error"
    assert error_codes.name_of(-32002) == "resource not found"
    assert error_codes.name_of(-32077) == "implementation-defined error"
    assert error_codes.name_of(400) == "unknown error"
