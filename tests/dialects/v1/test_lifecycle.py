"""The handshake of v1: whatever is not said is off, and what is on is said."""

from __future__ import annotations

from typing import Any

import pytest

from accord.dialects.dialect import Dialect
from accord.dialects.v1 import V1
from accord.dialects.v2 import V2
from accord.dialects.v2_draft import V2Draft
from accord.session.capabilities import (
    AgentCapabilities,
    AgentLogin,
    ClientCapabilities,
    Implementation,
    LoginVariable,
    TerminalLogin,
    VariableLogin,
)
from accord.session.requests import Initialize, InitializeResult
from tests.dialects.json_values import plain, raw
from tests.dialects.telling import ABLE
from tests.dialects.v1.speaking import speaker

OFFER = Initialize(version=1, info=None, capabilities=ClientCapabilities())


def read_offer(**said: Any) -> ClientCapabilities:
    word: Any = speaker().request_from_wire("initialize", raw({"protocolVersion": 1, **said}), "client")
    return word.capabilities


def read_answer(**said: Any) -> InitializeResult:
    return speaker().result_from_wire(OFFER, raw({"protocolVersion": 1, **said}))


@pytest.mark.requirement("INIT-03", "INIT-04", "INIT-20", "INIT-21", "INIT-22", "INIT-23")
def test_a_client_says_its_version_and_what_it_can_do():
    info = Implementation(name="editor", version="1", title="Editor")
    can = ClientCapabilities(read_files=True, terminals=True, terminal_login=True, form_elicitation=True, notices=True)
    method, params = speaker().request_to_wire(Initialize(version=1, info=info, capabilities=can))
    assert method == "initialize"
    assert plain(params) == {
        "protocolVersion": 1,
        "clientInfo": {"name": "editor", "version": "1", "title": "Editor"},
        "clientCapabilities": {
            "fs": {"readTextFile": True, "writeTextFile": False},
            "terminal": True,
            "session": {"notices": {}},
            "auth": {"terminal": True},
            "elicitation": {"form": {}},
        },
    }


@pytest.mark.requirement("INIT-06", "INIT-07", "INIT-09", "INIT-24", "AMB-12")
def test_an_agent_says_its_version_what_it_can_do_and_always_how_to_log_in():
    can = AgentCapabilities(load=True, image=True, mcp_http=True, list=True, logout=True)
    answer = InitializeResult(version=1, info=Implementation(name="agent", version="2"), capabilities=can)
    assert plain(speaker().result_to_wire(OFFER, answer)) == {
        "protocolVersion": 1,
        "agentInfo": {"name": "agent", "version": "2"},
        "agentCapabilities": {
            "loadSession": True,
            "promptCapabilities": {"image": True, "audio": False, "embeddedContext": False},
            "mcpCapabilities": {"http": True, "sse": False},
            "sessionCapabilities": {"list": {}},
            "auth": {"logout": {}},
        },
        "authMethods": [],
    }


@pytest.mark.requirement("INIT-05", "INIT-17", "INIT-19", "AMB-12", "AMB-70")
def test_what_is_left_out_is_off():
    assert read_offer() == ClientCapabilities()
    assert read_offer(clientCapabilities={}) == ClientCapabilities()
    assert read_answer().capabilities == AgentCapabilities()
    assert read_answer(agentCapabilities={"promptCapabilities": {}}).capabilities == AgentCapabilities()
    assert read_answer().auth_methods == []
    assert read_answer(authMethods=None).auth_methods == []


@pytest.mark.parametrize("value", [None, "true", 1, 0, [], {}])
@pytest.mark.requirement("AMB-13", "INIT-19")
def test_a_flag_that_is_anything_but_true_is_off(value: Any):
    said = {"terminal": value, "fs": {"readTextFile": value, "writeTextFile": value}, "auth": {"terminal": value}}
    assert read_offer(clientCapabilities=said) == ClientCapabilities()
    prompt = {"image": value, "audio": value, "embeddedContext": value}
    said = {"loadSession": value, "promptCapabilities": prompt, "mcpCapabilities": {"http": value, "sse": value}}
    assert read_answer(agentCapabilities=said).capabilities == AgentCapabilities()


@pytest.mark.parametrize("value", [None, True, "yes", []])
@pytest.mark.requirement("AMB-13", "INIT-19")
def test_a_marker_that_is_no_object_is_off(value: Any):
    said = {"session": {"notices": value, "compaction": value, "configOptions": {"boolean": value}}}
    assert read_offer(clientCapabilities={**said, "elicitation": {"form": value, "url": value}}) == ClientCapabilities()
    names = ("list", "resume", "close", "delete", "additionalDirectories", "fork")
    said = {"sessionCapabilities": dict.fromkeys(names, value), "auth": {"logout": value}}
    assert read_answer(agentCapabilities=said).capabilities == AgentCapabilities()


