"""One of each report with everything set that it can say; `python -m tests.store.every_report` writes it down.

Once a format number is published its file must not change: a new one means a new number.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from accord.session.content import Annotations, Audio, Icon, Image, Resource, ResourceLink, Text
from accord.session.entities import (
    ContentItem,
    Cost,
    Diff,
    DiffPatch,
    Exit,
    FileChange,
    Location,
    Mode,
    Modes,
    Notice,
    Option,
    OptionChoice,
    Plan,
    PlanEntry,
    SlashCommand,
    State,
    TerminalItem,
    TerminalSize,
    Work,
)
from accord.session.updates import (
    CommandsPatch,
    CompactionAppend,
    CompactionPatch,
    InfoPatch,
    MessageAppend,
    MessagePatch,
    ModePatch,
    ModesPatch,
    NoticePatch,
    OptionsPatch,
    Patch,
    PlanPatch,
    StatePatch,
    TerminalAppend,
    TerminalPatch,
    ToolCallAppend,
    ToolCallPatch,
    UnknownPatch,
    UsagePatch,
)
from accord.session.value import Unknown

META = {"traceparent": "00-01", "deep": [None, {"a": 1.5}]}
HINTS = Annotations(audience=["user"], priority=0.5, last_modified="2026-01-02", meta=META)
BLOCKS = [
    Text("héllo 😀", annotations=HINTS, meta=META),
    Image(data="aGk=", mime_type="image/png", uri="file:///a.png", annotations=HINTS),
    Audio(data="aGk=", mime_type="audio/wav", annotations=HINTS),
    ResourceLink(
        uri="file:///a",
        name="a",
        title="A",
        description="first",
        mime_type="text/plain",
        size=3,
        icons=[Icon("file:///i.png", mime_type="image/png", sizes=["1x1"], theme="dark")],
    ),
    Resource(uri="file:///b", text="b", mime_type="text/plain", contents_meta={"c": 1}),
    Resource(uri="file:///c", blob="aGk="),
    Unknown(tag="_hologram", raw={"type": "_hologram", "depth": 3}),
]
ITEMS = [
    ContentItem(Text("found")),
    Diff(
        changes=[
            FileChange("update", "/a", old_text="1\n", new_text="2\n"),
            FileChange("move", "/b", old_path="/c", file_type="file", mime_type="text/plain"),
            FileChange("_fold", "/d", raw={"x": 1}),
        ],
        patch=DiffPatch(format="git_patch", text="--- a\n+++ b\n"),
    ),
    TerminalItem("t"),
    Unknown(tag="_chart", raw={"type": "_chart"}),
]
EVERY_REPORT: list[Patch] = [
    MessagePatch(role="user", id="u", content=[*BLOCKS], meta=META, meta_replaces=True),
    MessagePatch(role="agent", id=None, content=None, meta=None),
    MessageAppend(role="agent", id="m", content=BLOCKS[0], meta=META),
    MessageAppend(role="thought", id=None, content=Text("")),
    ToolCallPatch(
        id="c",
        title="Look",
        name="look",
        kind="read",
        status="in_progress",
        content=[*ITEMS],
        locations=[Location("/a", 3), Location("/b")],
        raw_input={"path": "/a", "flags": [True, None, -1, 2**63]},
        raw_output="x",
        cancellable=True,
        creates=True,
    ),
    ToolCallPatch(id="d", title=None, kind=None, content=[], locations=None, raw_input=None),
    ToolCallAppend(id="c", item=ITEMS[1]),
    TerminalPatch(
        id="t",
        command="make",
        cwd="/repo",
        output=b"\x00\xff",
        exit=Exit(code=2, signal="SIGTERM"),
        size=TerminalSize(80, 24),
        cancellable=False,
    ),
    TerminalAppend(id="t", data=bytes(range(256))),
    PlanPatch(plan=Plan(id="p", entries=[PlanEntry("one", "high", "completed")], type="items")),
    PlanPatch(plan=Plan(id="q", type="_tree", raw={"root": 1}, dropped=True)),
    CommandsPatch(
        commands=[
            SlashCommand("review", "Review it", hint="what", input_meta={"a": 1}),
            SlashCommand("x", "", raw={"type": "_x"}),
        ]
    ),
    OptionsPatch(
        options=[
            Option(
                id="model",
                name="Model",
                value="big",
                choices=[OptionChoice("big", "Big", "slow", group="g", group_name="G", group_meta={"a": 1})],
                description="which",
                category="model",
            ),
            Option(id="fast", name="Fast", kind="boolean", value=True),
            Option(id="y", name="Y", kind="_slider", raw={"max": 3}),
        ]
    ),
    ModesPatch(modes=Modes(current="ask", available=[Mode("ask", "Ask", "first")])),
    ModePatch(mode_id="code"),
    InfoPatch(title="Tidy", updated_at="2026-01-02T03:04:05Z"),
    UsagePatch(used=3, size=200_000, cost=Cost(0.25, "EUR")),
    NoticePatch(notice=Notice("warning", "Slow", "very")),
    CompactionPatch(id="k", status="completed", summary=[Text("short")], error="none"),
    CompactionAppend(id="k", content=Text("er")),
    StatePatch(
        state=State("idle", stop_reason="end_turn", error={"code": 1}, background=[Work("terminal", "t", raw={"a": 1})])
    ),
    UnknownPatch(tag="_future", raw={"sessionUpdate": "_future", "a": [1]}),
]

if __name__ == "__main__":
    folder = Path(__file__).parent / "written"
    folder.mkdir(exist_ok=True)
    (folder / "format_1.msgpack").write_bytes(msgspec.msgpack.encode(EVERY_REPORT))
    (folder / "format_2.json").write_bytes(msgspec.json.encode(EVERY_REPORT))
