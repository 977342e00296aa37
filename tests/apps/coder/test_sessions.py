"""Sessions taken up again: what the model is told then, under which settings, and what was chosen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from accord import Client
from accord.apps.coder.errors import ModelFailed, ModelNeedsKey
from accord.apps.coder.models.model import Event, ModelMessage, Stop, TextDelta, TokenUsage, ToolMessage, UserMessage
from accord.apps.coder.settings.files import SettingsFile
from accord.apps.coder.settings.trust import user_trust
from accord.client.agent_requests import offered_capabilities
from accord.errors import AuthRequired, InvalidParams, MethodNotFound, NotFound, RequestFailed
from accord.session.content import Image, ResourceLink, Text
from accord.session.entities import Compaction
from accord.session.requests import ElicitationAnswer
from accord.session.updates import ToolCallPatch
from accord.store import MemoryStore
from tests.apps.coder.scripted import ScriptedModel, tool, until


def texts(model: ScriptedModel) -> list[str]:
    """What the model is told, a line each."""
    lines: list[str] = []
    for past in model.requests[-1].history:
        match past:
            case UserMessage():
                lines += [block.text for block in past.content if isinstance(block, Text)]
            case ModelMessage():
                lines.append(past.text)
            case ToolMessage():
                lines += [outcome.text for outcome in past.outcomes]
    return lines


@pytest.mark.parametrize("how", ["load", "resume", "fork"])
async def test_the_model_knows_what_was_said_before(sit: Any, how: str) -> None:
    store = MemoryStore()
    async with sit(model=ScriptedModel([TextDelta("Hello.")], [TextDelta("Fine.")]), store=store) as desk:
        await desk.ask("Hi")
        await desk.ask("How are you?")
        session_id = desk.session.id
    model = ScriptedModel()
    async with sit(model=model, store=store) as desk:
        session = await getattr(desk.client, f"{how}_session")(session_id, cwd=desk.root)
        assert (session.id == session_id) is (how != "fork")
        await session.prompt("And now?")
        assert texts(model) == ["Hi", "Hello.", "How are you?", "Fine.", "And now?"]
        if how == "fork":
            await session.prompt("More")
            original = await desk.client.load_session(session_id, cwd=desk.root)
            await original.prompt("Back")
            assert texts(model) == ["Hi", "Hello.", "How are you?", "Fine.", "Back"]


@pytest.mark.requirement("SESS-07", "SESS-42")
async def test_a_client_that_knows_no_options_can_choose_the_model(sit: Any, version: Any) -> None:
    """Clients of that generation exist; v2 has no place for it."""
    async with sit(flags={"models": ["scripted:other"]}) as desk:
        session, peer = desk.session, desk.client.peer
        asked = {"sessionId": session.id, "modelId": "offline"}
        if version == 2:
            with pytest.raises(MethodNotFound):
                await peer.request("session/set_model", asked)
            return
        opened = msgspec.json.decode(await peer.request("session/new", {"cwd": str(desk.root), "mcpServers": []}))
        listed = [model["modelId"] for model in opened["models"]["availableModels"]]
        assert listed == [
            choice.value for option in session.options if option.id == "model" for choice in option.choices
        ]
        assert msgspec.json.decode(await peer.request("session/set_model", asked)) == {}
        assert next(option.value for option in session.options if option.id == "model") == "offline"


@pytest.mark.parametrize(("name", "reason"), [("nothing", "no such directory"), ("main.py", "not a directory")])
async def test_a_session_in_a_directory_that_is_not_there_is_refused(sit: Any, name: str, reason: str) -> None:
    async with sit() as desk:
        known = len([each async for each in desk.client.list_sessions()])
        for method, more in (("session/new", {}), ("session/fork", {"sessionId": desk.session.id})):
            asked = {"cwd": str(desk.root / name), "mcpServers": [], **more}
            with pytest.raises(InvalidParams) as raised:
                await desk.client.peer.request(method, asked)
            assert raised.value.code == -32602
            assert raised.value.data == {"field": "cwd", "reason": f"{reason}: {desk.root / name}"}
        assert len([each async for each in desk.client.list_sessions()]) == known


async def test_a_session_whose_directory_has_gone_can_still_be_read(sit: Any, tmp_path: Path) -> None:
    store, gone = MemoryStore(), tmp_path / "gone"
    gone.mkdir()
    async with sit(root=gone, model=ScriptedModel([TextDelta("Hello.")]), store=store) as desk:
        await desk.ask("Hi")
        session_id = desk.session.id
    gone.rmdir()
    async with sit(store=store) as desk:
        session = await desk.client.load_session(session_id, cwd=gone)
        assert [message.text for message in session.transcript.messages.values()] == ["Hi", "Hello."]


async def test_a_session_is_closed_listed_and_deleted(sit: Any) -> None:
    async with sit(model=ScriptedModel()) as desk:
        await desk.ask("A title of its own")
        await desk.session.close()
        (listed,) = [each async for each in desk.client.list_sessions()]
        assert (listed.session_id, listed.title) == (desk.session.id, "A title of its own")
        await desk.client.delete_session(desk.session.id)
        assert [each async for each in desk.client.list_sessions()] == []
        with pytest.raises(NotFound):
            await desk.client.load_session(desk.session.id, cwd=desk.root)


async def test_a_no_and_an_outcome_are_told_again_as_they_were(sit: Any) -> None:
    store = MemoryStore()
    model = ScriptedModel([tool("run", command="make"), tool("list")])
    async with sit(model=model, store=store) as desk:  # nobody answers: that is a no
        await desk.ask("Go")
        session_id, told = desk.session.id, [outcome.text for outcome in model.outcomes]
        assert "The user rejected this call" in told[0]
    again = ScriptedModel()
    async with sit(model=again, store=store) as desk:
        session = await desk.client.load_session(session_id, cwd=desk.root)
        await session.prompt("And?")
        assert [outcome.text for outcome in again.outcomes] == told


async def test_a_tool_call_that_is_not_the_models_is_not_told_to_it_as_its_own(sit: Any) -> None:
    """Such as the one that tells of an MCP server that failed."""
    store = MemoryStore()
    async with sit(model=ScriptedModel([tool("list")], [TextDelta("Hello.")]), store=store) as desk:
        desk.agent_side.send_nowait(
            ToolCallPatch(id="mcp", title="MCP server 'a': failed", status="failed", creates=True)
        )
        await desk.ask("Hi")
        session_id = desk.session.id
    again = ScriptedModel()
    async with sit(model=again, store=store) as desk:
        session = await desk.client.load_session(session_id, cwd=desk.root)
        await session.prompt("And?")
        requests = [each for past in again.requests[0].history for each in getattr(past, "requests", ())]
        assert [request.name for request in requests] == ["list"]


async def test_what_a_model_refused_is_not_told_to_it_again(sit: Any) -> None:
    """v1: with `refusal`, the prompt and everything after it leave the context."""
    store = MemoryStore()
    model = ScriptedModel([TextDelta("Hello.")], [TextDelta("I w"), tool("list")], [TextDelta("on't"), Stop("refusal")])
    async with sit(model=model, store=store) as desk:
        await desk.ask("Hi")
        reply = await desk.session.prompt("Do evil")
        assert reply.stop_reason == "refusal"
        await desk.ask("Do good")
        assert texts(model) == ["Hi", "Hello.", "Do good"]
        session_id = desk.session.id
    again = ScriptedModel()
    async with sit(model=again, store=store) as desk:
        session = await desk.client.load_session(session_id, cwd=desk.root)
        await session.prompt("And?")
        assert texts(again) == ["Hi", "Hello.", "Do good", "Done.", "And?"]


@pytest.fixture
def plain_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients that don't say that they show notices and compactions; in v2 all have to."""

    def offered(*args: Any, **options: Any) -> Any:
        return replace(offered_capabilities(*args, **options), notices=False, compaction=False)

    monkeypatch.setattr("accord.client.client.offered_capabilities", offered)


