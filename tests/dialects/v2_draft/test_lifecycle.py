"""The handshake of the draft: read in either shape, answered in both."""

from __future__ import annotations

from typing import Any

import pytest

from accord.session.capabilities import (
    AgentCapabilities,
    AgentLogin,
    ClientCapabilities,
    Implementation,
    TerminalLogin,
)
from accord.session.mcp_servers import Pairs
from accord.session.requests import Initialize, InitializeResult
from tests.dialects.json_values import plain, raw
from tests.dialects.telling import ABLE
from tests.dialects.v2_draft.speaking import speaker

WHO = Implementation(name="agent", version="2", title="Agent")
OFFER = Initialize(version=2, info=None, capabilities=ClientCapabilities())
ALL = AgentCapabilities(
    load=True,
    resume=True,
    list=True,
    close=True,
    delete=True,
    fork=True,
    additional_directories=True,
    image=True,
    audio=True,
    embedded_context=True,
    mcp_http=True,
    mcp_sse=True,
    logout=True,
)


def answered(**fields: Any) -> Any:
    answer = InitializeResult(version=2, info=fields.pop("info", WHO), capabilities=fields.pop("can", ALL), **fields)
    return plain(speaker().result_to_wire(OFFER, answer))


def heard(**members: Any) -> InitializeResult:
    return speaker().result_from_wire(OFFER, raw({"protocolVersion": 2, **members}))


def offered(**members: Any) -> Initialize:
    word: Any = speaker().request_from_wire("initialize", raw({"protocolVersion": 2, **members}), "client")
    return word


@pytest.mark.parametrize(
    ("members", "clears"),
    [
        ({"capabilities": {}}, True),
        ({"capabilities": {}, "agentCapabilities": {}, "clientCapabilities": {}}, False),
        ({"agentCapabilities": {}, "clientCapabilities": {}}, False),
        ({}, False),
    ],
    ids=["bare", "both", "v1", "none"],
)
@pytest.mark.requirement("AMB-49")
def test_null_clears_after_a_handshake_with_bare_capabilities_only(members: dict[str, Any], clears: bool):
    client, agent = speaker(), speaker()
    client.result_from_wire(OFFER, raw({"protocolVersion": 2, **members}))
    agent.request_from_wire("initialize", raw({"protocolVersion": 2, **members}), "client")
    assert (client.null_clears, agent.null_clears) == (clears, clears)


@pytest.mark.requirement("INIT-06", "AMB-16")
def test_an_agent_answers_in_both_shapes():
    result = answered(can=AgentCapabilities(load=True, image=True))
    info = {"name": "agent", "version": "2", "title": "Agent"}
    assert (result["info"], result["agentInfo"]) == (info, info)
    assert result["agentCapabilities"]["loadSession"] is True
    assert result["capabilities"]["session"] == {"prompt": {"image": {}}, "mcp": {"stdio": {}}, "load": {}}
    assert result["authMethods"] == []


def test_either_shape_of_an_answer_says_all():
    result = answered()
    for shape in (("agentInfo", "agentCapabilities"), ("info", "capabilities")):
        word = heard(**{name: result[name] for name in shape})
        assert (word.info, word.capabilities) == (WHO, ALL)


@pytest.mark.requirement("INIT-08", "INIT-19", "AMB-13", "AMB-70")
def test_what_is_said_nowhere_is_off():
    assert heard().capabilities == AgentCapabilities()
    assert heard(capabilities={"session": {"load": False, "list": None, "prompt": {"image": 1}}}).capabilities == (
        AgentCapabilities()
    )
    assert offered().capabilities == ClientCapabilities()


def test_markers_may_be_booleans_or_objects_in_either_place():
    said = {"loadSession": {}, "promptCapabilities": {"image": {}, "audio": True}, "mcpCapabilities": {"http": {}}}
    sessions = {"resume": True, "list": {}}
    can = heard(capabilities={**said, "sessionCapabilities": sessions, "auth": {"logout": True}}).capabilities
    assert can == AgentCapabilities(
        load=True, image=True, audio=True, mcp_http=True, resume=True, list=True, logout=True
    )


def test_a_client_may_say_what_it_can_in_v2s_place():
    word = offered(
        clientInfo={"name": "c", "version": "1"},
        capabilities={
            "fs": {"readTextFile": True, "writeTextFile": {}},
            "terminal": True,
            "auth": {"terminal": {}},
            "elicitation": {"form": {}, "url": True},
            "session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": True},
        },
    )
    assert word.info == Implementation(name="c", version="1")
    assert word.capabilities == ABLE


def test_what_implementers_advertise_is_kept_where_it_stood():
    note = {"x/y": 1}
    can = heard(
        agentCapabilities={"promptCapabilities": {"_meta": {"old": 1}}},
        capabilities={
            "session": {"mcp": {"_meta": note}, "list": {"_meta": note}},
            "promptCapabilities": {"_meta": note},
        },
    ).capabilities
    assert can.group_meta == {"session.mcp": note, "session.list": note, "session.prompt": {"old": 1}}
    again = plain(speaker().result_to_wire(OFFER, InitializeResult(version=2, info=None, capabilities=can)))
    assert again["capabilities"]["session"]["list"] == {"_meta": note}
    assert again["capabilities"]["session"]["prompt"] == {"_meta": {"old": 1}}
    assert "info" not in again


@pytest.mark.requirement("AUTH-02")
def test_ways_to_log_in_have_both_keys_and_are_read_by_either():
    methods = [AgentLogin("a", "A"), TerminalLogin("t", "T", args=["login"], env={"X": "1"})]
    said = answered(auth_methods=methods)["authMethods"]
    assert said == [
        {"id": "a", "methodId": "a", "name": "A", "type": "agent"},
        {"id": "t", "methodId": "t", "name": "T", "type": "terminal", "args": ["login"], "env": {"X": "1"}},
    ]
    assert heard(authMethods=said).auth_methods == methods
    of_v2 = {"methodId": "t", "name": "T", "type": "terminal", "args": ["login"], "env": [{"name": "X", "value": "1"}]}
    assert heard(authMethods=[{"id": "a", "name": "A"}, of_v2]).auth_methods == methods
    odd = {"id": "b", "name": "B", "type": "_x", "extra": 1}
    (method,) = heard(authMethods=[odd]).auth_methods
    assert method == AgentLogin("b", "B", raw=odd)
    assert answered(auth_methods=[method])["authMethods"] == [{**odd, "methodId": "b"}]


def test_two_variables_of_one_name_are_both_kept():
    twice = [{"name": "X", "value": "1"}, {"name": "X", "value": "2"}]
    said = {"id": "t", "methodId": "t", "name": "T", "type": "terminal", "args": [], "env": twice}
    (method,) = heard(authMethods=[said]).auth_methods
    assert method == TerminalLogin("t", "T", env=Pairs([("X", "1"), ("X", "2")]))
    assert answered(auth_methods=[method])["authMethods"] == [said]


def test_a_detail_of_an_unstable_capability_is_not_lost_to_the_boolean_that_v1_has_for_it():
    can = AgentCapabilities(unstable={"session.mcp.acp": {"a": 1}})
    assert heard(**answered(can=can)).capabilities.unstable == can.unstable
