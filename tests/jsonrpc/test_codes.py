"""The codes have one number and one name each."""

from __future__ import annotations

import pytest

from accord import errors
from accord.jsonrpc import codes


@pytest.mark.requirement("RPC-21", "RPC-22", "RPC-23", "RPC-24", "RPC-25")
def test_the_standard_codes_are_those_of_json_rpc():
    assert (codes.PARSE_ERROR, codes.INVALID_REQUEST, codes.METHOD_NOT_FOUND) == (-32700, -32600, -32601)
    assert (codes.INVALID_PARAMS, codes.INTERNAL_ERROR) == (-32602, -32603)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (codes.INVALID_REQUEST, errors.InvalidRequest("why")),
        (codes.METHOD_NOT_FOUND, errors.MethodNotFound("m")),
        (codes.INVALID_PARAMS, errors.InvalidParams("why")),
        (codes.INTERNAL_ERROR, errors.InternalError("c")),
        (codes.REQUEST_CANCELLED, errors.RequestCancelled()),
        (codes.AUTH_REQUIRED, errors.AuthRequired()),
        (codes.NOT_FOUND, errors.NotFound(uri="u")),
        (codes.VERSION_REFUSED, errors.VersionRefused(0, [])),
        (codes.RATE_LIMITED, errors.RateLimited()),
        (codes.PERMISSION_DENIED, errors.Denied("s")),
        (codes.PARSE_ERROR, errors.FrameRejected("why")),
    ],
)
def test_errors_and_codes_agree(code: int, error: errors.RequestFailed | errors.FrameRejected):
    assert error.code == code


@pytest.mark.requirement("RPC-27")
def test_our_own_codes_are_in_the_range_left_to_us_and_avoid_the_protocols():
    for code in (codes.RATE_LIMITED, codes.PERMISSION_DENIED):
        assert -32099 <= code <= -32001
        assert code not in {codes.AUTH_REQUIRED, codes.NOT_FOUND, codes.VERSION_REFUSED}


@pytest.mark.requirement("RPC-47")
def test_every_code_has_a_name():
    assert codes.name_of(-32700) == "parse error"
    assert codes.name_of(-32002) == "resource not found"
    assert codes.name_of(-32077) == "implementation-defined error"
    assert codes.name_of(400) == "unknown error"
