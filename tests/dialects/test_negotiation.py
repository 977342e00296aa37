"""Which version and dialect a connection speaks, for every offer and every answer."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from accord.dialects.negotiation import accepted, negotiate, offer
from accord.dialects.v1 import V1
from accord.dialects.v2 import V2
from accord.dialects.v2_draft import V2Draft
from accord.errors import InvalidParams, Malformed, VersionRefused
from accord.session.capabilities import AgentCapabilities, ClientCapabilities, Implementation
from accord.session.requests import Initialize, InitializeResult
from tests.dialects.json_values import plain, raw
from tests.dialects.telling import ABLE

INFO = {"name": "editor", "version": "1"}
WHO = Implementation(name="editor", version="1")
CAPABILITIES_OF_V1 = {"fs": {"readTextFile": True}, "terminal": True}
CAPABILITIES_OF_V2 = {"auth": {"terminal": {}}, "elicitation": {"form": {}}}


def offered(version: Any, **members: Any) -> Raw:
    return raw({"protocolVersion": version, **members})


def chosen(version: int, versions: tuple[int, ...] = (1, 2), **members: Any) -> tuple[str, Initialize]:
    dialect, word = negotiate(offered(version, **members), versions)
    assert dialect.client is word.capabilities
    return dialect.name, word


@pytest.mark.parametrize(
    ("version", "members", "versions", "spoken"),
    [
        (1, {}, (1, 2), "v1"),
        (1, {"clientInfo": INFO}, (1, 2), "v1"),
        (1, {"info": INFO}, (1, 2), "v1"),
        (2, {"info": INFO}, (1, 2), "v2"),
        (2, {"info": INFO, "clientInfo": INFO, "clientCapabilities": {}}, (1, 2), "v2"),
        (2, {}, (1, 2), "v2 draft"),
        (2, {"info": None, "capabilities": {}}, (1, 2), "v2 draft"),
        (2, {"clientInfo": INFO, "clientCapabilities": {}}, (1, 2), "v2 draft"),
        (2, {}, (1,), "v1"),
        (2, {"info": INFO}, (1,), "v1"),
        (3, {"info": INFO}, (1, 2), "v2"),
        (999, {"clientCapabilities": {}}, (1, 2), "v2 draft"),
        (65535, {"info": INFO}, (1,), "v1"),
        (0, {}, (1, 2), "v2 draft"),
        (0, {}, (1,), "v1"),
        (1, {}, (2,), "v2 draft"),
    ],
)
@pytest.mark.requirement("INIT-06", "INIT-13", "INIT-14", "INIT-15", "AMB-15", "RPC-30")
def test_an_agent_speaks_the_newest_that_is_not_above_the_offer(
    version: int, members: Any, versions: tuple[int, ...], spoken: str
):
    name, word = chosen(version, versions, **members)
    assert name == spoken
    assert word.version == version


@pytest.mark.parametrize(("version", "versions"), [(0, (1, 2)), (0, (1,)), (1, (2,))])
def test_an_offer_of_v2_that_is_older_than_all_the_agent_has_is_refused(version: int, versions: tuple[int, ...]):
    with pytest.raises(VersionRefused) as refused:
        negotiate(offered(version, info=INFO), versions)
    assert refused.value.to_error()[0] == -32022
    assert refused.value.data == {"requested": version, "supported": list(versions)}


@pytest.mark.parametrize("version", ["1", True, False, 1.0, 1.5, -1, 65536, 2**80, None, [], {}, "2024-11-05"])
@pytest.mark.requirement("INIT-04", "INIT-10", "INIT-11", "AMB-14")
def test_a_version_that_is_no_number_of_sixteen_bits_is_refused(version: Any):
    """FN-45: a text, a truth value or a fraction is no version."""
    for members in ({}, {"info": INFO}):
        with pytest.raises(InvalidParams) as refused:
            negotiate(offered(version, **members))
        assert refused.value.field == "protocolVersion"
        assert refused.value.reason is not None
        assert "integer from 0 to 65535" in refused.value.reason


def test_the_refusal_of_a_version_quotes_no_more_than_a_few_characters():
    with pytest.raises(InvalidParams) as refused:
        negotiate(offered("x" * 100_000))
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize("params", [b"[]", b"null", b"1", b'"x"', b"{}"])
def test_params_without_a_version_are_refused(params: bytes):
    with pytest.raises(InvalidParams):
        negotiate(Raw(params))


@pytest.mark.requirement("AMB-09", "INIT-05", "INIT-18")
def test_what_the_client_can_do_is_read_from_the_request():
    _, of_v1 = chosen(1, clientInfo=INFO, clientCapabilities=CAPABILITIES_OF_V1)
    assert (of_v1.info, of_v1.capabilities) == (WHO, ClientCapabilities(read_files=True, terminals=True))
    _, of_v2 = chosen(2, info=INFO, capabilities=CAPABILITIES_OF_V2)
    assert of_v2.info == WHO
    assert of_v2.capabilities.terminal_login
    assert of_v2.capabilities.form_elicitation
    _, of_draft = chosen(2, clientInfo=INFO, clientCapabilities=CAPABILITIES_OF_V1)
    assert (of_draft.info, of_draft.capabilities) == (WHO, ClientCapabilities(read_files=True, terminals=True))


@pytest.mark.requirement("AMB-16")
def test_a_client_of_the_draft_may_use_either_shape_or_both():
    _, word = chosen(2, clientCapabilities={"terminal": True}, capabilities={"fs": {"readTextFile": {}}})
    assert word.capabilities == ClientCapabilities(read_files=True, terminals=True)


def test_an_offer_of_a_newer_version_is_read_leniently():
    name, word = chosen(7, info={"shape": "new"}, capabilities={"auth": ["future"]}, future=True)
    assert (name, word.info) == ("v2", Implementation(name="unknown", version="unknown"))
    assert not word.capabilities.terminal_login
    dialect, _ = negotiate(offered(7, info=INFO, future=True), strict=True)
    assert (dialect.name, dialect.strict) == ("v2", True)


def test_an_offer_of_v2_has_to_say_who_offers():
    with pytest.raises(InvalidParams):
        negotiate(offered(2, info={"name": 1}))


def test_an_offer_of_v2_that_is_answered_with_v1_is_put_into_its_words():
    _, word = chosen(2, (1,), info=INFO, capabilities={**CAPABILITIES_OF_V2, "fs": {"readTextFile": True}})
    assert word.info == WHO
    assert word.capabilities == ClientCapabilities(terminal_login=True, form_elicitation=True, boolean_options=True)


def test_an_offer_in_both_shapes_that_is_answered_with_v1_is_read_as_v1():
    said = {"info": INFO, "capabilities": CAPABILITIES_OF_V2}
    _, word = chosen(2, (1,), **said, clientInfo=INFO, clientCapabilities=CAPABILITIES_OF_V1)
    assert word.capabilities == ClientCapabilities(read_files=True, terminals=True)
    _, word = chosen(2, (1,), **said, clientInfo=INFO)
    assert word.capabilities == ClientCapabilities()


def test_an_offer_of_the_draft_that_is_answered_with_v1_keeps_files_and_terminals():
    _, word = chosen(2, (1,), capabilities=CAPABILITIES_OF_V1)
    assert word.capabilities == ClientCapabilities(read_files=True, terminals=True, boolean_options=True)


@pytest.mark.parametrize("capabilities", ["all", 7, [], {"auth": 1, "elicitation": 2}, None])
def test_capabilities_that_cannot_be_read_are_none(capabilities: Any):
    _, word = chosen(2, (1,), info=INFO, capabilities=capabilities)
    assert not word.capabilities.terminal_login
    assert not word.capabilities.form_elicitation


@pytest.mark.requirement("COMPAT-14")
def test_strict_mode_takes_only_the_members_of_the_version_and_our_own_offer():
    for params in (offer("auto", WHO, ABLE), offer(1, WHO, ABLE), offer(2, WHO, ABLE), offer("2-draft", WHO, ABLE)):
        dialect, _ = negotiate(raw(params), strict=True)
        assert dialect.strict
    for params in (offered(1, info=INFO), offered(2, info=INFO, extra=1), offered(1, extra=1)):
        negotiate(params)
        with pytest.raises(InvalidParams):
            negotiate(params, strict=True)


@pytest.mark.requirement("INIT-03", "EXT-02")
def test_a_client_offers_two_in_both_shapes_or_only_what_it_is_told_to():
    assert offer("auto", WHO).keys() == {
        "protocolVersion",
        "info",
        "capabilities",
        "clientInfo",
        "clientCapabilities",
    }
    assert offer(1, WHO).keys() == {"protocolVersion", "clientInfo", "clientCapabilities"}
    assert offer("2-draft", WHO).keys() == {"protocolVersion", "clientInfo", "clientCapabilities"}
    assert offer(2, WHO).keys() == {"protocolVersion", "info", "capabilities"}
    versions = [offer(each)["protocolVersion"] for each in ("auto", 1, 2, "2-draft")]
    assert versions == [2, 1, 2, 2]
    assert offer(2)["info"] == {"name": "unknown", "version": "unknown"}


FLAGS = [name for name in ClientCapabilities.__struct_fields__ if name not in ("meta", "group_meta")]
PATHS = ["fs", "session", "session.configOptions", "session.notices", "auth", "elicitation", "elicitation.form"]
METAS = st.dictionaries(st.text(max_size=3), st.integers(0, 9), max_size=2)


@given(
    st.builds(
        ClientCapabilities,
        **{name: st.booleans() for name in FLAGS},
        group_meta=st.dictionaries(st.sampled_from(PATHS), METAS, max_size=3),
        meta=st.none() | METAS,
    ),
    st.none()
    | st.builds(Implementation, name=st.text(max_size=3), version=st.text(max_size=3), title=st.none() | st.text()),
)
@settings(max_examples=60)
@pytest.mark.requirement("INIT-20")
def test_an_offer_is_what_the_dialects_would_write(can: ClientCapabilities, info: Implementation | None):
    for version, dialect in ((1, V1()), (2, V2()), ("2-draft", V2Draft())):
        word = Initialize(version=dialect.version, info=info, capabilities=can)
        assert offer(version, info, can) == plain(dialect.request_to_wire(word)[1])  # pyright: ignore[reportArgumentType]
    assert offer("auto", info, can) == {**offer(1, info, can), **offer(2, info, can)}


def answer(version: Any, **members: Any) -> Raw:
    return raw({"protocolVersion": version, **members})


V1_SHAPE = {"agentCapabilities": {"loadSession": True}, "agentInfo": {"name": "echo", "version": "1"}}
V2_SHAPE = {"info": {"name": "agent", "version": "1"}, "capabilities": {"session": {}}}


@pytest.mark.parametrize(
    ("version", "members", "asked", "spoken"),
    [
        (1, V1_SHAPE, "auto", "v1"),
        (1, {}, "auto", "v1"),
        (1, V1_SHAPE, 1, "v1"),
        (2, V2_SHAPE, "auto", "v2"),
        (2, V2_SHAPE, 2, "v2"),
        (2, V1_SHAPE, "auto", "v2 draft"),
        (2, {}, "auto", "v2 draft"),
        (2, {"capabilities": {"session": {"load": {}}}}, "auto", "v2 draft"),
        (2, V1_SHAPE, "2-draft", "v2 draft"),
        (2, {**V1_SHAPE, **V2_SHAPE}, "2-draft", "v2 draft"),
        (2, {**V1_SHAPE, **V2_SHAPE}, "auto", "v2"),
        (999, V1_SHAPE, "auto", "v1"),
        (999, V1_SHAPE, 1, "v1"),
        (0, V1_SHAPE, "auto", "v1"),
    ],
)
@pytest.mark.requirement("INIT-07", "INIT-08", "INIT-13")
def test_the_shape_of_an_answer_decides_as_well_as_its_number(version: int, members: Any, asked: Any, spoken: str):
    """FN-90: six agents repeat any version that they are offered and speak v1."""
    dialect, word = accepted(answer(version, **members), asked)
    assert dialect.name == spoken
    assert word.version == version
    if "agentCapabilities" in members and spoken != "v2":
        assert word.capabilities.load


@pytest.mark.parametrize("asked", ["auto", 1, 2, "2-draft"])
@pytest.mark.parametrize("version", ["1", "2024-11-05", True, 1.0, None, 3, 65536, 2**80, {"x": "y" * 1000}])
@pytest.mark.requirement("INIT-10", "INIT-11", "INIT-16", "AMB-14")
def test_an_answer_that_is_none_of_our_versions_is_refused_by_name(version: Any, asked: Any):
    """FN-45: the error names what was answered, and by whom."""
    with pytest.raises(VersionRefused) as refused:
        accepted(answer(version, **V2_SHAPE), asked)
    text = str(refused.value)
    assert text.startswith(f"The agent 'agent' answered with protocol version {json.dumps(version)[:40]}")
    assert len(text) < 500


@pytest.mark.parametrize(
    ("version", "members", "asked"),
    [(1, V1_SHAPE, 2), (1, V1_SHAPE, "2-draft"), (2, V1_SHAPE, 2), (2, V2_SHAPE, 1), (2, V1_SHAPE, 1), (3, {}, "auto")],
)
@pytest.mark.requirement("INIT-16")
def test_an_answer_that_was_not_offered_is_refused(version: int, members: Any, asked: Any):
    with pytest.raises(VersionRefused) as refused:
        accepted(answer(version, **members), asked)
    assert refused.value.requested == version
    assert refused.value.supported == ([1, 2] if asked == "auto" else [2 if asked == "2-draft" else asked])


def test_two_in_the_shape_of_v1_is_said_to_be_so():
    with pytest.raises(VersionRefused, match="The agent 'echo' answered with protocol version 2, in the shape of v1"):
        accepted(answer(2, **V1_SHAPE), 2)
    with pytest.raises(VersionRefused, match=r"^The agent answered"):
        accepted(answer("x", agentInfo="?"), 1)


@pytest.mark.parametrize("result", [b"null", b"[]", b"{}", b"7"])
@pytest.mark.requirement("INIT-07")
def test_an_answer_without_a_version_is_malformed(result: bytes):
    with pytest.raises(Malformed):
        accepted(Raw(result))


def test_an_answer_of_v2_that_does_not_fit_is_malformed():
    with pytest.raises(Malformed, match="info"):
        accepted(answer(2, info={"name": 1}))


@pytest.mark.parametrize("versions", [(1, 2), (1,), (2,)])
@pytest.mark.parametrize("asked", ["auto", 1, 2, "2-draft"])
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.requirement("INIT-13", "INIT-14")
def test_our_agent_and_our_client_agree(versions: tuple[int, ...], asked: Any, strict: bool):
    agent, word = negotiate(raw(offer(asked, WHO, ABLE)), versions, strict=strict)
    can = AgentCapabilities(load=True, resume=True, list=True, close=True, image=True, logout=False)
    result = agent.result_to_wire(word, InitializeResult(version=agent.version, info=WHO, capabilities=can))
    wanted = {"auto": versions[-1], "2-draft": 2}.get(asked, asked)
    if agent.version != wanted:
        with pytest.raises(VersionRefused):
            accepted(raw(plain(result)), asked, ABLE, strict=strict)
        return
    client, heard = accepted(raw(plain(result)), asked, ABLE, strict=strict)
    assert client.name == agent.name
    assert (heard.info, heard.capabilities) == (WHO, can)
    assert client.client is ABLE


@pytest.mark.parametrize(
    ("params", "loaded"),
    [
        (None, set()),
        ({"protocolVersion": 1}, {"v1"}),
        ({"protocolVersion": 2, "info": INFO}, {"v2"}),
        ({"protocolVersion": 2}, {"v1", "v2", "v2_draft"}),
    ],
)
def test_only_the_schema_of_the_negotiated_version_is_loaded(params: Any, loaded: set[str]):
    program = f"""