@pytest.mark.usefixtures("plain_client")
async def test_a_summary_takes_the_place_of_the_history_also_after_a_restart(sit: Any, version: Any) -> None:
    store = MemoryStore()
    model = ScriptedModel(
        [TextDelta("One."), TokenUsage(850, 50)], [TextDelta("In short.")], [TextDelta("Two."), TokenUsage(100, 10)]
    )
    async with sit(model=model, store=store) as desk:
        await desk.ask("First")
        assert await desk.ask("Second") == "Two."
        (summary, asked) = texts(model)
        assert summary.endswith("so far:\n\nIn short.")
        assert asked == "Second"
        usage = desk.session.transcript.usage
        assert usage is not None
        assert usage.used == 110
        seen = [place for place in desk.session.transcript.timeline if isinstance(place, Compaction)]
        assert bool(seen) is (version == 2)  # others may be unable to show it
        session_id = desk.session.id
    again = ScriptedModel()
    async with sit(model=again, store=store) as desk:
        session = await desk.client.load_session(session_id, cwd=desk.root)
        await session.prompt("Third")
        assert texts(again) == [summary, "Second", "Two.", "Third"]


async def test_a_compaction_in_the_middle_of_a_turn_keeps_the_request_in_the_users_words(sit: Any) -> None:
    store = MemoryStore()
    model = ScriptedModel([tool("list"), TokenUsage(850, 50)], [TextDelta("In short.")], [TextDelta("Done.")])
    async with sit(model=model, store=store) as desk:
        await desk.ask("Mend the parser, but leave the lexer alone")
        (summary,) = texts(model)
        assert "In short." in summary
        assert "leave the lexer alone" in summary
        assert not model.requests[1].tools
        assert all(isinstance(past, UserMessage) for past in model.requests[1].history)


