"""The table of methods says who may send what, and when."""

from __future__ import annotations

import pytest

from accord.schema.method import Method, has_no_required_members
from accord.schema.v1 import METHODS

SESSIONS = "agentCapabilities.sessionCapabilities"


def gates(sender: str) -> dict[str, str | None]:
    return {method.name: method.gate for method in METHODS.values() if method.sender == sender}


@pytest.mark.requirement("RPC-11", "RPC-12", "RPC-13", "AUTH-01")
def test_what_a_client_sends_and_what_allows_it():
    assert gates("client") == {
        "initialize": None,
        "authenticate": "authMethods",
        "logout": "agentCapabilities.auth.logout",
        "session/new": None,
        "session/load": "agentCapabilities.loadSession",
        "session/resume": f"{SESSIONS}.resume",
        "session/list": f"{SESSIONS}.list",
        "session/close": f"{SESSIONS}.close",
        "session/delete": f"{SESSIONS}.delete",
        "session/fork": f"{SESSIONS}.fork",
        "session/prompt": None,
        "session/cancel": None,
        "session/set_mode": "modes",
        "session/set_model": "models",
        "session/set_config_option": "configOptions",
    }


@pytest.mark.requirement("RPC-14", "RPC-15", "RPC-16", "RPC-17")
def test_what_an_agent_sends_and_what_allows_it():
    assert gates("agent") == {
        "session/update": None,
        "session/request_permission": None,
        "fs/read_text_file": "clientCapabilities.fs.readTextFile",
        "fs/write_text_file": "clientCapabilities.fs.writeTextFile",
        "terminal/create": "clientCapabilities.terminal",
        "terminal/output": "clientCapabilities.terminal",
        "terminal/wait_for_exit": "clientCapabilities.terminal",
        "terminal/kill": "clientCapabilities.terminal",
        "terminal/release": "clientCapabilities.terminal",
        "elicitation/create": "clientCapabilities.elicitation.{mode}",
        "elicitation/complete": "clientCapabilities.elicitation.url",
    }


def test_only_giving_up_on_a_request_is_for_both_sides():
    assert gates("either") == {"$/cancel_request": None}


@pytest.mark.requirement("RPC-02")
def test_notifications_have_no_result_and_requests_have_one():
    notifications = {method.name for method in METHODS.values() if method.kind == "notification"}
    assert notifications == {"session/cancel", "session/update", "elicitation/complete", "$/cancel_request"}
    assert notifications == {method.name for method in METHODS.values() if method.result is None}


@pytest.mark.requirement("SESS-40", "AMB-06")
def test_what_may_change_or_vanish_is_marked():
    assert {method.name for method in METHODS.values() if method.unstable} == {"session/fork", "session/set_model"}


@pytest.mark.requirement("AMB-01", "AMB-02", "AMB-03", "AMB-04", "AMB-05", "AMB-06", "FS-14", "TERM-32")
def test_null_is_taken_for_a_result_in_which_nothing_is_required():
    assert {method.name for method in METHODS.values() if has_no_required_members(method.result)} == {
        "authenticate",
        "logout",
        "session/load",
        "session/resume",
        "session/close",
        "session/delete",
        "session/list",
        "session/set_config_option",
        "session/set_mode",
        "session/set_model",
        "fs/write_text_file",
        "terminal/wait_for_exit",
        "terminal/kill",
        "terminal/release",
    }


@pytest.mark.requirement("AMB-01", "AMB-04")
def test_null_is_a_result_in_strict_mode_where_the_documents_show_it():
    shown = {method.name for method in METHODS.values() if method.shows_null_result}
    assert shown == {"session/load", "fs/write_text_file"}


def test_a_prompt_is_not_ended_by_a_null_result():
    """FN-53: `null` names no stop reason."""
    assert not has_no_required_members(METHODS["session/prompt"].result)


def test_a_method_with_no_result_takes_no_null():
    assert not has_no_required_members(Method("_acme/ping", "notification", "either", dict).result)
