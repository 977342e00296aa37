"""The handshake and logging in, between v2 and words."""

from __future__ import annotations

from typing import Any

import pytest

from accord.dialects.v2 import V2
from accord.errors import InvalidParams, Malformed
from accord.session.capabilities import (
    AgentCapabilities,
    AgentLogin,
    ClientCapabilities,
    Implementation,
    TerminalLogin,
)
from accord.session.requests import Authenticate, Initialize, InitializeResult, Logout
from accord.session.value import Unknown
from tests.dialects.json_values import plain, raw
from tests.dialects.v2.speaking import asked_of, rows_lost, speaker

INFO = Implementation(name="trowel", version="1.0")
WIRE_INFO = {"name": "trowel", "version": "1.0"}
OFFER = Initialize(version=2, info=INFO, capabilities=ClientCapabilities())


def answered(**members: Any) -> InitializeResult:
    return V2().result_from_wire(OFFER, raw({"protocolVersion": 2, "info": WIRE_INFO, **members}))


def offered(strict: bool = False, **members: Any) -> Initialize:
    return asked_of(V2(strict=strict), "initialize", {"protocolVersion": 2, "info": WIRE_INFO, **members})


def test_an_agent_with_sessions_can_load_resume_list_and_close_them() -> None:
    can = answered(capabilities={"session": {}}).capabilities
    assert can == AgentCapabilities(
        sessions=True, load=True, resume=True, list=True, close=True, mcp_stdio=False, logout=False
    )


@pytest.mark.parametrize("capabilities", [{}, {"session": None}, None, {"session": True}])
def test_an_agent_that_does_not_say_so_has_no_sessions(capabilities: Any) -> None:
    can = answered(capabilities=capabilities).capabilities
    assert can == AgentCapabilities(sessions=False, mcp_stdio=False)


def test_stdio_is_advertised_like_any_other_transport() -> None:
    assert answered(capabilities={"session": {"mcp": {"stdio": {}}}}).capabilities.mcp_stdio is True
    answer = InitializeResult(version=2, info=INFO, capabilities=AgentCapabilities(mcp_stdio=False, mcp_http=True))
    written = plain(speaker().result_to_wire(OFFER, answer))
    assert written["capabilities"] == {"session": {"mcp": {"http": {}}}}


@pytest.mark.parametrize("methods", [[], [{"type": "agent", "methodId": "key", "name": "Key"}]])
def test_an_agent_that_has_a_login_has_a_logout(methods: list[Any]) -> None:
    assert answered(authMethods=methods).capabilities.logout is bool(methods)


def test_an_agent_without_sessions_says_nothing_about_them() -> None:
    answer = InitializeResult(version=2, info=INFO, capabilities=AgentCapabilities(sessions=False, image=True))
    dialect = speaker()
    assert plain(dialect.result_to_wire(OFFER, answer))["capabilities"] == {}
    assert rows_lost(dialect) == []


def test_what_v2_has_without_a_capability_is_read_as_offered() -> None:
    can = offered().capabilities
    assert can == ClientCapabilities(boolean_options=True, notices=True, compaction=True, display_terminals=True)


def test_a_marker_counts_when_it_is_an_object() -> None:
    can = offered(capabilities={"elicitation": {"form": {}, "url": None}, "auth": {"terminal": {}}}).capabilities
    assert (can.form_elicitation, can.url_elicitation, can.terminal_login) == (True, False, True)


@pytest.mark.requirement("EXT-12")
def test_what_implementers_advertise_in_meta_is_kept_by_its_path() -> None:
    note = {"garden": 1}
    can = offered(capabilities={"auth": {"_meta": note}, "elicitation": {"form": {"_meta": note}}}).capabilities
    assert can.group_meta == {"auth": note, "elicitation.form": note}
    agent = answered(capabilities={"session": {"prompt": {"image": {"_meta": note}}, "_meta": note}}).capabilities
    assert agent.group_meta == {"session.prompt.image": note, "session": note}
    written = plain(speaker().result_to_wire(OFFER, InitializeResult(version=2, info=INFO, capabilities=agent)))
    assert written["capabilities"] == {"session": {"prompt": {"image": {"_meta": note}}, "_meta": note}}