async def test_after_a_compaction_by_hand_there_is_room_again(sit: Any) -> None:
    model = ScriptedModel([TextDelta("One."), TokenUsage(850, 50)], [TextDelta("In short.")], [TextDelta("Two.")])
    async with sit(model=model) as desk:
        await desk.ask("First")
        await desk.ask("/compact")
        usage = desk.session.transcript.usage
        assert usage is not None
        assert usage.used < 100
        assert await desk.ask("Second") == "Two."


async def test_a_model_that_cant_summarise_says_so_and_loses_nothing(sit: Any) -> None:
    class Failing(ScriptedModel):
        fails = False

        async def stream(self, request: Any) -> AsyncGenerator[Event, None]:
            if self.fails and not request.tools:
                raise ModelFailed("no summary today")
            async for event in super().stream(request):
                yield event

    model = Failing([TextDelta("One."), TokenUsage(850, 50)])
    async with sit(model=model) as desk:
        await desk.ask("First")
        model.fails = True
        with pytest.raises(RequestFailed, match="no summary today"):
            await desk.ask("/compact")
        assert await desk.ask("Second") == "Done."
        assert texts(model) == ["First", "One.", "Second"]


async def test_without_a_known_context_nothing_is_compacted_by_itself(sit: Any) -> None:
    model = ScriptedModel([TextDelta("One."), TokenUsage(10**9, 5)], [TextDelta("Two.")], [TextDelta("In short.")])
    model.context_size = None
    async with sit(model=model) as desk:
        await desk.ask("First")
        assert await desk.ask("Second") == "Two."
        assert "is compacted" in await desk.ask("/compact")


@pytest.mark.parametrize("trusted", [True, False])
async def test_a_session_has_the_settings_of_its_own_directory(sit: Any, tmp_path: Path, trusted: bool) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / ".accord.toml").write_text('model = "acme:small"\nmode = "architect"\nmax_requests = 2\n')
    if trusted:
        user_trust().add(SettingsFile.read(other / ".accord.toml"))
    store, opened = MemoryStore(), []
    model = ScriptedModel(*([tool("list")] for _ in range(5)))

    async def open_model(name: str, settings: Any) -> Any:
        opened.append(name)
        return model

    async with sit(open_model=open_model, store=store, flags={"models": "acme:large"}) as desk:
        session = await desk.client.new_session(cwd=other)
        options = {option.id: option.value for option in session.options}
        assert options == (
            {"mode": "architect", "model": "acme:small"} if trusted else {"mode": "ask", "model": "offline"}
        )
        reply = await session.prompt("Go")
        assert reply.stop_reason == ("max_turn_requests" if trusted else "end_turn")
        assert opened == ["acme:small" if trusted else "offline"]
        if not trusted:
            said = [message.text for message in desk.agent_side.transcript.messages.values()]
            assert said == []
            return
        await session.set_option("model", "acme:large")
        await session.set_option("mode", "code")
        session_id = session.id
    async with sit(open_model=open_model, store=store, flags={"models": "acme:large"}) as desk:
        session = await desk.client.load_session(session_id, cwd=other)
        assert {option.id: option.value for option in session.options} == {"mode": "code", "model": "acme:large"}


@pytest.mark.usefixtures("plain_client")
async def test_settings_that_are_ignored_are_told_once_in_whatever_way_the_client_can_show(
    sit: Any, project: Path, version: Any
) -> None:
    (project / ".accord.toml").write_text('mode = "code"\n')
    async with sit(model=ScriptedModel()) as desk:
        first, second = await desk.ask("One"), await desk.ask("Two")
        assert second == "Done."
        assert ("`accord trust" in first) is (version != 2)


async def test_a_model_belongs_to_its_address_and_key(sit: Any, tmp_path: Path) -> None:
    """Two projects may mean different servers by the same name; neither's code goes to the other's."""
    other = tmp_path / "other"
    other.mkdir()
    (other / ".accord.toml").write_text('model = "acme:one"\n[base_urls]\nacme = "http://other.test"\n')
    user_trust().add(SettingsFile.read(other / ".accord.toml"))
    addresses: list[dict[str, str]] = []

    async def open_model(name: str, settings: Any) -> Any:
        addresses.append(settings.base_urls)
        return ScriptedModel()

    async with sit(open_model=open_model, flags={"model": "acme:one"}) as desk:
        await desk.ask()
        session = await desk.client.new_session(cwd=other)
        await session.prompt("Go")
        await desk.ask()
        assert addresses == [{}, {"acme": "http://other.test"}]