import sys, msgspec
from accord.dialects.negotiation import negotiate, offer
offer("auto")
params = {params!r}
if params: negotiate(msgspec.Raw(msgspec.json.encode(params)))
print(*[name for name in ("v1", "v2", "v2_draft") if f"accord.schema.{{name}}" in sys.modules])
"""
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(finished.stdout.split()) == loaded


DEEP = b"[" * 1_000_000 + b"]" * 1_000_000


@pytest.mark.parametrize(
    "offer_text",
    [
        b'{"protocolVersion":%s}' % DEEP,
        b'{"protocolVersion":1,"info":{"name":"\xff","version":"1"}}',
        b'{"protocolVersion":1,"capabilities":{"a":%s}}' % DEEP,
        b'{"protocolVersion":1,"capabilities":{"a":%s}}' % (b"9" * 5000),
    ],
)
def test_an_offer_that_cannot_be_read_is_invalid_params_and_nothing_else(offer_text: bytes):
    with pytest.raises(InvalidParams):
        negotiate(Raw(offer_text))


@pytest.mark.parametrize("version", [DEEP, b"9" * 5000, b'"\xff"'])
def test_an_answer_that_cannot_be_read_is_one_of_our_own_errors(version: bytes):
    with pytest.raises((Malformed, VersionRefused)):
        accepted(Raw(b'{"protocolVersion":%s,"agentInfo":{"name":"\xff"}}' % version))