def test_who_speaks_is_always_told() -> None:
    asked = Initialize(version=2, info=None, capabilities=ClientCapabilities())
    unknown = {"name": "unknown", "version": "unknown"}
    assert plain(speaker().request_to_wire(asked)[1])["info"] == unknown
    answer = InitializeResult(version=2, info=None, capabilities=AgentCapabilities())
    assert plain(speaker().result_to_wire(OFFER, answer))["info"] == unknown


@pytest.mark.parametrize("info", [None, "trowel", {"name": "trowel"}])
@pytest.mark.parametrize("strict", [False, True])
def test_an_offer_of_v2_must_say_who_speaks(info: Any, strict: bool) -> None:
    with pytest.raises(InvalidParams) as refused:
        offered(strict, info=info)
    assert refused.value.data["field"].startswith("info")


@pytest.mark.parametrize("info", [None, "trowel", {"name": "trowel"}])
def test_of_an_offer_of_a_newer_version_only_the_number_must_be_understood(info: Any) -> None:
    asked = offered(protocolVersion=9, info=info, capabilities="all of them")
    assert asked.version == 9
    assert asked.info == Implementation(name="unknown", version="unknown")
    assert asked.capabilities == ClientCapabilities(
        boolean_options=True, notices=True, compaction=True, display_terminals=True
    )


@pytest.mark.parametrize("version", ["2", True, 2.5, -1, None])
def test_a_version_is_a_whole_number(version: Any) -> None:
    """FN-45: a version that is no number is refused."""
    with pytest.raises(InvalidParams) as refused:
        offered(protocolVersion=version)
    assert refused.value.data["field"] == "protocolVersion"


@pytest.mark.parametrize("strict", [False, True])
def test_an_offer_may_carry_v1s_shape_beside_v2s(strict: bool) -> None:
    asked = offered(strict, clientInfo=WIRE_INFO, clientCapabilities={"fs": {"readTextFile": True}})
    assert asked == offered()


def test_an_answer_must_say_who_speaks() -> None:
    with pytest.raises(Malformed, match="info"):
        V2().result_from_wire(OFFER, raw({"protocolVersion": 2, "agentInfo": WIRE_INFO}))


def test_ways_to_log_in_keep_their_types() -> None:
    methods = [
        AgentLogin(id="key", name="Key"),
        TerminalLogin(id="tui", name="Terminal", args=["login"], env={"TERM": "xterm"}),
        Unknown(tag="_smoke", raw={"type": "_smoke", "methodId": "s", "name": "Smoke", "colour": "white"}),
    ]
    answer = InitializeResult(version=2, info=INFO, capabilities=AgentCapabilities(logout=True), auth_methods=methods)
    written = plain(speaker().result_to_wire(OFFER, answer))["authMethods"]
    assert written == [
        {"type": "agent", "methodId": "key", "name": "Key"},
        {
            "type": "terminal",
            "methodId": "tui",
            "name": "Terminal",
            "args": ["login"],
            "env": [{"name": "TERM", "value": "xterm"}],
        },
        {"type": "_smoke", "methodId": "s", "name": "Smoke", "colour": "white"},
    ]
    assert answered(authMethods=written).auth_methods == methods


def test_logging_in_and_out_have_v2s_names() -> None:
    dialect = speaker()
    method, params = dialect.request_to_wire(Authenticate(method_id="key"))
    assert (method, plain(params)) == ("auth/login", {"methodId": "key"})
    method, params = dialect.request_to_wire(Logout())
    assert (method, plain(params)) == ("auth/logout", {})