async def test_a_key_is_looked_for_again_by_open_sessions_each_time_somebody_logs_in(
    sit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    keys: list[Any] = []

    async def open_model(name: str, settings: Any) -> Any:
        keys.append(settings.environment.get("OPENAI_API_KEY"))
        if keys[-1] != "right":
            raise ModelNeedsKey("OPENAI_API_KEY", "openai", "openai refused the key")
        return ScriptedModel()

    async with sit(open_model=open_model, flags={"models": "openai:one"}) as desk:
        with pytest.raises(InvalidParams, match="Set OPENAI_API_KEY"):
            await desk.session.set_option("model", "openai:one")
        assert "The model is still offline" in await desk.ask("/model openai:one")
        for key in ("wrong", "right"):
            (tmp_path / "home").mkdir(exist_ok=True)
            (tmp_path / "home" / "config.toml").write_text(f'[environment]\nOPENAI_API_KEY = "{key}"\n')
            await desk.client.authenticate("environment")
            await desk.session.set_option("model", "openai:one")
            if key == "wrong":
                with pytest.raises(AuthRequired, match=r"refused the key.*OPENAI_API_KEY") as refused:
                    await desk.ask()
                assert [method.get("id") or method["methodId"] for method in refused.value.auth_methods] == [
                    "environment"
                ]
        assert await desk.ask() == "Done."


@asynccontextmanager
async def meanwhile(desk: Any, version: Any) -> AsyncIterator[Any]:
    """The same session in another window: a client of ours sends one prompt after the other."""
    async with Client(desk.coder.agent, version=version) as client:
        yield await client.load_session(desk.session.id, cwd=desk.root)


async def test_what_the_user_says_meanwhile_joins_the_turn_as_a_prompt_would(
    sit: Any, project: Path, version: Any
) -> None:
    model = ScriptedModel([TextDelta("…"), tool("list")], [TextDelta("Both.")])
    (project.parent / "home").mkdir()
    (project.parent / "home" / "config.toml").write_text('[takes]\n"acme:seeing" = ["image"]\n')
    async with sit(model=model, flags={"models": "acme:seeing"}) as desk:
        first = desk.session.prompt("First")
        await model.streaming.wait()
        link = ResourceLink(uri=(project / "main.py").as_uri(), name="main.py")
        image = Image(data="aGk=", mime_type="image/png")
        async with meanwhile(desk, version) as session:
            second = session.prompt([Text("Look at this as well"), link, image])
            await until(lambda: desk.has_waiting)
            model.held.set()
            assert (await first).stop_reason == (await second).stop_reason == "end_turn"
        told = texts(model)
        assert "Look at this as well" in told
        assert any("return n + n" in text and text.startswith("<file") for text in told)
        assert "(images, left out: you do not accept them)" in told


async def test_a_slash_command_waits_for_a_turn_of_its_own(sit: Any, version: Any) -> None:
    model = ScriptedModel([TextDelta("…"), tool("list")], [TextDelta("Done with that.")])
    async with sit(model=model) as desk:
        first = desk.session.prompt("First")
        await model.streaming.wait()
        async with meanwhile(desk, version) as session:
            second = session.prompt("/mode code")
            await until(lambda: desk.has_waiting)
            model.held.set()
            assert (await first).stop_reason == "end_turn"
            assert "The mode is now code" in (await second).text
        assert "/mode code" not in texts(model)


async def test_few_whole_chunks_are_sent(sit: Any) -> None:
    """FN-80: adjacent pieces of text go out together."""
    sent: list[Any] = []
    model = ScriptedModel([TextDelta(f"word {number} ") for number in range(500)])
    async with sit(model=model, on_frame=lambda *frame: sent.append(frame)) as desk:
        text = await desk.ask()
        assert text == "".join(f"word {number} " for number in range(500))
        chunks = [frame for frame in sent if b"word " in frame[-1]]
        assert 0 < len(chunks) < 50


async def test_a_question_is_asked_by_a_form_where_the_client_has_some(sit: Any) -> None:
    async def answer(asked: Any) -> Any:
        assert asked.message == "Which one?"
        return ElicitationAnswer(action="accept", content={"answer": "left"})

    async with sit(on_elicitation=answer) as desk:
        outcome = await desk.use_one("ask", question="Which one?", choices=["left", "right", "left"])
        assert outcome.text == "left"


async def test_two_projects_are_worked_in_at_once(sit: Any, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "main.py").write_text("other\n")
    async with sit() as desk:
        session = await desk.client.new_session(cwd=other)
        await asyncio.gather(desk.ask("/read main.py"), session.prompt("/read main.py"))
        read = [call.raw_output["output"] for call in [*desk.calls, *session.transcript.tool_calls.values()]]
        assert read == ["def double(n):\n    return n + n\n", "other\n"]
