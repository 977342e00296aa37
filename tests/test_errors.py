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
    ExtraMissing,
    FrameRejected,
    InternalError,
    InvalidParams,
    InvalidRequest,
    Malformed,
    MethodNotFound,
    NotContent,
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
    NotContent("int"),
    ExtraMissing("needs the extra `http`"),
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
    assert error.to_error() == (-32603, "Internal error (correlation id c-17)", {"correlationId": "c-17"})
    assert str(error).endswith(
        "(correlation id c-17) (error -32603). The peer has the details in its log under this id"
    )
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
    assert "Retry in 2.5 s" in str(error)


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


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ({"message": "No API key"}, "No API key"),
        ("No API key", "No API key"),
        ({"details": "No API key"}, "No API key"),
        ({"detail": "No API key"}, "No API key"),
        ({"reason": "No API key"}, "No API key"),
        ({"error": "No API key"}, "No API key"),
        ({"error": {"message": "No API key", "code": 401}}, "No API key; code: 401"),
        ({"cause": {"cause": {"message": "No API key"}}}, "No API key"),
        ({"status": 401, "message": "No API key"}, "No API key; status: 401"),
        ({"codexErrorInfo": {"other": {"msg": "No API key"}}}, "codexErrorInfo.other: No API key"),
        ({"errors": [{"message": "No API key"}, {"message": "No model"}]}, "No API key; No model"),
        (["No API key", "No model"], "No API key, No model"),
        ({"body": "No\nAPI key"}, "body: No API key"),
        ({"reason": "key_missing", "isRetryable": False}, "reason: key_missing; isRetryable: false"),
        ({"message": "\x1b[31mNo\x1b[0m API key"}, "No API key"),
        ({"message": "Internal error.", "details": "Internal error", "code": 7}, "code: 7"),
        (401, "401"),
        (False, "false"),
    ],
)
def test_the_reason_in_the_data_of_an_error_is_told_whatever_its_shape(data: object, shown: str):
    """FN-107: an error's reason is in `data.message`, or `data` is a string."""
    error = request_failed(-32603, "Internal error", data)
    assert str(error) == f"Internal error: {shown} (error -32603)", "and no log is mentioned"
    assert error.full_message().split() == f"Internal error: {shown}".split()
    assert error.details.split() == shown.replace(";", "").split()
    assert error.data is data


@pytest.mark.parametrize("error", REQUEST_FAILURES, ids=str)
def test_what_the_message_says_is_not_said_again(error: RequestFailed):
    assert error.details in ("", "until: noon")


@pytest.mark.parametrize("data", [UNSET, None, {}, [], "", {"message": ""}, {"message": None}, {"message": {}}])
def test_data_that_says_nothing_adds_nothing(data: object):
    assert str(request_failed(400, "Bad request", data)) == "Bad request (error 400)"


@pytest.mark.parametrize(
    ("message", "data", "is_said"),
    [
        ("Internal error", UNSET, True),
        ("Internal server error", None, True),
        ("Internal error", {"correlationId": "c-17"}, True),
        ("The model is down", {"correlationId": "c-17"}, True),
        ("The model is down", UNSET, False),
        ("Internal error", {"details": "No API key"}, False),
        ("Internal error", {"details": "No API key", "correlationId": "c-17"}, False),
    ],
)
def test_a_log_with_the_details_is_mentioned_only_when_there_are_none(message: str, data: object, is_said: bool):
    text = str(request_failed(-32603, message, data))
    assert ("has the details in its log" in text) is is_said
    assert ("c-17" in text) is ("c-17" in str(data))


def test_data_that_is_deep_endless_or_long_can_be_read_and_printed():
    circle: dict[str, object] = {"message": "round"}
    circle["error"] = circle
    deep: object = "bottom"
    for _ in range(10_000):
        deep = [deep]
    for data in (circle, deep, {"x": ["y"] * 100_000}, dict.fromkeys(map(str, range(100_000)), 1)):
        assert 20 < len(str(request_failed(1, "Odd shapes everywhere", data))) < 3000
    assert str(request_failed(1, "Odd", circle)) == "Odd: round (error 1)"


def test_an_error_as_a_string_controls_no_terminal():
    error = request_failed(1, "\x1b[1mBad\x1b[0m\x1b]2;owned\x07", {"message": "\x1b[2Jcleared"})
    assert str(error) == "Bad\\x1b]2;owned\\x07: \\x1b[2Jcleared (error 1)"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("\x1b[31mKeyError\x1b[0m: 'MODEL'", "KeyError: 'MODEL'"),
        ("\x1b[38;5;196mred\x1b[m \x1b[38:2::1:2:3mtrue\x1b[39;49m", "red true"),
        ("\x9b31mKeyError\x9b0m", "KeyError"),
        ("\x1b[2K\x1b[1G⠋ Installing\x1b[?25l", "⠋ Installing"),
        ("\x1b]0;my agent\x07No key", "No key"),
        ("\x1b]8;;https://example.com\x1b\\docs\x1b]8;;\x1b\\", "docs"),
        ("\x1bP1$r0m\x1b\\No key\x1bc\x1b(B\x1b7", "No key"),
        ("10%\r20%\r100%\r\nNo key\r\n", "100%\nNo key"),
        ("No key\r   \r", "No key"),
        ("No key\a\x08\x00\x7f", "No key"),
        ("No key\x1b[3", "No key"),
        ("No key\x1b", "No key"),
        ("\x1b]0;cut off\nNo key\nfor \x07 this", "0;cut off\nNo key\nfor  this"),
    ],
)
def test_the_end_of_stderr_has_no_colours_and_no_other_sequences(written: str, shown: str):
    closed = ConnectionClosed("the agent exited", 3, written)
    assert closed.stderr_tail.strip() == shown
    assert str(closed).endswith(f"stderr:\n{shown}")
    assert closed.again().stderr_tail == closed.stderr_tail


@pytest.mark.parametrize("piece", ["\x1b]", "\x1bP", "\x9d", "\x9b", "\x1b[", "\x1b", "\r", "x", "\x1b[1;", "\x90\n"])
def test_a_long_end_of_stderr_is_cleaned_at_once(piece: str):
    written = piece * 200_000
    assert len(ConnectionClosed("gone", 1, written).stderr_tail) <= len(written)


def test_the_tree_in_the_docstring_is_the_tree_in_the_code():
    drawn = set(re.findall(r"^ {4}[│├└─ ]*([A-Z]\w+)", errors.__doc__ or "", re.MULTILINE))
    defined = {name for name in errors.__all__ if name[0].isupper()}
    assert drawn == defined


def test_no_error_is_defined_elsewhere():
    source = Path(errors.__file__).parents[1]
    for file in source.rglob("*.py"):
        if file.parent.name != "errors" and not (file.name == "errors.py" and "apps" in file.parts):
            assert not re.search(
                r"^class \w+\((\w*Error|Exception|AccordError)\)", file.read_text("utf-8"), re.MULTILINE
            ), file