def test_elicitation_without_a_mode_unlocks_nothing():
    assert read_offer(clientCapabilities={"elicitation": {}}) == ClientCapabilities()


@pytest.mark.requirement("EXT-12")
def test_what_implementers_advertise_in_meta_is_kept_where_it_stood():
    fs, group = {"acme/search": True}, {"acme/x": 1}
    can = read_offer(clientCapabilities={"fs": {"_meta": fs}, "session": {"_meta": group}, "_meta": {"top": 1}})
    assert (can.meta, can.group_meta) == ({"top": 1}, {"fs": fs, "session": group})
    agent = read_answer(agentCapabilities={"promptCapabilities": {"_meta": group}, "_meta": {"top": 2}}).capabilities
    assert (agent.meta, agent.group_meta) == ({"top": 2}, {"session.prompt": group})


@pytest.mark.requirement("AUTH-02", "AUTH-03", "AUTH-04")
def test_ways_to_log_in_go_both_ways_and_one_of_an_unknown_type_is_the_agents():
    said = [
        {"id": "a", "name": "A", "description": "In the browser"},
        {"id": "t", "name": "T", "type": "terminal", "args": ["login"], "env": {"X": "1"}},
        {"id": "n", "name": "N", "type": "carrier_pigeon", "birds": 2},
    ]
    methods = read_answer(authMethods=said).auth_methods
    assert methods == [
        AgentLogin("a", "A", description="In the browser"),
        TerminalLogin("t", "T", args=["login"], env={"X": "1"}),
        AgentLogin("n", "N", raw=said[2]),
    ]
    answer = InitializeResult(version=1, info=None, capabilities=AgentCapabilities(), auth_methods=methods)
    assert plain(speaker().result_to_wire(OFFER, answer))["authMethods"] == said


@pytest.mark.requirement("INIT-18")
def test_a_way_to_log_in_that_does_not_parse_leaves_the_others():
    assert read_answer(authMethods=[{"id": "a", "name": "A"}, {"id": "b"}, 7]).auth_methods == [AgentLogin("a", "A")]


def test_a_client_that_can_do_everything_says_so():
    word = Initialize(version=1, info=None, capabilities=ABLE)
    again: Any = speaker(strict=True).request_from_wire(
        "initialize", raw(plain(speaker().request_to_wire(word)[1])), "client"
    )
    assert again == word


KEY = {
    "id": "key",
    "name": "API key",
    "type": "env_var",
    "vars": [{"name": "ACME_KEY", "label": "Key"}, {"name": "ACME_URL", "optional": True, "secret": False}, 5],
    "link": "https://acme.example/keys",
}


@pytest.mark.parametrize("dialect", [V1, V2, V2Draft])
def test_a_login_by_variables_keeps_them_in_every_version(dialect: type[Dialect]):
    [method] = read_answer(authMethods=[KEY]).auth_methods
    variables = [LoginVariable("ACME_KEY", label="Key"), LoginVariable("ACME_URL", secret=False, optional=True)]
    assert method == VariableLogin("key", "API key", variables, link="https://acme.example/keys")
    answer = InitializeResult(version=1, info=None, capabilities=AgentCapabilities(), auth_methods=[method])
    told = plain(dialect().result_to_wire(OFFER, answer))
    assert dialect().result_from_wire(OFFER, raw(told)).auth_methods == [method]


UNSTABLE = {
    "providers": {"x": 1},
    "session.status": {},
    "session.title": {},
    "session.archive": {},
    "session.systemPrompt": {"modes": {}},
    "session.subagents": {"_meta": {"a": 1}},
    "session.mcp.acp": {},
    "auth.status": {},
}


@pytest.mark.parametrize("dialect", [V1, V2, V2Draft])
def test_capabilities_of_no_published_version_are_kept_in_every_version(dialect: type[Dialect]):
    said = {
        "loadSession": True,
        "providers": {"x": 1},
        "sessionCapabilities": {
            "resume": {},
            "list": {},
            "close": {},
            "status": {},
            "title": {},
            "archive": {},
            "systemPrompt": {"modes": {}},
            "subagents": {"_meta": {"a": 1}},
        },
        "mcpCapabilities": {"acp": True},
        "auth": {"status": {}},
    }
    can = read_answer(agentCapabilities=said).capabilities
    assert can.unstable == UNSTABLE
    told = plain(dialect().result_to_wire(OFFER, InitializeResult(version=1, info=None, capabilities=can)))
    assert dialect().result_from_wire(OFFER, raw(told)).capabilities.unstable == UNSTABLE
