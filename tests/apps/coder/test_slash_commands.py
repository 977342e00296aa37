"""The slash commands and plain sentences, done by the agent as it comes: without a key, without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from accord import permissions
from tests.apps.coder.scripted import ScriptedModel


@pytest.fixture
def offline(sit: Any) -> Any:
    """A desk with the built-in model, where everything is allowed unless a test says otherwise."""

    def open_desk(**options: Any) -> Any:
        return sit(flags={}, **{"on_permission": permissions.allow_all, **options})

    return open_desk


async def test_an_agent_without_a_key_says_what_it_is_and_what_it_can_do(offline: Any) -> None:
    async with offline() as desk:
        said = await desk.ask("Write me a poem")
        assert "takes a language model, and I am not one" in said
        assert "`explain this project`" in said


async def test_commands_are_offered_with_hints(offline: Any) -> None:
    async with offline() as desk:
        await desk.ask("/help")
        names = [command.name for command in desk.session.commands]
        assert names == [
            "help", "plan", "search", "read", "edit", "run", "test", "review", "explain", "compact", "mode", "model",
            "sessions",
        ]  # fmt: skip


async def test_help_lists_every_command(offline: Any) -> None:
    async with offline() as desk:
        said = await desk.ask("/help")
        assert all(f"/{command.name}" in said for command in desk.session.commands)


@pytest.mark.parametrize("prompt", ["/search n + n", 'Search for "n + n"', "where is `n + n`?"])
async def test_a_search_is_done(offline: Any, prompt: str) -> None:
    async with offline() as desk:
        assert "```\nmain.py:2:    return n + n\n```" in await desk.ask(prompt)


async def test_a_file_is_shown(offline: Any) -> None:
    async with offline() as desk:
        await desk.ask("/read main.py:2")
        assert desk.calls[0].raw_output["output"] == "[lines 2 to 2 of 2]\n    return n + n\n"


@pytest.mark.parametrize(
    "prompt",
    [
        "/edit main.py n + n => 2 * n",
        'Replace "n + n" with "2 * n" in main.py',
        "change `n + n` to `2 * n` in main.py.",
    ],
)
async def test_an_edit_is_planned_asked_for_shown_and_done(offline: Any, prompt: str) -> None:
    seen: list[Any] = []

    async def allow(asked: Any) -> Any:
        seen.append(asked)
        return await permissions.allow_all(asked)

    async with offline(on_permission=allow) as desk:
        assert "Edited main.py at line 2." in await desk.ask(prompt)
        assert (desk.root / "main.py").read_text() == "def double(n):\n    return 2 * n\n"
        assert len(seen) == 1
        (plan,) = desk.session.transcript.plans.values()
        assert [entry.status for entry in plan.entries] == ["completed", "completed"]


async def test_an_edit_that_is_refused_changes_nothing(offline: Any) -> None:
    async with offline(on_permission=permissions.reject_all) as desk:
        assert "permission denied" in await desk.ask("/edit main.py n + n => 2 * n")
        assert "n + n" in (desk.root / "main.py").read_text()


async def test_the_tests_are_found_run_and_their_failures_told_with_places(offline: Any) -> None:
    async with offline() as desk:
        said = await desk.ask("/test")
        assert "1 test fails" in said
        assert "test_main.py:7" in said
        (desk.root / "main.py").write_text("def double(n):\n    return 5\n")
        assert "The tests pass" in await desk.ask("Run the tests")


async def test_a_settings_test_command_is_used(sit: Any, project: Path) -> None:
    async with sit(flags={"test_command": "echo all is well"}, on_permission=permissions.allow_all) as desk:
        assert "The tests pass: all is well" in await desk.ask("/test")


async def test_a_command_is_run(offline: Any) -> None:
    async with offline() as desk:
        assert "`echo hi` finished: exit code 0." in await desk.ask("/run echo hi")


async def test_the_changes_are_reviewed(offline: Any) -> None:
    async with offline() as desk:
        assert "Nothing has changed" in await desk.ask("/review")
        (desk.root / "main.py").write_text("def double(n):\n    return 2 * n  # TODO\n")
        said = await desk.ask("review my changes")
        assert "1 file has changed (+1 " in said
        assert "TODO" in said


async def test_the_repository_is_explained(offline: Any) -> None:
    async with offline() as desk:
        said = await desk.ask("/explain")
        assert "> Doubles numbers" in said
        assert "with 3 files: 2 Python, 1 Markdown" in said


async def test_files_are_created_moved_and_deleted_by_sentences(offline: Any) -> None:
    async with offline() as desk:
        await desk.ask('create notes.txt with "remember"')
        assert (desk.root / "notes.txt").read_text() == "remember\n"
        await desk.ask("move notes.txt to old.txt")
        await desk.ask("delete old.txt")
        assert not (desk.root / "old.txt").exists()


@pytest.mark.parametrize(
    "prompt",
    [
        "create hello.txt with hello world",
        "Create a file hello.txt containing hello world.",
        "write hello world to hello.txt",
    ],
)
async def test_a_file_is_created_by_a_sentence_without_quotation_marks(offline: Any, prompt: str) -> None:
    async with offline() as desk:
        assert await desk.ask(prompt) == "Created hello.txt.\n"
        assert (desk.root / "hello.txt").read_text() == "hello world\n"


async def test_the_mode_is_shown_and_switched(offline: Any) -> None:
    async with offline() as desk:
        assert "`ask` (current)" in await desk.ask("/mode")
        assert "The mode is now code" in await desk.ask("/mode code")
        assert [option.value for option in desk.session.options if option.id == "mode"] == ["code"]
        assert "Unknown mode: 'fast'" in await desk.ask("/mode fast")


async def test_the_model_is_shown_and_switched(sit: Any) -> None:
    async with sit(model=ScriptedModel(), flags={"model": "ollama:small", "models": "ollama:large"}) as desk:
        assert "`ollama:small` (current)" in await desk.ask("/model")
        assert "The model is now ollama:large" in await desk.ask("/model ollama:large")
        assert [option.value for option in desk.session.options if option.id == "model"] == ["ollama:large"]
        assert "is not one of the models" in await desk.ask("/model gpt")


async def test_sessions_of_the_directory_are_listed(offline: Any) -> None:
    async with offline() as desk:
        await desk.ask("Hello there")
        assert "Hello there" in await desk.ask("/sessions")


async def test_a_conversation_is_compacted_and_goes_on(offline: Any) -> None:
    async with offline() as desk:
        assert "nothing to compact" in await desk.ask("/compact")
        await desk.ask("/search double")
        assert "is compacted" in await desk.ask("/compact")
        assert "main.py" in await desk.ask("/search double")


async def test_with_a_language_model_the_same_commands_go_through_it(sit: Any) -> None:
    model = ScriptedModel()
    async with sit(model=model) as desk:
        for prompt, said in [("/explain", "Explain what"), ("/review", "Review the"), ("/plan peace", "plan for")]:
            assert await desk.ask(prompt) == "Done."
            assert said in str(model.requests[-1].history[-1])
        before = len(model.requests)
        await desk.ask("/search double")
        assert len(model.requests) == before
        await desk.ask("What did you find?")
        assert "main.py:1:def double(n):" in model.outcomes[-1].text


async def test_a_command_without_what_it_needs_says_how_it_is_used(offline: Any) -> None:
    async with offline() as desk:
        for name in ("search", "read", "edit", "run", "plan"):
            assert f"Usage: `/{name}" in await desk.ask(f"/{name}")
