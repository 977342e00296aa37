from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from accord.agent.mcp import McpResult, McpTool, ServerConnections
from accord.errors import ConnectionClosed, DeadlineExceeded, Malformed, RequestFailed, Unencodable
from accord.session.content import Annotations, Audio, Icon, Image, Resource, ResourceLink, Text
from accord.session.value import Unknown
from tests.agent.mcp.peers import Watcher, official, scripted, started_by_shell, tool_of


@pytest.mark.requirement("SESS-23", "CHECK-19", "SESS-08")
async def test_the_tools_of_a_stdio_server_are_described_and_called(
    tmp_path: Path, connections: ServerConnections, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OF_THE_AGENT", "ours")
    await connections.connect([official(env={"OF_THE_SERVER": "theirs"})])
    add = tool_of(connections, "add")
    assert (add.server, add.title, add.description) == ("official", "Add", "The sum.")
    assert add.input_schema["required"] == ["a", "b"]
    assert add.output_schema is not None
    assert add.annotations == {"readOnlyHint": True}
    assert add.meta == {"acme/cost": 1}
    assert await connections.call(add, {"a": 1, "b": 2}) == McpResult(content=[Text("3")], structured={"result": 3})
    surroundings = await connections.call(tool_of(connections, "surroundings"))
    assert surroundings.structured == {"result": [str(tmp_path), "theirs", "ours"]}
    assert await connections.call(tool_of(connections, "everything")) == EVERYTHING
    failed = await connections.call(tool_of(connections, "fail"))
    assert failed.is_error
    with pytest.raises(RequestFailed) as refused:
        await connections.call(tool_of(connections, "refuse"))
    assert refused.value.to_error() == (-32000, "not today", {"until": "tomorrow"})
    assert type(refused.value) is RequestFailed  # a server's -32000 asks nobody to log in to the agent
    assert refused.value.was_received


HINTS = Annotations(audience=["user"], priority=0.5, last_modified="2025-01-12T15:00:58Z")

# What everything() of the official server sends: nothing is lost, nothing is added.
EVERYTHING = McpResult(
    content=[
        Text("plain"),
        Text("marked", annotations=HINTS, meta={"acme/n": 1}),
        Image(data="aW1hZ2U=", mime_type="image/png", annotations=HINTS),
        Audio(data="c291bmQ=", mime_type="audio/wav", meta={"acme/n": 2}),
        ResourceLink(
            uri="file:///a.txt",
            name="a.txt",
            title="A",
            description="a file",
            mime_type="text/plain",
            size=12,
            icons=[Icon(src="data:,", mime_type="image/png", sizes=["16x16"], theme="dark")],
            annotations=HINTS,
        ),
        Resource(
            uri="file:///b.txt",
            mime_type="text/plain",
            text="inside",
            annotations=HINTS,
            contents_meta={"acme/n": 3},
            meta={"acme/n": 4},
        ),
        Resource(uri="file:///c", blob="YmxvYg=="),
    ],
    structured={"n": 5},
    meta={"acme/n": 6},
)


async def test_progress_is_told_in_order_and_before_the_result(connections: ServerConnections):
    heard: list[Any] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        await asyncio.sleep(0)
        heard.append((progress, total, message))

    await connections.connect([official()])
    result = await connections.call(tool_of(connections, "count"), {"to": 20}, listen)
    assert result.content == [Text("counted to 20")]
    assert heard == [(number, 20, f"at {number}") for number in range(1, 21)]


async def test_a_trace_is_carried_on_into_the_server(connections: ServerConnections):
    heard: list[float] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    await connections.connect([official()])
    trace = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
    result = await connections.call(tool_of(connections, "trace"), None, listen, meta=trace)
    assert result.content == [Text(trace["traceparent"])]
    assert heard == [1]
    assert (await connections.call(tool_of(connections, "trace"))).content == [Text("None")]


async def test_a_tool_that_appears_is_followed(connections: ServerConnections, watcher: Watcher):
    (before,) = await connections.connect([official()])
    await connections.call(tool_of(connections, "grow"))
    await watcher.until(lambda: watcher.statuses[-1].tools == before.tools + 1)
    assert (await connections.call(tool_of(connections, "grown"))).content == [Text("new")]


async def test_a_tool_that_disappears_is_followed(connections: ServerConnections, watcher: Watcher):
    await connections.connect([scripted("shrinks")])
    act = tool_of(connections, "act")
    assert (await connections.call(act)).content == [Text("shrunk")]
    await watcher.until(lambda: not connections.tools)
    assert connections.statuses[0].is_connected


@pytest.mark.parametrize("server", [official(), scripted("waits")], ids=["official", "scripted"])
async def test_whoever_is_cancelled_cancels_the_call(connections: ServerConnections, watcher: Watcher, server: Any):
    await connections.connect([server])
    call, _ = await a_call_under_way(connections)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await watcher.until(lambda: "cancelled" in [tool.name for tool in connections.tools])


async def a_call_under_way(connections: ServerConnections, **options: Any) -> tuple[asyncio.Task[McpResult], McpTool]:
    begun = asyncio.Event()

    async def listen(*progress: object) -> None:
        begun.set()

    waiting = next(tool for tool in connections.tools if tool.name in ("wait", "act"))
    call = asyncio.create_task(connections.call(waiting, {}, listen, **options))
    await begun.wait()
    return call, waiting


async def test_a_call_past_its_deadline_is_cancelled_too(connections: ServerConnections, watcher: Watcher):
    await connections.connect([scripted("waits")])
    with pytest.raises(DeadlineExceeded) as exceeded:
        await connections.call(tool_of(connections, "act"), {}, ignored, deadline=0.2)
    assert (exceeded.value.method, exceeded.value.seconds) == ("tools/call act", 0.2)
    await watcher.until(lambda: len(connections.tools) == 2)


async def ignored(*progress: object) -> None: ...


async def test_all_calls_can_have_a_deadline(tmp_path: Path):
    async with ServerConnections(tmp_path, call_deadline=0.2) as connections:
        await connections.connect([scripted("waits")])
        with pytest.raises(DeadlineExceeded):
            await connections.call(tool_of(connections, "act"), {}, ignored)


async def test_calls_run_at_the_same_time(connections: ServerConnections):
    await connections.connect([official()])
    waiting, _ = await a_call_under_way(connections)
    results = await asyncio.gather(
        *[connections.call(tool_of(connections, "add"), {"a": number, "b": 1}) for number in range(50)]
    )
    assert [result.structured["result"] for result in results] == list(range(1, 51))
    assert not waiting.done()


async def test_a_server_that_dies_fails_its_calls_and_is_reported_and_the_others_live(
    connections: ServerConnections, watcher: Watcher
):
    await connections.connect([scripted("dies", "mortal"), scripted("", "other")])
    act = tool_of(connections, "act", "mortal")
    with pytest.raises(ConnectionClosed) as closed:
        await connections.call(act)
    assert closed.value.exit_code == 9
    assert "MCP server 'mortal' is not connected" in str(closed.value)
    assert "I am dying" in closed.value.stderr_tail
    assert [status.state for status in connections.statuses] == ["lost", "connected"]
    assert str(watcher.statuses[-1]).endswith("ended (exit code 9); stderr: I am dying")
    with pytest.raises(ConnectionClosed, match="is not connected"):
        await connections.call(act)
    assert [tool.server for tool in connections.tools] == ["other"]
    assert (await connections.call(connections.tools[0], {"n": 1})).content == [Text('{"n": 1}')]


async def test_a_server_that_dies_while_nobody_calls_is_reported(
    connections: ServerConnections, watcher: Watcher, tmp_path: Path
):
    await connections.connect([started_by_shell(scripted(""), tmp_path / "pid")])
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    await watcher.until(lambda: watcher.statuses[-1].state == "lost")
    assert watcher.statuses[-1].exit_code == -signal.SIGKILL
    assert connections.tools == []


async def test_a_server_that_closes_its_output_is_lost(connections: ServerConnections):
    await connections.connect([scripted("closes-output")])
    with pytest.raises(ConnectionClosed, match="closed its output"):
        await connections.call(tool_of(connections, "act"))


async def test_a_message_past_the_limit_ends_the_connection_rather_than_leave_a_call_waiting(
    connections: ServerConnections,
):
    await connections.connect([scripted("too-long")])
    with pytest.raises(ConnectionClosed, match="longer than the limit"):
        await connections.call(tool_of(connections, "act"))


async def test_content_of_an_unknown_kind_is_kept_whole(connections: ServerConnections):
    await connections.connect([scripted("unknown-content")])
    result = await connections.call(tool_of(connections, "act"))
    assert result.content == [Unknown(tag="hologram", raw={"type": "hologram", "rays": 3}), Text("flat")]


async def test_a_result_that_cannot_be_read_says_where(connections: ServerConnections):
    await connections.connect([scripted("bad-content")])
    with pytest.raises(Malformed) as malformed:
        await connections.call(tool_of(connections, "act"))
    assert malformed.value.path == "scripted/act: $.content[1]"
    assert connections.statuses[0].is_connected


async def test_a_result_may_be_structured_only(connections: ServerConnections):
    await connections.connect([scripted("no-content")])
    assert await connections.call(tool_of(connections, "act")) == McpResult(structured={"n": 1})


async def test_half_an_emoji_becomes_a_replacement_character(connections: ServerConnections):
    await connections.connect([scripted("half-emoji")])
    assert (await connections.call(tool_of(connections, "act"))).content == [Text("a\ufffd")]


async def test_numbers_that_are_none_are_null(connections: ServerConnections):
    """Python's json writes NaN and Infinity, which are not JSON and which no client could be told."""
    await connections.connect([scripted("not-a-number")])
    result = await connections.call(tool_of(connections, "act"))
    assert result.content == [Text("mean", annotations=Annotations(), meta={"x": None})]
    assert result.structured == {"mean": [1.0, None], "most": None}
    assert result.meta == {"y": None}


async def test_a_size_that_cannot_be_is_left_out(connections: ServerConnections):
    await connections.connect([scripted("odd-size")])
    assert (await connections.call(tool_of(connections, "act"))).content == [ResourceLink(uri="a:b", name="b")]


async def test_an_answer_inside_a_batch_is_found(connections: ServerConnections):
    await connections.connect([scripted("batch")])
    assert (await connections.call(tool_of(connections, "act"))).content == [Text("batched")]


@pytest.mark.parametrize(
    ("behaviour", "message"), [("no-response", "invalid JSON-RPC response"), ("wants-input", "asks for input")]
)
async def test_an_answer_that_is_no_result_fails_the_call(connections: ServerConnections, behaviour: str, message: str):
    await connections.connect([scripted(behaviour)])
    with pytest.raises(RequestFailed, match=message):
        await connections.call(tool_of(connections, "act"))
    assert connections.statuses[0].is_connected


async def test_arguments_are_checked_before_anything_is_sent(connections: ServerConnections):
    await connections.connect([scripted("")])
    act = tool_of(connections, "act")
    for value in (object(), float("nan"), {1, 2}):
        with pytest.raises(Unencodable):
            await connections.call(act, {"value": value})
    assert (await connections.call(act, {"emoji": "\ud83d\ude00", "half": "\ud83d"})).content == [
        Text('{"emoji": "\\ud83d\\ude00", "half": "\\ufffd"}')
    ]
    assert (await connections.call(act)).content == [Text("{}")]


async def test_a_tool_of_nobody_is_refused(connections: ServerConnections):
    with pytest.raises(ConnectionClosed, match="does not belong to this session"):
        await connections.call(McpTool(server="nobody", name="act", input_schema={}))


async def test_a_server_that_knows_only_the_newer_greeting_is_connected_and_followed(
    connections: ServerConnections, watcher: Watcher
):
    await connections.connect([scripted("modern")])
    act = tool_of(connections, "act")
    assert (await connections.call(act)).content == [Text("modern")]
    await watcher.until(lambda: len(connections.tools) == 2)
    await connections.call(act)
    await watcher.until(lambda: len(connections.tools) == 3)
