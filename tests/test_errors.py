"""Each error is a clear sentence, survives the wire both ways and leaks nothing."""

from __future__ import annotations

import copy
import pickle
import re
from pathlib import Path

import pytest
from msgspec import UNSET

from accord import errors
from accord.errors import (
    AccordError,
    AuthRequired,
    ConnectionClosed,
    DeadlineExceeded,
    Denied,
    FrameRejected,
    InternalError,
    InvalidParams,
    InvalidRequest,
    Malformed,
    MethodNotFound,
    NotFound,
    Overloaded,
    RateLimited,
    RequestCancelled,
    RequestFailed,
    Unencodable,
    VersionRefused,
    request_failed,
)

REQUEST_FAILURES = [
    RequestFailed(-32050, "The model is asleep", {"until": "noon"}),
    RequestFailed(400, "Bad request"),
    InvalidRequest("initialize comes first"),
    MethodNotFound("terminal/create"),
    InvalidParams("must be an absolute path", "$.cwd"),
    InvalidParams("one of them is needed"),
    InternalError("c-17"),
    RequestCancelled(),
    AuthRequired([{"id": "oauth", "name": "Log in"}]),
    AuthRequired(),
    NotFound(session_id="s1"),
    NotFound(terminal_id="t1"),
    NotFound(uri="file:///a"),
    VersionRefused(0, [1, 2]),
    RateLimited(30),
    RateLimited(),
    Denied("fs.write"),
]
ERRORS = [
    *REQUEST_FAILURES,
    ConnectionClosed("the agent exited", 3, "Traceback\nKeyError: 'MODEL'"),
    DeadlineExceeded("session/new", 30),
    Overloaded("unread updates", 5000),
    FrameRejected("it is longer than 67108864 bytes"),
    Malformed("$.update.content", "Expected `object`, got `str`"),
    Unencodable("What session/update carries", "a set has no JSON form"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_every_error_survives_pickling_and_copying(error: AccordError):
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(twin) is type(error)
        assert str(twin) == str(error)
        assert vars(twin) == vars(error)


@pytest.mark.requirement("RPC-29", "RPC-46")
@pytest.mark.parametrize("error", REQUEST_FAILURES, ids=str)
def test_what_was_raised_here_is_raised_there(error: RequestFailed):
    received = request_failed(*error.to_error())
    assert type(received) is type(error)
    assert received.to_error() == error.to_error()
    assert str(received) == str(error)


@pytest.mark.requirement("RPC-23", "RPC-33", "RPC-34")
def test_an_unknown_method_is_named():
    assert MethodNotFound("terminal/create").to_error() == (
        -32601,
        "Method not found: terminal/create",
        {"method": "terminal/create"},
    )


@pytest.mark.requirement("RPC-24", "RPC-35", "RPC-36", "RPC-45")
def test_invalid_params_say_where_and_why():
    code, message, data = InvalidParams("must be an absolute path", "$.cwd").to_error()
    assert code == -32602
    assert message == "Invalid params at $.cwd: must be an absolute path"
    assert data == {"field": "$.cwd", "reason": "must be an absolute path"}


@pytest.mark.requirement("RPC-25", "RPC-37", "RPC-38", "RPC-39", "RPC-50")
def test_an_internal_error_carries_no_text_of_the_exception():
    """FN-41: the message is generic, the log is found by the correlation id."""
    error = InternalError("c-17")
    error.__cause__ = KeyError("secret token")
    assert error.to_error() == (-32603, "Internal error", {"correlationId": "c-17"})
    assert error.correlation_id == "c-17"
    assert "secret" not in str(error)


@pytest.mark.requirement("RPC-26", "RPC-31")
def test_auth_required_carries_reason_and_methods():
    methods = [{"id": "oauth", "name": "Log in"}]
    code, _, data = AuthRequired(methods).to_error()
    assert (code, data) == (-32000, {"reason": "auth_required", "authMethods": methods})


@pytest.mark.requirement("RPC-26", "RPC-31", "AMB-11")
@pytest.mark.parametrize(
    ("code", "data", "methods"),
    [
        (-32000, UNSET, []),
        (-32000, None, []),
        (-32000, {"authMethods": [1]}, [1]),
        (-32603, {"reason": "auth_required"}, []),
        (401, {"reason": "auth_required", "authMethods": "oauth"}, []),
    ],
)
def test_auth_required_is_known_by_its_code_or_its_reason(code: int, data: object, methods: list[object]):
    error = request_failed(code, "Please log in", data)
    assert isinstance(error, AuthRequired)
    assert (error.code, error.data, error.auth_methods) == (code, data, methods)
    assert "Log in" in str(error)


@pytest.mark.requirement("RPC-27", "RPC-42", "RPC-43")
def test_a_rate_limit_says_when_to_come_back():
    code, _, data = RateLimited(30).to_error()
    assert -32099 <= code <= -32001
    assert data == {"reason": "rate_limited", "retryAfter": 30}
    error = request_failed(-32001, "Slow down", {"reason": "rate_limited", "retryAfter": 2.5})
    assert isinstance(error, RateLimited)
    assert error.retry_after == 2.5
    assert "Ask again in 2.5 s" in str(error)


@pytest.mark.parametrize("seconds", [True, "soon", None])
def test_a_strange_retry_time_counts_as_unknown(seconds: object):
    error = request_failed(-32001, "", {"reason": "rate_limited", "retryAfter": seconds})
    assert isinstance(error, RateLimited)
    assert error.retry_after is None


@pytest.mark.requirement("RPC-42", "RPC-44")
def test_a_denial_names_its_scope():
    code, _, data = Denied("fs.write").to_error()
    assert -32099 <= code <= -32001
    assert data == {"reason": "permission_denied", "scope": "fs.write"}
    assert request_failed(-32044, "No", data).scope == "fs.write"  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.requirement("AMB-34")
def test_what_is_missing_is_named():
    assert NotFound(session_id="s1").to_error() == (-32002, "Session not found: s1", {"sessionId": "s1"})
    assert NotFound(terminal_id="t1").data == {"terminalId": "t1"}
    assert NotFound(uri="file:///a").data == {"uri": "file:///a"}
    with pytest.raises(TypeError):
        NotFound()


def test_a_refused_version_lists_the_supported_ones():
    error = request_failed(*VersionRefused(0, [1, 2]).to_error())
    assert isinstance(error, VersionRefused)
    assert (error.code, error.requested, error.supported) == (-32022, 0, [1, 2])


@pytest.mark.requirement("RPC-28", "RPC-47", "AMB-33")
@pytest.mark.parametrize("code", [400, 0, -32042, -32099, -33001, -32700, 2**40])
def test_an_unknown_code_is_kept_as_it_is(code: int):
    error = request_failed(code, "Odd", {"reason": ["not", "a", "string"]})
    assert type(error) is RequestFailed
    assert error.to_error() == (code, "Odd", {"reason": ["not", "a", "string"]})
    assert str(code) in str(error)


@pytest.mark.parametrize("code", [-32600, -32601, -32602, -32603, -32800, -32000, -32002, -32022])
@pytest.mark.parametrize("data", [UNSET, None, 5, "text", [], {}, {"reason": 7}])
def test_a_known_code_with_any_data_can_be_read_and_printed(code: int, data: object):
    error = request_failed(code, "", data)
    assert type(error) is not RequestFailed
    assert str(error)
    for name in dir(error):
        getattr(error, name)


def test_a_long_message_or_payload_is_shortened_only_for_reading():
    error = RequestFailed(1, "m" * 10_000, {"text": "d" * 10_000})
    assert len(str(error)) < 3000
    assert len(error.message) == 10_000


@pytest.mark.requirement("RPC-45")
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_every_error_reads_as_a_sentence(error: AccordError):
    assert len(str(error).split()) >= 3
    assert not str(error).startswith("(")


def test_a_closed_connection_says_why_with_exit_code_and_stderr():
    text = str(ConnectionClosed("the agent exited", 3, "KeyError: 'MODEL'\n"))
    assert "the agent exited (exit code 3)" in text
    assert text.endswith("KeyError: 'MODEL'")
    assert str(ConnectionClosed("end of input")) == "The connection is closed: end of input"


def test_the_tree_in_the_docstring_is_the_tree_in_the_code():
    drawn = set(re.findall(r"^ {4}[│├└─ ]*([A-Z]\w+)", errors.__doc__ or "", re.MULTILINE))
    defined = {name for name in errors.__all__ if name[0].isupper()}
    assert drawn == defined


def test_no_error_is_defined_elsewhere():
    source = Path(errors.__file__).parent
    for file in source.rglob("*.py"):
        if file.name != "errors.py" and not (file.name == "failures.py" and "apps" in file.parts):
            assert not re.search(
                r"^class \w+\((\w*Error|Exception|AccordError)\)", file.read_text("utf-8"), re.MULTILINE
            ), file
