from __future__ import annotations

import msgspec
import pytest

from accord.schema import v2
from accord.schema.method import has_no_required_members
from accord.schema.v2 import METHODS
from tests.schema.exports import exports

BY_AGENT = {"session/update", "session/request_permission", "elicitation/create", "elicitation/complete"}
GONE_SINCE_V1 = {
    "authenticate",
    "logout",
    "session/load",
    "session/set_mode",
    "session/set_model",
    "fs/read_text_file",
    "fs/write_text_file",
    "terminal/create",
    "terminal/output",
    "terminal/wait_for_exit",
    "terminal/kill",
    "terminal/release",
}


def test_the_table_has_all_methods_and_none_of_v1_that_are_gone() -> None:
    assert len(METHODS) == 19
    assert not GONE_SINCE_V1 & METHODS.keys()
    assert all(name == method.name for name, method in METHODS.items())


def test_only_fork_is_unstable() -> None:
    assert [name for name, method in METHODS.items() if method.unstable] == ["session/fork"]


def test_each_method_is_sent_by_the_side_that_may_send_it() -> None:
    assert {name for name, method in METHODS.items() if method.sender == "agent"} == BY_AGENT
    assert [name for name, method in METHODS.items() if method.sender == "either"] == ["$/cancel_request"]


def test_exactly_the_requests_have_results() -> None:
    assert all((method.kind == "request") == (method.result is not None) for method in METHODS.values())


@pytest.mark.parametrize(
    ("name", "gate"),
    [
        ("initialize", None),
        ("auth/login", "authMethods"),
        ("auth/logout", "authMethods"),
        ("session/resume", "capabilities.session"),
        ("session/cancel", "capabilities.session"),
        ("session/delete", "capabilities.session.delete"),
        ("session/fork", "capabilities.session.fork"),
        ("session/set_config_option", "configOptions"),
        ("tool_call/cancel", "toolCall.capabilities.cancel"),
        ("terminal/cancel", "terminal.capabilities.cancel"),
        ("elicitation/create", "capabilities.elicitation.{mode}"),
        ("elicitation/complete", "capabilities.elicitation.url"),
        ("session/update", None),
    ],
)
def test_a_method_names_what_allows_it(name: str, gate: str | None) -> None:
    assert METHODS[name].gate == gate


@pytest.mark.parametrize("name", ["auth/login", "session/close", "session/delete", "session/list", "tool_call/cancel"])
def test_an_empty_result_may_also_come_as_null(name: str) -> None:
    assert has_no_required_members(METHODS[name].result)
    assert not METHODS[name].shows_null_result


@pytest.mark.parametrize("name", ["session/new", "session/prompt", "session/request_permission", "elicitation/create"])
def test_a_result_that_says_something_may_not_come_as_null(name: str) -> None:
    assert not has_no_required_members(METHODS[name].result)


def test_every_exported_name_is_a_type_that_can_be_read() -> None:
    for name, kind in exports(v2).items():
        if name != "METHODS":
            msgspec.json.Decoder(kind)
