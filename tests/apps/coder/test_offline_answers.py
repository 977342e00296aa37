"""The offline model's answers stand alone: many clients show nothing of a tool call but its title."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accord import permissions
from accord.apps.coder.models.model import ToolOutcome
from accord.apps.coder.models.offline_answers import answer_to, answer_to_tests
from accord.apps.coder.models.offline_requests import Changes, Read, Run
from accord.apps.coder.tools.tool import fenced, in_code


@pytest.fixture
def offline(sit: Any) -> Callable[..., Any]:
    return lambda **options: sit(flags={}, **{"on_permission": permissions.allow_all, **options})


def outcome(text: str, **more: Any) -> ToolOutcome:
    return ToolOutcome(id="1", name="tool", text=text, **more)


def run_outcome(output: str, **more: Any) -> ToolOutcome:
    header = "exit code 0"
    return outcome(f"[{header}]\n{output}", header=header, details={"exitCode": 0}, **more)


def blocks(answer: str) -> list[tuple[str, str]]:
    """The code blocks of a text by the rules of CommonMark: the language and what is in each."""
    found: list[tuple[str, str]] = []
    fence, language, inside = "", "", list[str]()
    for line in answer.splitlines():
        ticks = len(line) - len(line.lstrip("`"))
        if fence and ticks >= len(fence) and not line.strip("`"):
            found.append((language, "".join(f"{each}\n" for each in inside)))
            fence = ""
        elif fence:
            inside.append(line)
        elif ticks >= 3 and "`" not in line[ticks:]:
            fence, language, inside = "`" * ticks, line[ticks:], []
    assert not fence, f"a block without an end: {answer}"
    return found


@pytest.mark.parametrize(
    "prompt",
    [
        "/read main.py",
        "/run cat main.py",
        "/search n + n",
        "/test",
        "/review",
        "list files in .",
        "/explain",
        "/plan it",
    ],
)
async def test_no_answer_sends_the_reader_to_something_that_may_not_be_shown(offline: Any, prompt: str) -> None:
    """FN-114: what was read or written is in the answer itself."""
    async with offline() as desk:
        (desk.root / "main.py").write_text("def double(n):\n    return n + n  # so\n")
        said = await desk.ask(prompt)
        assert "above" not in said
        if not prompt.startswith("/plan"):
            assert any("main.py" in code or "n + n" in code for _, code in blocks(said)) or "Doubles numbers" in said


async def test_a_file_is_in_the_answer_as_code_of_its_language(offline: Any) -> None:
    async with offline() as desk:
        assert await desk.ask("/read main.py") == "`main.py`:\n\n```py\ndef double(n):\n    return n + n\n```\n"
        part = await desk.ask("/read main.py:2")
        assert part == "`main.py`, line 2 of 2:\n\n```py\n    return n + n\n```\n"


async def test_a_long_file_is_shortened_with_a_note_that_says_how_to_go_on(offline: Any) -> None:
    async with offline() as desk:
        (desk.root / "long.txt").write_text("".join(f"line {number}\n" for number in range(1, 101)))
        said = await desk.ask("/read long.txt")
        assert said.startswith("`long.txt`, lines 1 to 40 of 100:\n")
        assert blocks(said) == [("txt", "".join(f"line {number}\n" for number in range(1, 41)))]
        assert "`/read long.txt:41-80` shows the lines that follow" in said
        more = await desk.ask("/read long.txt:41-80")
        assert more.startswith("`long.txt`, lines 41 to 80 of 100:\n")
        assert "left out" not in more


async def test_an_empty_file_and_a_missing_one_are_told_in_words(offline: Any) -> None:
    async with offline() as desk:
        (desk.root / "empty.txt").write_text("")
        assert await desk.ask("/read empty.txt") == "`empty.txt` is empty.\n"
        assert await desk.ask("/read nothing.txt") == "That did not work: file not found: nothing.txt\n"


async def test_fences_in_a_file_do_not_end_the_block(offline: Any) -> None:
    text = "Before\n```python\nprint()\n```\nand ````` five\n"
    async with offline() as desk:
        (desk.root / "notes.md").write_text(text)
        assert blocks(await desk.ask("/read notes.md")) == [("md", text)]
        ((_, shown),) = blocks(await desk.ask("/run cat notes.md"))
        assert shown == text


async def test_a_command_that_worked_is_told_with_the_last_lines_that_it_wrote(offline: Any) -> None:
    async with offline() as desk:
        assert await desk.ask("/run echo hi") == "`echo hi` finished: exit code 0.\n\nOutput:\n\n```\nhi\n```\n"
        assert await desk.ask("/run true") == "`true` finished: exit code 0, no output.\n"
        said = await desk.ask("/run seq 1 100")
        assert "Output, last 40 of 100 lines:" in said
        assert blocks(said) == [("", "".join(f"{number}\n" for number in range(61, 101)))]


async def test_a_command_that_failed_is_told_with_what_it_wrote(offline: Any) -> None:
    async with offline() as desk:
        said = await desk.ask("/run echo wrong; exit 3")
        assert said == "`echo wrong; exit 3` failed: exit code 3.\n\nOutput:\n\n```\nwrong\n```\n"


async def test_tests_are_told_with_the_end_of_their_output(offline: Any) -> None:
    async with offline() as desk:
        said = await desk.ask("/test")
        assert said.startswith("1 test fails:\n\n- ")
        (shown,) = blocks(said)
        assert "AssertionError: 4 != 5" in shown[1]
        (desk.root / "main.py").write_text("def double(n):\n    return 5\n")
        passed = await desk.ask("/test")
        assert passed.startswith("The tests pass: ")
        assert blocks(passed)


async def test_a_review_has_the_diff(offline: Any) -> None:
    async with offline() as desk:
        (desk.root / "main.py").write_text("def double(n):\n    return 2 * n\n")
        (files, diff) = blocks(await desk.ask("/review"))
        assert files == ("", " M main.py\n")
        assert diff[0] == "diff"
        assert "+    return 2 * n\n" in diff[1]


async def test_a_plan_is_in_the_answer_too(offline: Any) -> None:
    async with offline() as desk:
        assert "1. Understand the goal: peace\n2. Search" in await desk.ask("/plan peace")


async def test_what_was_not_allowed_is_told_in_words_for_people(offline: Any) -> None:
    async with offline(on_permission=permissions.reject_all) as desk:
        assert await desk.ask("/run true") == "Nothing was done: permission denied.\n"
        assert await desk.ask("/test") == "The tests were not run. Nothing was done: permission denied.\n"


async def test_a_text_that_is_not_there_is_told_in_words_for_people(offline: Any, project: Path) -> None:
    (project / "notes.txt").write_text("one\n")
    async with offline() as desk:
        said = await desk.ask("/edit notes.txt seven => eight")
        assert said == "That did not work: the text to replace is not in notes.txt\n"


@pytest.mark.parametrize("line", ["x" * 5000, "é" * 5000])
def test_long_lines_are_cut(line: str) -> None:
    said = answer_to(Read("a.txt"), outcome(f"{line}\nshort\n"))
    assert len(said) < 700
    assert "short" in said


def test_many_long_lines_are_cut_to_what_an_answer_holds() -> None:
    said = answer_to(Run("make"), run_outcome(f"{'x' * 490}\n" * 39 + "the end\n"))
    assert len(said) < 9000
    assert "the end" in said


def test_how_many_lines_there_were_is_not_told_when_nobody_knows() -> None:
    text = "a\n" * 50 + "[… 90000 characters left out …]\n" + "b\n" * 50
    assert "Output, last 40 lines" in answer_to(Run("make"), run_outcome(text, is_shortened=True))


def test_colours_are_not_shown_as_text() -> None:
    said = answer_to(Run("make"), run_outcome("\x1b[31mred\x1b[0m\n"))
    assert blocks(said) == [("", "red\n")]


def test_a_diff_that_is_cut_says_so() -> None:
    text = " M a.txt\n\ndiff --git a/a.txt b/a.txt\n" + "".join(f"+{number}\n" for number in range(100))
    said = answer_to(Changes(), outcome(text))
    assert "1 file has changed, +100" in said
    assert "61 more lines left out." in said


def test_a_command_in_a_sentence_is_code_whatever_is_in_it() -> None:
    assert in_code("echo `date`") == "`` echo `date` ``"
    assert in_code("echo one\necho two") == "`echo one …`"
    assert answer_to_tests("make", run_outcome("ok\n")).startswith("The tests pass: ok")


def test_a_name_that_is_no_language_opens_no_other_block() -> None:
    assert fenced("x", "a`b\nc") == "```\nx\n```"
