"""What the draft cannot say: for each row of the loss table, the loss is noted and something else is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from accord.dialects.translation_losses import loss_table
from accord.dialects.v2_draft import V2Draft
from accord.session.capabilities import AgentCapabilities, AgentLogin, ClientCapabilities, TerminalLogin
from accord.session.content import Annotations, Content, ResourceLink, Text
from accord.session.entities import (
    Diff,
    DiffPatch,
    EmptyGroup,
    Exit,
    FileChange,
    Notice,
    Option,
    OptionChoice,
    Plan,
    PlanEntry,
    SlashCommand,
    State,
    TerminalItem,
    Work,
)
from accord.session.requests import (
    CommandSubject,
    ElicitationAnswer,
    ElicitationRequest,
    Initialize,
    InitializeResult,
    NewSession,
    PermissionRequest,
    SessionSetup,
)
from accord.session.updates import (
    CompactionPatch,
    MessageAppend,
    NoticePatch,
    OptionsPatch,
    Patch,
    PlanPatch,
    PromptPatch,
    StatePatch,
    TerminalPatch,
    ToolCallPatch,
    UnknownPatch,
)
from accord.session.value import Unknown
from tests.dialects.json_values import plain
from tests.dialects.telling import ABLE, SESSION, rows_lost, updates_of
from tests.dialects.v2_draft.speaking import speaker

CALL = ToolCallPatch(id="call_1", title="Work")
UNABLE = ClientCapabilities()
GIT_PATCH = "diff --git /w/a /w/a\n--- /w/a\n+++ /w/a\n@@ -7 +7 @@\n-old\n+new\n"


class Case(NamedTuple):
    row: str
    act: Callable[[V2Draft], Any]
    said: Any
    client: ClientCapabilities = ABLE


def told(*reports: Patch | PromptPatch) -> Callable[[V2Draft], Any]:
    """What the last of the reports makes the dialect say."""

    def act(dialect: V2Draft) -> Any:
        before = len(updates_of(speaker(), *reports[:-1]))
        return updates_of(dialect, *reports)[before:]

    return act


def of_call(*content: Any) -> list[Any]:
    return [{"sessionUpdate": "tool_call_update", "toolCallId": "call_1", "content": [*content]}]


def text_item(text: str) -> Any:
    return {"type": "content", "content": {"type": "text", "text": text}}


def change(operation: str, **fields: Any) -> ToolCallPatch:
    patch = fields.pop("patch", None)
    diff = Diff(changes=[FileChange(operation=operation, path="/w/a", **fields)], patch=patch)
    return ToolCallPatch(id="call_1", content=[diff])


def diff(**members: Any) -> list[Any]:
    return of_call({"type": "diff", "path": "/w/a", **members})


def login(*methods: Any) -> Callable[[V2Draft], Any]:
    answer = InitializeResult(version=2, info=None, capabilities=AgentCapabilities(), auth_methods=[*methods])
    offer = Initialize(version=2, info=None, capabilities=UNABLE)
    return lambda dialect: [each["methodId"] for each in plain(dialect.result_to_wire(offer, answer))["authMethods"]]


def opened(dialect: V2Draft) -> Any:
    answer = SessionSetup(session_id=SESSION, commands=[SlashCommand("web", "Search")])
    return plain(dialect.result_to_wire(NewSession(cwd="/w"), answer))


def asked(dialect: V2Draft) -> Any:
    question = PermissionRequest(session_id=SESSION, title="Run?", options=[], subject=CommandSubject("make", "/w"))
    return plain(dialect.request_to_wire(question)[1])["toolCall"]["title"]


HI = {"type": "text", "text": "hi"}
LINK = {"type": "resource_link", "uri": "a:b", "name": "b"}
FORM = ElicitationRequest(
    message="Who?",
    mode="form",
    session_id=SESSION,
    schema={"type": "object", "properties": {"phone": {"type": "string", "format": "_phone"}}},
)


def said(block: Content) -> MessageAppend:
    return MessageAppend(role="agent", id="m", content=block)


def chunk(content: Any) -> list[Any]:
    return [{"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": content}]


MIXED = [OptionChoice(value="a", name="A", group="g", group_name="G"), OptionChoice(value="b", name="B")]

CASES = [
    Case(
        "client-terminal",
        told(CALL, ToolCallPatch(id="call_1", content=[TerminalItem(terminal_id="t")])),
        of_call(text_item("[terminal t]")),
        client=UNABLE,
    ),
    Case(
        "display-terminal",
        told(
            ToolCallPatch(id="call_1", content=[TerminalItem(terminal_id="t")]),
            TerminalPatch(id="t", output=b"out", exit=Exit(signal="SIGTERM"), cancellable=True),
        ),
        of_call(text_item("out\n[signal SIGTERM]")),
    ),
    Case(
        "ended-without-result",
        told(CALL, ToolCallPatch(id="call_1", ended_without_result=True)),
        [{"sessionUpdate": "tool_call_update", "toolCallId": "call_1", "status": "failed"}],
    ),
    Case(
        "tool-call-cancelled",
        told(CALL, ToolCallPatch(id="call_1", status="cancelled")),
        [{"sessionUpdate": "tool_call_update", "toolCallId": "call_1", "status": "failed"}],
    ),
    Case(
        "diff-partial",
        told(CALL, change("modify", patch=DiffPatch(format="git_patch", text=GIT_PATCH))),
        diff(oldText="old\n", newText="new\n"),
    ),
    Case("diff-operation", told(CALL, change("copy", old_path="/w/b")), of_call(text_item("copy: /w/b → /w/a"))),
    Case("diff-delete", told(CALL, change("delete", old_text="gone")), diff(oldText="gone", newText="")),
    Case("diff-details", told(CALL, change("add", new_text="b", mime_type="x/y")), diff(oldText=None, newText="b")),
    Case("plan-type", told(PlanPatch(plan=Plan(id="p", type="file", raw={"type": "file"}))), []),
    Case(
        "plan-entry",
        told(PlanPatch(plan=Plan(id="p", entries=[PlanEntry("a", status="cancelled")]))),
        [{"sessionUpdate": "plan_update", "plan": {"type": "items", "id": "p", "planId": "p", "entries": []}}],
    ),
    Case(
        "plan-status",
        told(PlanPatch(plan=Plan(id="p", entries=[PlanEntry("a", status="_blocked")]))),
        [
            {
                "sessionUpdate": "plan_update",
                "plan": {
                    "type": "items",
                    "id": "p",
                    "planId": "p",
                    "entries": [{"content": "a", "priority": "medium", "status": "in_progress"}],
                },
            }
        ],
    ),
    Case("notice", told(NoticePatch(notice=Notice("info", "Hello"))), [], UNABLE),
    Case("compaction", told(CompactionPatch(id="c", status="in_progress")), [], UNABLE),
    Case("state", told(StatePatch(state=State("requires_action"))), []),
    Case("background", told(StatePatch(state=State("running", background=[Work("terminal", "t")]))), []),
    Case("permission-subject", asked, "Run?"),
    Case("opened-commands", opened, {"sessionId": SESSION}),
    Case("terminal-login", login(AgentLogin("a", "A"), TerminalLogin("t", "T")), ["a"], UNABLE),
    Case("auth-method", login(AgentLogin("a", "A"), Unknown(tag="_x", raw={})), ["a"]),
    Case("prompt", told(PromptPatch(id="u", new_id="v", goes_last=True)), []),
    Case("update-type", told(UnknownPatch(tag="plan", raw={"sessionUpdate": "plan"})), []),
    Case(
        "priority",
        told(said(Text("hi", annotations=Annotations(priority=7)))),
        chunk({**HI, "annotations": {"priority": 1.0}}),
    ),
    Case("size", told(said(ResourceLink(uri="a:b", name="b", size=-1))), chunk(LINK)),
    Case(
        "mcp-type",
        lambda dialect: plain(dialect.request_to_wire(NewSession(cwd="/w", servers=[Unknown(tag="_x", raw={})]))[1]),
        {"cwd": "/w", "mcpServers": []},
    ),
    Case(
        "form-format",
        lambda dialect: plain(dialect.request_to_wire(FORM)[1])["requestedSchema"]["properties"],
        {"phone": {"type": "string"}},
    ),
    Case(
        "form-value",
        lambda dialect: plain(dialect.result_to_wire(FORM, ElicitationAnswer("accept", content={"a": {}}))),
        {"action": "accept", "content": {}},
    ),
    Case(
        "empty-group",
        lambda dialect: updates_of(
            dialect,
            OptionsPatch(
                options=[
                    Option(id="o", name="O", value="b", choices=MIXED[1:], empty_groups=[EmptyGroup(id="g", name="G")])
                ]
            ),
        )[0]["configOptions"][0]["options"],
        [{"value": "b", "name": "B"}],
    ),
    Case(
        "option-groups",
        lambda dialect: [
            choice["value"]
            for choice in updates_of(
                dialect, OptionsPatch(options=[Option(id="o", name="O", value="a", choices=MIXED)])
            )[0]["configOptions"][0]["options"]
        ],
        ["a", "b"],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.row)
def test_what_the_draft_cannot_say_is_noted_and_something_else_is_said(case: Case):
    dialect = speaker(client=case.client)
    assert case.act(dialect) == case.said
    assert set(rows_lost(dialect)) == {case.row}


def test_every_row_that_names_the_draft_is_shown_by_a_test():
    assert {case.row for case in CASES} == {row.id for row in loss_table().values() if "v2 draft" in row.dialects}
