"""What v2 cannot say: for each row of the loss table, the loss is noted and something else is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from accord.dialects.translation_losses import loss_table
from accord.dialects.v2 import V2
from accord.session.capabilities import AgentCapabilities, AgentLogin, ClientCapabilities, Implementation, TerminalLogin
from accord.session.content import Annotations, Content, ResourceLink, Text
from accord.session.entities import Diff, EmptyGroup, FileChange, Mode, Modes, Option, OptionChoice
from accord.session.requests import Initialize, InitializeResult, NewSession, SessionSetup
from accord.session.updates import (
    MessageAppend,
    ModePatch,
    OptionsPatch,
    PromptPatch,
    ToolCallAppend,
    ToolCallPatch,
    UnknownPatch,
)
from tests.dialects.json_values import plain
from tests.dialects.v2.speaking import SESSION, updates_of

INFO = Implementation(name="trowel", version="1.0")
WHOLE = AgentCapabilities(load=True, resume=True, list=True, close=True)
WHOLE_LOGOUT = replace(WHOLE, logout=True)
LINK = {"type": "resource_link", "uri": "a:b", "name": "b"}
SMALL = OptionChoice(value="small", name="Small")
LARGE = OptionChoice(value="large", name="Large", group="big")
MODES = Modes(current="ask", available=[Mode(id="ask", name="Ask")])


def offer(dialect: V2, **can: Any) -> Any:
    asked = Initialize(version=2, info=INFO, capabilities=ClientCapabilities(**can))
    return plain(dialect.request_to_wire(asked)[1])["capabilities"]


def accept(dialect: V2, can: AgentCapabilities, **more: Any) -> Any:
    asked = Initialize(version=2, info=INFO, capabilities=ClientCapabilities())
    answer = InitializeResult(version=2, info=INFO, capabilities=can, **more)
    return plain(dialect.result_to_wire(asked, answer))


def said(dialect: V2, block: Content) -> Any:
    [update] = updates_of(dialect, MessageAppend(role="agent", id="m", content=block))
    return update["content"]


def hint(priority: float) -> Any:
    return {"type": "text", "text": "hi", "annotations": {"priority": priority}}


def options(dialect: V2, *choices: OptionChoice, value: str | None = "small", **more: Any) -> Any:
    option = Option(id="model", name="Model", value=value, choices=list(choices), **more)
    [update] = updates_of(dialect, OptionsPatch(options=[option]))
    return [each["options"] for each in update["configOptions"]]


def opened(dialect: V2, **fields: Any) -> Any:
    answer = SessionSetup(session_id=SESSION, **fields)
    return plain(dialect.result_to_wire(NewSession(cwd="/srv"), answer))


def changed_file(dialect: V2) -> Any:
    change = FileChange(operation="modify", path="/a", old_text="dry\n", new_text="wet\n")
    [update] = updates_of(dialect, ToolCallAppend(id="c1", item=Diff(changes=[change])))
    return update["content"]


PATCH = "diff --git /a /a\n--- /a\n+++ /a\n@@ -1 +1 @@\n-dry\n+wet\n"
FLAT = [{"value": "small", "name": "Small"}, {"value": "large", "name": "Large"}]
TAKEN = Option(id="mode", name="Mode", value="small", choices=[SMALL])
LOGIN = TerminalLogin(id="tui", name="Terminal")

CASES: list[tuple[str, str, Callable[[V2], Any], Any]] = [
    (
        "diff-texts",
        "/a",
        changed_file,
        {
            "type": "diff",
            "changes": [{"operation": "modify", "path": "/a"}],
            "patch": {"format": "git_patch", "text": PATCH},
        },
    ),
    ("mode", SESSION, lambda dialect: updates_of(dialect, ModePatch(mode_id="code")), []),
    (
        "mode",
        SESSION,
        lambda dialect: [each["configId"] for each in opened(dialect, modes=MODES, options=[TAKEN])["configOptions"]],
        ["mode"],
    ),
    ("empty-select", "model", options, []),
    ("empty-select", "model", lambda dialect: options(dialect, SMALL, value=None), []),
    ("option-groups", "model", lambda dialect: options(dialect, SMALL, LARGE), [FLAT]),
    (
        "empty-group",
        "none",
        lambda dialect: options(dialect, SMALL, empty_groups=[EmptyGroup(id="none", name="None")]),
        [FLAT[:1]],
    ),
    (
        "priority",
        "annotations",
        lambda dialect: said(dialect, Text("hi", annotations=Annotations(priority=7))),
        hint(1.0),
    ),
    (
        "priority",
        "annotations",
        lambda dialect: said(dialect, Text("hi", annotations=Annotations(priority=-1))),
        hint(0.0),
    ),
    ("size", "a:b", lambda dialect: said(dialect, ResourceLink(uri="a:b", name="b", size=-1)), LINK),
    ("size", "a:b", lambda dialect: said(dialect, ResourceLink(uri="a:b", name="b", size=2**64)), LINK),
    (
        "login-type",
        "p",
        lambda dialect: accept(dialect, WHOLE_LOGOUT, auth_methods=[AgentLogin("p", "P", raw={"type": "pigeon"})])[
            "authMethods"
        ],
        [{"type": "agent", "methodId": "p", "name": "P"}],
    ),
    (
        "logout",
        "initialize",
        lambda dialect: accept(dialect, WHOLE, auth_methods=[AgentLogin("a", "A")])["authMethods"],
        [{"type": "agent", "methodId": "a", "name": "A"}],
    ),
    ("logout", "initialize", lambda dialect: accept(dialect, WHOLE_LOGOUT)["authMethods"], []),
    ("models", "models", lambda dialect: opened(dialect, models={"currentModelId": "x"}), {"sessionId": SESSION}),
    (
        "update-type",
        "state_update",
        lambda dialect: updates_of(
            dialect, UnknownPatch(tag="state_update", raw={"sessionUpdate": "state_update", "state": "idle"})
        ),
        [],
    ),
    (
        "ended-without-result",
        "c1",
        lambda dialect: updates_of(dialect, ToolCallPatch(id="c1", ended_without_result=True)),
        [{"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "failed"}],
    ),
    ("prompt", "u", lambda dialect: updates_of(dialect, PromptPatch(id="u", not_accepted=True)), []),
    ("client-resources", "initialize", lambda dialect: offer(dialect, read_files=True), {}),
    ("client-resources", "initialize", lambda dialect: offer(dialect, write_files=True), {}),
    ("client-resources", "initialize", lambda dialect: offer(dialect, terminals=True), {}),
    (
        "mcp-sse",
        "initialize",
        lambda dialect: accept(dialect, AgentCapabilities(load=True, resume=True, list=True, close=True, mcp_sse=True))[
            "capabilities"
        ],
        {"session": {"mcp": {"stdio": {}}}},
    ),
    (
        "session-baseline",
        "initialize",
        lambda dialect: accept(dialect, AgentCapabilities(load=True, resume=True, list=True))["capabilities"],
        {"session": {"mcp": {"stdio": {}}}},
    ),
    ("terminal-login", "tui", lambda dialect: accept(dialect, WHOLE_LOGOUT, auth_methods=[LOGIN])["authMethods"], []),
]


@pytest.mark.parametrize(("row", "what", "say", "instead"), CASES, ids=[case[0] for case in CASES])
def test_what_cannot_be_said_is_noted(row: str, what: str, say: Callable[[V2], Any], instead: Any) -> None:
    dialect = V2()
    assert say(dialect) == instead
    assert [(loss.row, loss.what) for loss in dialect.losses] == [(row, what)]


def test_each_row_of_v2_is_tested_here() -> None:
    assert {case[0] for case in CASES} == {row.id for row in loss_table().values() if "v2" in row.dialects}
