"""Turns of the coding agent: modes, permissions, stop reasons, histories, and what goes wrong with models."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from accord import permissions
from accord.apps.coder.errors import ModelFailed, ModelNeedsKey, ModelOverloaded
from accord.apps.coder.models.model import (
    Event,
    InputKinds,
    ModelMessage,
    ModelRequest,
    Stop,
    TextDelta,
    ThoughtDelta,
    TokenUsage,
    ToolMessage,
    UserMessage,
)
from accord.errors import AuthRequired, InvalidParams, RateLimited, RequestFailed
from accord.session.content import Image, Resource, ResourceLink, Text
from accord.session.requests import PermissionAnswer, PermissionRequest
from accord.store import SqliteStore
from accord.testing import ScriptedClient
from tests.apps.coder.scripted import ScriptedModel, tool

EDIT: dict[str, Any] = {"path": "main.py", "old_text": "n + n", "new_text": "2 * n"}


def choosing(kind: str, seen: list[PermissionRequest] | None = None) -> Any:
    async def choose(asked: PermissionRequest) -> PermissionAnswer:
        if seen is not None:
            seen.append(asked)
        option = next(option for option in asked.options if option.kind == kind)
        return PermissionAnswer(outcome="selected", option_id=option.id)

    return choose


async def test_text_thoughts_and_usage_are_told_as_they_stream(sit: Any) -> None:
    model = ScriptedModel([ThoughtDelta("Hm."), TextDelta("Hel"), TextDelta("lo"), TokenUsage(10, 5)])
    async with sit(model=model) as desk:
        assert await desk.ask("Hi") == "Hello"
        assert [message.text for message in desk.session.transcript.messages.values()][-2:] == ["Hm.", "Hello"]
        usage = desk.session.transcript.usage
        assert usage is not None
        assert (usage.used, usage.size) == (15, 1000)
        assert desk.session.transcript.info.title == "Hi"
        assert "Working directory" in model.requests[0].instructions


@pytest.mark.requirement("PROMPT-06", "PROMPT-18")
@pytest.mark.parametrize(
    ("steps", "said", "called", "results"),
    [
        ([[TextDelta("Hello")]], "Hello", [], []),
        ([[tool("read", path="main.py")], []], "", ["read"], [1]),
        (
            [[TextDelta("Let me see."), tool("list"), tool("read", path="main.py")], [TextDelta("Seen.")]],
            "Let me see.Seen.",
            ["list", "read"],
            [2],
        ),
        (
            [[tool("list")], [TextDelta("More. "), tool("list")], [TextDelta("Enough.")]],
            "More. Enough.",
            ["list", "list"],
            [1, 2],
        ),
    ],
    ids=["text", "a tool", "both", "round after round"],
)
async def test_what_the_tools_give_goes_back_to_the_model_until_it_asks_for_none(
    sit: Any, steps: list[list[Event]], said: str, called: list[str], results: list[int]
) -> None:
    model = ScriptedModel(*steps)
    async with sit(model=model) as desk:
        reply = await desk.session.prompt("Go")
        assert reply.text == said
        assert reply.stop_reason == "end_turn"
        assert len(model.requests) == len(steps)
        assert [call.name for call in desk.calls] == called
        seen = [
            sum(len(past.outcomes) for past in each.history if isinstance(past, ToolMessage)) for each in model.requests
        ]
        assert seen == [0, *results]
        assert not any(outcome.is_error for outcome in model.outcomes)


@pytest.mark.requirement("PERM-16")
@pytest.mark.parametrize(
    ("mode", "name", "arguments", "is_asked"),
    [
        ("ask", "edit", EDIT, True),
        ("ask", "run", {"command": "true"}, True),
        ("ask", "read", {"path": "main.py"}, False),
        ("code", "edit", EDIT, False),
        ("code", "move", {"source": "main.py", "destination": "a.py"}, False),
        ("code", "delete", {"path": "main.py"}, True),
        ("code", "run", {"command": "true"}, True),
        ("code", "fetch", {"url": "http://127.0.0.1:1/"}, True),
        ("architect", "fetch", {"url": "http://127.0.0.1:1/"}, True),
    ],
)
async def test_the_mode_decides_whether_the_user_is_asked(
    sit: Any, mode: str, name: str, arguments: dict[str, Any], is_asked: bool
) -> None:
    seen: list[PermissionRequest] = []
    async with sit(on_permission=choosing("allow_once", seen)) as desk:
        await desk.session.set_option("mode", mode)
        await desk.use_one(name, **arguments)
        assert bool(seen) is is_asked


@pytest.mark.requirement("MODE-14")
async def test_an_architect_changes_nothing_and_leaves_its_mode_only_when_allowed(sit: Any) -> None:
    async with sit(on_permission=choosing("reject_once")) as desk:
        await desk.session.set_option("mode", "architect")
        refused = await desk.use_one("edit", **EDIT)
        assert "architect mode, which changes nothing" in refused.text
        offered = {description.name for description in desk.model.requests[-1].tools}
        assert {"read", "list", "search", "plan", "switch_mode"} <= offered
        assert not offered & {"write", "edit", "delete", "move", "run"}
        assert "rejected this call" in (await desk.use_one("switch_mode", mode="code")).text
    async with sit(on_permission=choosing("allow_once")) as desk:
        await desk.session.set_option("mode", "architect")
        await desk.use(tool("switch_mode", mode="code"), tool("edit", **EDIT))
        assert "2 * n" in (desk.root / "main.py").read_text()
        if desk.session.modes is not None:  # v2 has only the option
            assert desk.session.modes.current == "code"
        assert [option.value for option in desk.session.options if option.id == "mode"] == ["code"]


async def test_a_no_is_told_to_the_model_and_nothing_happens(sit: Any) -> None:
    async with sit(on_permission=choosing("reject_once")) as desk:
        outcome = await desk.use_one("edit", **EDIT)
        assert outcome.is_error
        assert "The user rejected this call" in outcome.text
        assert "n + n" in (desk.root / "main.py").read_text()
        assert desk.calls[-1].status == "failed"


async def test_an_always_choice_is_kept_for_the_project_and_says_what_it_covers(sit: Any) -> None:
    seen: list[PermissionRequest] = []
    async with sit(on_permission=choosing("allow_always", seen)) as desk:
        await desk.use_one("run", command="git status")
        await desk.use_one("run", command="git status --short")
        assert len(seen) == 1
        covers = "run `git status`, whatever it looks at"
        assert seen[0].options[1].name == f"Always allow in this project: {covers}"
        await desk.use_one("run", command="git log")
        assert len(seen) == 2
    async with sit(on_permission=choosing("reject_once", seen)) as desk:
        assert not (await desk.use_one("run", command="git status")).is_error
        assert len(seen) == 2


@pytest.mark.requirement("PROMPT-28")
@pytest.mark.parametrize("reason", ["max_tokens", "refusal"])
async def test_the_models_own_reasons_end_the_turn(sit: Any, reason: Any) -> None:
    async with sit(model=ScriptedModel([TextDelta("So"), Stop(reason)])) as desk:
        reply = await desk.session.prompt("Go")
        assert reply.text == "So"
        assert reply.stop_reason == reason


@pytest.mark.requirement("PROMPT-28", "PROMPT-18")
async def test_a_turn_asks_the_model_only_so_often(sit: Any) -> None:
    model = ScriptedModel(*([tool("list")] for _ in range(10)))
    async with sit(model=model, flags={"max_requests": "3"}) as desk:
        reply = await desk.session.prompt("Go")
        assert reply.stop_reason == "max_turn_requests"
        assert len(model.requests) == 3


@pytest.mark.requirement("PROMPT-28", "PROMPT-18", "CANCEL-05")
async def test_a_cancel_stops_the_stream_and_leaves_a_history_that_goes_on(sit: Any) -> None:
    model = ScriptedModel([TextDelta("One"), TextDelta("…"), TextDelta("never")])
    async with sit(model=model) as desk:
        reply = desk.session.prompt("Go")
        await model.streaming.wait()
        await reply.cancel()
        assert (await reply).stop_reason == "cancelled"
        assert model.closed == 1
        assert await desk.ask("Again") == "Done."
        said = [past for past in model.requests[-1].history if isinstance(past, ModelMessage)]
        assert said[0].text == "One…"


async def test_a_cancel_while_the_user_is_asked_withdraws_the_question(sit: Any) -> None:
    asked = asyncio.Event()

    async def wait(_: Any) -> Any:
        asked.set()
        await asyncio.get_running_loop().create_future()

    async with sit(on_permission=wait) as desk:
        desk.model.steps.append([tool("edit", **EDIT)])
        reply = desk.session.prompt("Go")
        await asked.wait()
        await reply.cancel()
        assert (await reply).stop_reason == "cancelled"
        assert await desk.ask("Again") == "Done."
        (outcome,) = desk.model.outcomes
        assert "Cancelled by the user" in outcome.text


async def test_a_session_is_taken_up_after_a_restart(sit: Any, tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    model = ScriptedModel([TextDelta("Let me see."), tool("read", path="main.py")], [TextDelta("It doubles.")])
    async with sit(model=model, store=SqliteStore(path)) as desk:
        await desk.ask("What is it?")
        await desk.session.set_option("mode", "code")
        session_id = desk.session.id
        await desk.coder.agent._definition.store.aclose()
    again = ScriptedModel()
    async with sit(model=again, store=SqliteStore(path)) as desk:
        session = await desk.client.load_session(session_id, cwd=desk.root)
        assert [option.value for option in session.options if option.id == "mode"] == ["code"]
        await session.prompt("And?")
        first, spoken, told, last, prompt = again.requests[0].history
        assert (first, prompt) == (UserMessage(content=[Text("What is it?")]), UserMessage(content=[Text("And?")]))
        assert isinstance(spoken, ModelMessage)
        assert spoken.text == "Let me see."
        assert isinstance(told, ToolMessage)
        assert told.outcomes[0].text == "def double(n):\n    return n + n\n"
        assert isinstance(last, ModelMessage)
        assert last.text == "It doubles."
        listed = [each async for each in desk.client.list_sessions()]
        assert [each.title for each in listed if each.session_id == session_id] == ["What is it?"]
        await desk.coder.agent._definition.store.aclose()


async def test_a_history_that_fills_the_context_is_compacted(sit: Any) -> None:
    model = ScriptedModel([tool("list"), TokenUsage(850, 50)], [TextDelta("In short: nothing.")], [TextDelta("On.")])
    async with sit(model=model) as desk:
        assert "On." in await desk.ask("Go")
        assert len(model.requests) == 3
        assert "Summarise the work" in model.requests[1].instructions
        (past,) = model.requests[2].history
        assert isinstance(past, UserMessage)
        assert "In short: nothing." in str(past.content)


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (ModelNeedsKey("ACME_KEY", "acme"), AuthRequired),
        (ModelOverloaded("too many requests", retry_after=7), RateLimited),
        (ModelFailed("the stream was cut", "Ask again."), RequestFailed),
    ],
)
async def test_a_failing_model_is_an_error_that_says_so_and_the_session_lives(
    sit: Any, failure: Any, kind: Any
) -> None:
    """FN-94: a failed model call is shown as what it is, and the session lives."""

    class Failing(ScriptedModel):
        async def stream(self, request: ModelRequest) -> AsyncGenerator[Event, None]:
            if not self.requests:
                self.requests.append(request)
                yield TextDelta("Beginning")
                raise failure
            async for event in super().stream(request):
                yield event

    async with sit(model=Failing()) as desk:
        with pytest.raises(RequestFailed) as raised:
            await desk.ask()
        assert isinstance(raised.value, kind)
        assert await desk.ask("Again") == "Done."


@pytest.mark.requirement("RPC-31")
async def test_a_model_without_a_key_names_the_login_as_the_handshake_did(version: Any, sit: Any) -> None:
    class Locked(ScriptedModel):
        async def stream(self, request: ModelRequest) -> AsyncGenerator[Event, None]:
            raise ModelNeedsKey("ACME_KEY", "acme")
            yield TextDelta("")

    async with sit(model=Locked()) as desk:
        async with ScriptedClient(desk.coder.agent, version) as client:
            told = (await client.initialize()).result["authMethods"]
        with pytest.raises(AuthRequired, match="ACME_KEY") as raised:
            await desk.ask()
    (method,) = told
    assert method["description"].startswith("Set ")
    assert raised.value.auth_methods == told


async def test_a_block_that_the_model_can_not_take_is_refused_with_the_reason(sit: Any, project: Path) -> None:
    image = Image(data="aGk=", mime_type="image/png")
    blind, seeing = ScriptedModel(), ScriptedModel(input_kinds=InputKinds(image=True))
    flags = {"models": "acme:seeing"}
    (project.parent / "home").mkdir(exist_ok=True)
    (project.parent / "home" / "config.toml").write_text('[takes]\n"acme:seeing" = ["image"]\n')
    async with sit(model=blind, flags=flags) as desk:
        with pytest.raises(InvalidParams, match="does not accept images"):
            await desk.ask([Text("Look"), image])
    async with sit(model=seeing, flags=flags) as desk:
        await desk.ask([Text("Look"), image])
        (prompt,) = [past for past in seeing.requests[0].history if isinstance(past, UserMessage)]
        assert image in prompt.content


async def test_links_are_read_inside_the_roots_and_resources_written_out(sit: Any, project: Path) -> None:
    model = ScriptedModel()
    async with sit(model=model) as desk:
        await desk.ask(
            [
                Text("Look"),
                ResourceLink(uri=(project / "main.py").as_uri(), name="main.py"),
                ResourceLink(uri="file:///etc/passwd", name="passwd"),
                Resource(uri="file:///x/notes.txt", text="remember"),
                ResourceLink(uri="http://[", name="broken"),
                Resource(uri="http://[", blob="aGk=", mime_type="image/png"),
                Resource(uri='file:///x/"><b', text="quoted"),
            ]
        )
        (prompt,) = [past for past in model.requests[0].history if isinstance(past, UserMessage)]
        texts = [block.text for block in prompt.content if isinstance(block, Text)]
        assert texts[1] == '<file path="main.py">\ndef double(n):\n    return n + n\n\n</file>'
        assert "outside the session's directories" in texts[2]
        assert "remember" in texts[3]
        assert texts[4] == "[broken](http://[)"
        assert texts[5] == "http://[: binary data (image/png), left out"
        assert '<file path="/x/&quot;&gt;&lt;b">' in texts[6]


async def test_the_projects_instructions_are_read(sit: Any, project: Path) -> None:
    (project / "CLAUDE.md").write_text("Be brief.")
    model = ScriptedModel()
    async with sit(model=model) as desk:
        await desk.ask()
        assert "Be brief." in model.requests[0].instructions
    (project / "AGENTS.md").write_text("Be kind.")
    model = ScriptedModel()
    async with sit(model=model) as desk:
        await desk.ask()
        assert "Be kind." in model.requests[0].instructions
        assert "Be brief." not in model.requests[0].instructions


async def test_two_sessions_work_at_once(sit: Any) -> None:
    model = ScriptedModel([TextDelta("…")], [TextDelta("Second.")])
    async with sit(model=model) as desk:
        first = desk.session.prompt("First")
        await model.streaming.wait()
        other = await desk.client.new_session(cwd=desk.root)
        assert (await other.prompt("Second")).text == "Second."
        model.held.set()
        assert (await first).text == "…"


async def test_a_client_that_goes_away_ends_the_turn(sit: Any) -> None:
    model = ScriptedModel([TextDelta("…")])
    async with sit(model=model, on_permission=permissions.allow_all) as desk:
        desk.session.prompt("Go")
        await model.streaming.wait()
        await desk.client.aclose()
    assert model.closed == 1
