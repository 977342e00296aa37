"""What v1 cannot say: for each row of the loss table, the loss is noted and something else is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from accord.dialects.translation_losses import loss_table
from accord.dialects.v1 import V1
from accord.session.capabilities import (
    AgentCapabilities,
    AgentLogin,
    ClientCapabilities,
    Implementation,
    TerminalLogin,
)
from accord.session.content import Annotations, Content, Icon, ResourceLink, Text
from accord.session.entities import (
    AGENT,
    USER,
    ContentItem,
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
from accord.session.mcp_servers import Pairs
from accord.session.requests import (
    AcpRequest,
    CommandSubject,
    ElicitationAnswer,
    ElicitationRequest,
    Initialize,
    InitializeResult,
    NewSession,
    PermissionAnswer,
    PermissionOption,
    PermissionRequest,
    Prompt,
    PromptResult,
    SessionSetup,
    ToolCallSubject,
)
from accord.session.updates import (
    CommandsPatch,
    CompactionPatch,
    MessageAppend,
    MessagePatch,
    NoticePatch,
    OptionsPatch,
    Patch,
    PlanPatch,
    PromptPatch,
    StatePatch,
    TerminalAppend,
    TerminalPatch,
    ToolCallPatch,
    UnknownPatch,
)
from accord.session.value import Unknown
from tests.dialects.json_values import plain
from tests.dialects.telling import ABLE, SESSION, rows_lost, updates_of
from tests.dialects.v1.speaking import speaker

CALL = ToolCallPatch(id="call_1", title="Work")
UNABLE = ClientCapabilities()
SHOWING = ClientCapabilities(display_terminals=True)
TERMINAL = TerminalPatch(id="t")
SHOWN = ToolCallPatch(id="call_1", title="Work", content=[TerminalItem(terminal_id="t")])


class Case(NamedTuple):
    row: str
    act: Callable[[V1], Any]
    said: Any
    client: ClientCapabilities = ABLE


def told(*reports: Patch | PromptPatch) -> Callable[[V1], Any]:
    """What the last of the reports makes the dialect say."""

    def act(dialect: V1) -> Any:
        before = len(updates_of(speaker(client=dialect.client), *reports[:-1]))
        return updates_of(dialect, *reports)[before:]

    return act


def of_call(**members: Any) -> list[Any]:
    return [{"sessionUpdate": "tool_call_update", "toolCallId": "call_1", **members}]


def text_item(text: str) -> Any:
    return {"type": "content", "content": {"type": "text", "text": text}}


def change(operation: str, **fields: Any) -> ToolCallPatch:
    patch = fields.pop("patch", None)
    diff = Diff(changes=[FileChange(operation=operation, path="/w/a", **fields)], patch=patch)
    return ToolCallPatch(id="call_1", content=[diff])


def diff(**members: Any) -> list[Any]:
    return of_call(content=[{"type": "diff", "path": "/w/a", **members}])


def piece(text: str) -> MessageAppend:
    return MessageAppend(role=AGENT, id="m", content=Text(text))


def whole(*texts: str) -> MessagePatch:
    return MessagePatch(role=AGENT, id="m", content=[Text(text) for text in texts])


def block(content: Content) -> MessageAppend:
    return MessageAppend(role=AGENT, id="m", content=content)


def chunk(content: Any, id: str = "m") -> Any:
    content = {"type": "text", "text": content} if isinstance(content, str) else content
    return {"sessionUpdate": "agent_message_chunk", "messageId": id, "content": content}


def answered(asked: AcpRequest, answer: Any) -> Callable[[V1], Any]:
    return lambda dialect: plain(dialect.result_to_wire(asked, answer))


def opened(**fields: Any) -> Callable[[V1], Any]:
    return lambda dialect: plain(
        dialect.result_to_wire(NewSession(cwd="/w"), SessionSetup(session_id=SESSION, **fields))
    )


def asked(**fields: Any) -> Callable[[V1], Any]:
    fields = {"options": [PermissionOption(id="yes", name="Yes", kind="allow_once")]} | fields
    return lambda dialect: plain(dialect.request_to_wire(PermissionRequest(session_id=SESSION, **fields))[1])


def request(call: Any, kind: str = "allow_once") -> Any:
    options = [{"optionId": "yes", "name": "Yes", "kind": kind}]
    return {"sessionId": SESSION, "toolCall": call, "options": options}


def login(*methods: Any) -> Callable[[V1], Any]:
    answer = InitializeResult(version=1, info=None, capabilities=AgentCapabilities(), auth_methods=[*methods])
    offer = Initialize(version=1, info=Implementation(name="c", version="1"), capabilities=UNABLE)
    return lambda dialect: plain(dialect.result_to_wire(offer, answer))["authMethods"]


def plan(*entries: PlanEntry, id: str = "main") -> PlanPatch:
    return PlanPatch(plan=Plan(id=id, entries=[*entries]))


def entries(*texts: str, priority: str = "medium", status: str = "pending") -> Any:
    told = [{"content": text, "priority": priority, "status": status} for text in texts]
    return [{"sessionUpdate": "plan", "entries": told}]


GIT_PATCH = "diff --git /w/a /w/a\n--- /w/a\n+++ /w/a\n@@ -7 +7 @@\n-old\n+new\n"
ICONS = [Icon(src="https://example.com/icon.png")]
SWITCH = Option(id="web", name="Web", kind="boolean", value=True)
MODEL = Option(id="model", name="Model", value="a", choices=[OptionChoice(value="a", name="A")])
MODEL_SAID = {
    "type": "select",
    "id": "model",
    "name": "Model",
    "currentValue": "a",
    "options": [{"value": "a", "name": "A"}],
}
LINK = ResourceLink(uri="a:b", name="b")
LINK_SAID = {"type": "resource_link", "uri": "a:b", "name": "b"}
ODD = Unknown(tag="_chart", raw={"type": "_chart"})
TWICE = Pairs([("X", "1"), ("X", "2")])
FORM = ElicitationRequest(
    message="Who?",
    mode="form",
    session_id=SESSION,
    schema={"type": "object", "properties": {"phone": {"type": "string", "format": "_phone"}}},
)
MIXED = [OptionChoice(value="a", name="A", group="g", group_name="G"), OptionChoice(value="b", name="B")]
UNKNOWN_OPTION = Option(id="x", name="X", kind="slider", raw={"type": "slider", "id": "x"})

CASES = [
    Case("message-patch", told(piece("a"), whole(), StatePatch(state=State("idle"))), []),
    Case("message-patch", told(piece("a"), whole("b"), StatePatch(state=State("idle"))), [chunk("b", "m-rewritten-1")]),
    Case("message-patch", told(MessageAppend(role=AGENT, id="m", content=Text("a")), MessagePatch(role=AGENT, id="m", meta={"k": 1})), []),
    Case("tool-call-cancelled", told(CALL, ToolCallPatch(id="call_1", status="cancelled")), of_call(status="failed")),
    Case("tool-call-status", told(CALL, ToolCallPatch(id="call_1", status="paused")), of_call(status="in_progress")),
    Case("tool-call-status", told(CALL, ToolCallPatch(id="call_1", status="_acme")), of_call(status="in_progress")),
    Case("ended-without-result", told(CALL, ToolCallPatch(id="call_1", ended_without_result=True)), of_call(status="failed")),
    Case("tool-kind", told(CALL, ToolCallPatch(id="call_1", kind="_acme")), of_call(kind="other")),
    Case("raw-cleared", told(CALL, ToolCallPatch(id="call_1", raw_input=None)), of_call()),
    Case("raw-cleared", told(CALL, ToolCallPatch(id="call_1", raw_output=None)), of_call()),
    Case("raw-cleared", told(CALL, ToolCallPatch(id="call_1", name=None)), of_call()),
    Case("meta-cleared", told(CALL, ToolCallPatch(id="call_1", meta=None)), of_call()),
    Case("cancellable", told(CALL, ToolCallPatch(id="call_1", cancellable=True)), of_call()),
    Case(
        "cancellable",
        told(ToolCallPatch(id="call_1", title="Work", cancellable=True)),
        [{"sessionUpdate": "tool_call", "toolCallId": "call_1", "title": "Work", "kind": "other", "status": "pending"}],
    ),
    Case(
        "client-terminal",
        told(CALL, ToolCallPatch(id="call_1", content=[TerminalItem(terminal_id="t")])),
        of_call(content=[text_item("[terminal t]")]),
        client=UNABLE,
    ),
    Case(
        "display-terminal",
        told(
            ToolCallPatch(id="call_1", content=[TerminalItem(terminal_id="t")]),
            TerminalPatch(id="t", output=b"\x1b[31mred\x1b[0m\r\n", exit=Exit(code=3)),
        ),
        of_call(content=[text_item("red\n[exit code 3]")]),
    ),
    Case(
        "terminal-details",
        told(TERMINAL, CALL, TerminalPatch(id="t", command="make"), SHOWN),
        [
            {
                "sessionUpdate": "tool_call",
                "toolCallId": "call_1",
                "title": "Work",
                "kind": "other",
                "status": "pending",
                "content": [{"type": "terminal", "terminalId": "t"}],
                "_meta": {"terminal_info": {"terminal_id": "t"}},
            }
        ],
        SHOWING,
    ),
    Case(
        "terminal-rewritten",
        told(TERMINAL, SHOWN, TerminalAppend(id="t", data=b"old"), TerminalPatch(id="t", output=b"new")),
        of_call(_meta={"terminal_output": {"terminal_id": "t", "data": "new"}}),
        SHOWING,
    ),
    Case(
        "terminal-bytes",
        told(TERMINAL, SHOWN, TerminalAppend(id="t", data=b"a\xffb")),
        of_call(_meta={"terminal_output": {"terminal_id": "t", "data": "a\ufffdb"}}),
        SHOWING,
    ),
    Case(
        "diff-partial",
        told(CALL, change("modify", patch=DiffPatch(format="git_patch", text=GIT_PATCH))),
        diff(oldText="old\n", newText="new\n"),
    ),
    Case("diff-operation", told(CALL, change("move", old_path="/w/b")), of_call(content=[text_item("move: /w/b → /w/a")])),
    Case("diff-operation", told(CALL, change("modify")), of_call(content=[text_item("modify: /w/a")])),
    Case("diff-delete", told(CALL, change("delete", old_text="gone\n")), diff(oldText="gone\n", newText="")),
    Case(
        "diff-details",
        told(CALL, change("add", new_text="b", mime_type="text/plain")),
        diff(oldText=None, newText="b"),
    ),
    Case("plan-type", told(PlanPatch(plan=Plan(id="p", type="file", raw={"type": "file"}))), []),
    Case("several-plans", told(plan(PlanEntry("a")), plan(PlanEntry("b"), id="another")), entries("b", "a")),
    Case("plan-entry", told(plan(PlanEntry("a"), PlanEntry("b", status="cancelled"))), entries("a")),
    Case("plan-status", told(plan(PlanEntry("a", status="_blocked"))), entries("a", status="in_progress")),
    Case("plan-priority", told(plan(PlanEntry("a", priority="_urgent"))), entries("a")),
    Case(
        "audience",
        told(MessageAppend(role=AGENT, id="m", content=Text("hi", annotations=Annotations(audience=["user", "_bot"])))),
        [
            {
                "sessionUpdate": "agent_message_chunk",
                "messageId": "m",
                "content": {"type": "text", "text": "hi", "annotations": {"audience": ["user"]}},
            }
        ],
    ),
    Case(
        "icons",
        told(MessageAppend(role=AGENT, id="m", content=ResourceLink(uri="u:1", name="n", icons=ICONS))),
        [
            {
                "sessionUpdate": "agent_message_chunk",
                "messageId": "m",
                "content": {"type": "resource_link", "uri": "u:1", "name": "n"},
            }
        ],
    ),
    Case("opened-commands", opened(commands=[SlashCommand("web", "Search")]), {"sessionId": SESSION}),
    Case(
        "command-type",
        told(CommandsPatch(commands=[SlashCommand("a", "A"), SlashCommand("b", "B", raw={"type": "menu"})])),
        [{"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "a", "description": "A"}]}],
    ),
    Case(
        "option-kind",
        told(OptionsPatch(options=[MODEL, UNKNOWN_OPTION])),
        [{"sessionUpdate": "config_option_update", "configOptions": [MODEL_SAID]}],
    ),
    Case(
        "boolean-option",
        told(OptionsPatch(options=[MODEL, SWITCH])),
        [{"sessionUpdate": "config_option_update", "configOptions": [MODEL_SAID]}],
        UNABLE,
    ),
    Case("notice", told(NoticePatch(notice=Notice("info", "Hello"))), [], UNABLE),
    Case("compaction", told(CompactionPatch(id="c", status="in_progress")), [], UNABLE),
    Case("state", told(StatePatch(state=State("requires_action"))), []),
    Case("state", told(StatePatch(state=State("_dreaming"))), []),
    Case("background", told(StatePatch(state=State("running", background=[Work("terminal", "t")]))), []),
    Case(
        "stop-reason",
        lambda dialect: plain(dialect.result_to_wire(Prompt(SESSION, []), PromptResult(stop_reason="_tired"))),
        {"stopReason": "end_turn", "_meta": {"accord/stopReason": "_tired"}},
    ),
    Case(
        "permission-subject",
        asked(title="Run it?", description="To test.", subject=CommandSubject("make", "/w")),
        request(
            {
                "toolCallId": "accord-permission-1",
                "title": "Run it?",
                "kind": "execute",
                "content": [text_item("To test."), text_item("`make`")],
                "rawInput": {"command": "make", "cwd": "/w"},
            }
        ),
    ),
    Case(
        "permission-subject",
        asked(title="Run it?", subject=CommandSubject("make", "/w", tool_call_id="call_1")),
        request(
            {
                "toolCallId": "call_1",
                "title": "Run it?",
                "kind": "execute",
                "rawInput": {"command": "make", "cwd": "/w"},
            }
        ),
    ),
    Case(
        "permission-subject",
        asked(subject=Unknown(tag="moon", raw={"type": "moon"})),
        request({"toolCallId": "accord-permission-1", "title": "Permission required", "kind": "other"}),
    ),
    Case(
        "permission-text",
        asked(title="May I?", description="Really.", subject=ToolCallSubject(CALL)),
        request({"toolCallId": "call_1", "title": "Work"}),
    ),
    Case(
        "permission-kind",
        asked(subject=ToolCallSubject(CALL), options=[PermissionOption(id="yes", name="Yes", kind="_edit")]),
        request({"toolCallId": "call_1", "title": "Work"}, kind="reject_once"),
    ),
    Case(
        "terminal-login",
        login(AgentLogin("a", "A"), TerminalLogin("t", "T")),
        [{"id": "a", "name": "A"}],
        UNABLE,
    ),
    Case("update-type", told(UnknownPatch(tag="plan", raw={"sessionUpdate": "plan"})), []),
    Case("update-type", told(UnknownPatch(tag="plan", raw={"sessionUpdate": "plan"}, version="v1")), []),
    Case("update-type", told(UnknownPatch(tag="_acme", raw={"sessionUpdate": "_acme"})), []),
    Case("content-type", told(block(ODD)), [chunk("[_chart]")]),
    Case("content-type", told(CALL, ToolCallPatch(id="call_1", content=[ODD])), of_call(content=[text_item("[_chart]")])),
    Case(
        "content-type",
        lambda dialect: plain(dialect.request_to_wire(Prompt(session_id=SESSION, content=[ODD]))[1])["prompt"],
        [{"type": "text", "text": "[_chart]"}],
    ),
    Case(
        "audience",
        told(block(Text("hi", annotations=Annotations(audience=["user", "_cat"])))),
        [chunk({"type": "text", "text": "hi", "annotations": {"audience": ["user"]}})],
    ),
    Case(
        "audience",
        told(block(Text("hi", annotations=Annotations(audience=["_cat"], priority=7.5)))),
        [chunk({"type": "text", "text": "hi", "annotations": {"priority": 7.5}})],
    ),
    Case("size", told(block(replace(LINK, size=2**63))), [chunk(LINK_SAID)]),
    Case(
        "mcp-type",
        lambda dialect: plain(dialect.request_to_wire(NewSession(cwd="/w", servers=[ODD]))[1]),
        {"cwd": "/w", "mcpServers": []},
    ),
    Case(
        "repeated-variable",
        login(TerminalLogin("t", "T", env=TWICE)),
        [{"id": "t", "name": "T", "type": "terminal", "args": [], "env": {"X": "2"}}],
    ),
    Case(
        "permission-outcome",
        answered(PermissionRequest(session_id=SESSION, options=[]), PermissionAnswer("_later", raw={"outcome": "_later"})),
        {"outcome": {"outcome": "cancelled"}},
    ),
    Case(
        "form-format",
        lambda dialect: plain(dialect.request_to_wire(FORM)[1])["requestedSchema"]["properties"],
        {"phone": {"type": "string"}},
    ),
    Case(
        "form-value",
        answered(FORM, ElicitationAnswer("accept", content={"phone": "1", "place": {"x": 1}, "list": [1], "none": None})),
        {"action": "accept", "content": {"phone": "1"}},
    ),
    Case(
        "empty-group",
        told(
            OptionsPatch(
                options=[replace(MODEL, empty_groups=[EmptyGroup(id="g", name="G")])]
            )
        ),
        [{"sessionUpdate": "config_option_update", "configOptions": [MODEL_SAID]}],
    ),
    Case(
        "option-groups",
        told(OptionsPatch(options=[Option(id="o", name="O", value="a", choices=MIXED)])),
        [
            {
                "sessionUpdate": "config_option_update",
                "configOptions": [
                    {
                        "type": "select",
                        "id": "o",
                        "name": "O",
                        "currentValue": "a",
                        "options": [{"value": "a", "name": "A"}, {"value": "b", "name": "B"}],
                    }
                ],
            }
        ],
    ),
    Case("prompt", told(MessagePatch(role=USER, id="u", content=[Text("Hi")]), PromptPatch(id="u", new_id="v")), []),
    Case("auth-method", login(AgentLogin("a", "A"), Unknown(tag="_x", raw={})), [{"id": "a", "name": "A"}]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.row)
def test_what_v1_cannot_say_is_noted_and_something_else_is_said(case: Case):
    dialect = speaker(client=case.client)
    said = case.act(dialect)
    assert said == case.said
    assert set(rows_lost(dialect)) == {case.row}


def test_every_row_that_names_v1_is_shown_by_a_test():
    assert {case.row for case in CASES} == {row.id for row in loss_table().values() if "v1" in row.dialects}


def test_a_loss_tells_what_it_is_about_and_never_quotes_content():
    dialect = speaker()
    secret = "the secret"
    patch = ToolCallPatch(id="call_1", status="paused", kind=secret, content=[ContentItem(content=Text(secret))])
    updates_of(dialect, patch)
    assert [(loss.row, loss.what) for loss in dialect.losses] == [
        ("tool-kind", "call_1"),
        ("tool-call-status", "call_1"),
    ]
