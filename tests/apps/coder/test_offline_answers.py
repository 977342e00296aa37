"""The offline model's answers stand alone: many clients show nothing of a tool call but its title."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accord import permissions
from accord.apps.coder.models import offline_remarks
from accord.apps.coder.models.model import ToolOutcome
from accord.apps.coder.models.offline_answers import answer_to, answer_to_tests, files_answer, readme_begin
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
        assert said == "That did not work: `seven` is not in notes.txt\n"


class TestATextThatOccursSeveralTimes:
    @pytest.fixture(autouse=True)
    def big(self, project: Path) -> None:
        (project / "big.txt").write_text("".join(f"x line {number}\n" for number in range(1, 301)))

    async def test_is_asked_about_and_replaced_everywhere(self, offline: Any, project: Path) -> None:
        async with offline() as desk:
            asked = await desk.ask("replace x with y in big.txt")
            assert asked == (
                "`x` occurs 300 times in big.txt, on lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and later ones. "
                'Say which, as in "line 3", or "everywhere".\n'
            )
            assert await desk.ask("everywhere, please") == "Replaced 300 occurrences in big.txt, the first at line 1.\n"
            assert (project / "big.txt").read_text().startswith("y line 1\ny line 2\n")
            assert "takes a language model" in await desk.ask("everywhere")  # that was answered

    async def test_is_replaced_on_the_line_that_is_named(self, offline: Any, project: Path) -> None:
        (project / "big.txt").write_text("a x\nb\na x\nc\na x\n")
        async with offline() as desk:
            asked = await desk.ask("replace x with y in big.txt")
            assert (
                asked
                == '`x` occurs 3 times in big.txt, on lines 1, 3, 5. Say which, as in "line 5", or "everywhere".\n'
            )
            assert "is not on line 2" in await desk.ask("line 2")
            assert await desk.ask("only the one on line 3") == "Edited big.txt at line 3.\n"
        assert (project / "big.txt").read_text() == "a x\nb\na y\nc\na x\n"

    async def test_on_one_line_only_is_not_asked_about_by_its_line(self, offline: Any, project: Path) -> None:
        (project / "big.txt").write_text("x and x\n")
        async with offline() as desk:
            asked = await desk.ask("replace x with y in big.txt")
            assert asked == '`x` occurs 2 times in big.txt, on line 1. Say "everywhere" to replace them all.\n'
            await desk.ask("everywhere")
        assert (project / "big.txt").read_text() == "y and y\n"

    @pytest.mark.parametrize(
        "prompt",
        [
            "replace all x with y in big.txt",
            "replace x with y everywhere in big.txt",
            "Replace x by y in big.txt, everywhere.",
        ],
    )
    async def test_is_replaced_at_once_where_that_is_said(self, offline: Any, project: Path, prompt: str) -> None:
        async with offline() as desk:
            assert await desk.ask(prompt) == "Replaced 300 occurrences in big.txt, the first at line 1.\n"

    async def test_is_not_replaced_when_somebody_says_everywhere_to_something_else(
        self, offline: Any, project: Path
    ) -> None:
        async with offline() as desk:
            await desk.ask("replace x with y in big.txt")
            await desk.ask("/read main.py")
            assert "takes a language model" in await desk.ask("everywhere")
        assert (project / "big.txt").read_text().startswith("x")


class TestAnExplanation:
    async def test_counts_all_files_and_quotes_whole_paragraphs_and_code(self, offline: Any, project: Path) -> None:
        (project / "README.md").write_text(
            "# Demo\n\n[![badge](x.svg)](y)\n\n```sh\nmake run   # starts it\n```\n\nDoubles numbers. It is\nsmall.\n\n"
            "## Use\n\n" + "Long sentence number one. " * 40 + "\n"
        )
        (project / "src").mkdir()
        for number in range(3):
            (project / "src" / f"{number}.py").touch()
        async with offline() as desk:
            said = await desk.ask("What does this project do?")
        assert "> ```sh\n> make run   # starts it\n> ```\n>\n> Doubles numbers. It is\n> small.\n" in said
        assert "badge" not in said
        assert "with 6 files: 5 Python, 1 Markdown" in said

    def test_of_a_long_readme_ends_with_a_sentence(self) -> None:
        text = "\n".join(f"Sentence {number} goes\non here." for number in range(30))
        assert readme_begin(text).endswith("on here.")
        assert len(readme_begin(text).splitlines()) <= 16

    def test_has_no_code_without_its_end(self) -> None:
        assert readme_begin("Words.\n\n```py\nx = 1\n") == "Words."
        assert readme_begin("# Only a title\n") == ""

    def test_says_when_files_were_not_counted_to_the_end(self) -> None:
        details = {"hits": 9000, "endings": {".py": 5000, ".md": 3000, ".c": 1}, "isWhole": False}
        assert files_answer(outcome("", details=details)) == (
            "There are more than 9,000 files, most of them Python and Markdown.\n"
        )


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("Hi!", "Hello! I work without a language model"),
        ("hello, who are you?", "I am accord's coding agent"),
        ("what can you do", "I am accord's coding agent"),
        ("help", "I am accord's coding agent"),
        ("Thanks a lot!", "You are welcome."),
        ("Which model are you using?", "The model is `offline`: not a language model"),
        ("how do I use a real model?", "The model is `offline`: not a language model"),
        ("undo that", "I can't undo by myself. On accord's screen `/undo`"),
        ("run ls -l", "A command has to be in quotation marks: run `ls -l`. Or say `/run ls -l`."),
        ("git status", "If that is a command, say `/run git status`."),
        ("fix the bug", "That takes a language model, and I am not one"),
        ("explain main.py", "`main.py`:\n\n```py\n"),
        ("how many lines does main.py have?", "`main.py` has 2 lines."),
        ("read the README", "`README.md`:\n"),
        ("show me the readme", "`README.md`:\n"),
        ("summarize the Readme, please", "`README.md`:\n"),
        ("how many lines does the readme have?", "`README.md` has "),
        ("show me the license", "That did not work: file not found: license"),
        ("list files", "This directory has "),
        ("what files are here?", "This directory has "),
        ("list src", "If `src` is a file, say `read the file src`; if it is a directory, `list src/`."),
        ("delete nothing.txt please", "That did not work: file not found: nothing.txt"),
        ("search for x in nothing.txt", "`x in nothing.txt` was not found, and there is no file `nothing.txt`."),
        ("search for x in main.py", "`x` was not found in `main.py`."),
        ("exit", "I can't end the program that you type this in. On accord's screen `/exit` leaves"),
        ("find return", "`return` is on 1 line of `main.py`:"),
    ],
)
async def test_what_newcomers_say_first(offline: Any, prompt: str, answer: str) -> None:
    async with offline() as desk:
        assert (await desk.ask(prompt)).startswith(answer)


@pytest.mark.parametrize("prompt", re.findall(r"`([a-z][^`]+)`", offline_remarks._ABILITIES))
async def test_whatever_is_offered_works_as_it_stands(offline: Any, prompt: str) -> None:
    """Typed word for word, with names for what is in capitals."""
    prompt = prompt.replace("FILE", "main.py").replace("OLD", "double").replace("NEW", "twice")
    async with offline() as desk:
        (desk.root / "Makefile").write_text("lint:\n\t@echo clean\n")
        answer = await desk.ask(f'run "{prompt}"' if prompt.startswith("make") else prompt)
    assert "takes a language model" not in answer
    assert "did not work" not in answer


async def test_what_can_be_said_is_told_in_full_once(offline: Any) -> None:
    async with offline() as desk:
        assert "`explain this project`" in await desk.ask("fix the bug")
        again = await desk.ask("write a poem")
        assert again.startswith("That takes a language model, too. `help` shows what I can do")
        assert len(again.splitlines()) == 1


async def test_a_file_that_is_no_text_is_named_once(offline: Any, project: Path) -> None:
    (project / "photo.jpg").write_bytes(b"\xff\xd8\xff")
    async with offline() as desk:
        assert await desk.ask("open photo.jpg") == (
            "That did not work: photo.jpg can't be read: it is not text in UTF-8\n"
        )


async def test_without_a_repository_there_are_no_changes_to_tell(offline: Any, project: Path) -> None:
    shutil.rmtree(project / ".git")
    async with offline() as desk:
        answer = await desk.ask("what changed?")
    assert answer.startswith("That did not work: not a git repository: there is no .git in ")


async def test_an_empty_directory_is_told_as_one(sit: Any, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    async with sit(flags={}, root=tmp_path / "empty") as desk:
        assert (await desk.ask("explain this project")).startswith("This directory is empty. `create notes.txt with ")


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ("?? a.txt\n", "1 file is new:"),
        ("?? src/\n", "1 whole directory is new:"),
        ('?? a.txt\n?? b.txt\n?? "odd \\303/"\n', "2 files and 1 whole directory are new:"),
        (" M a.txt\n?? b/\n?? c/\n", "1 file has changed (+0 −0), and 2 whole directories are new:"),  # noqa: RUF001  # a minus
        (" M a.txt\n?? b\n?? c/\n", "1 file has changed (+0 −0), and 1 more and 1 whole directory are new:"),  # noqa: RUF001
    ],
)
def test_a_directory_of_new_files_is_not_counted_as_a_file(status: str, told: str) -> None:
    assert answer_to(Changes(), outcome(f"{status}\n")).startswith(told)


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
    assert "1 file has changed (+100 " in said
    assert "61 more lines left out." in said


def test_a_command_in_a_sentence_is_code_whatever_is_in_it() -> None:
    assert in_code("echo `date`") == "`` echo `date` ``"
    assert in_code("echo one\necho two") == "`echo one …`"
    assert answer_to_tests("make", run_outcome("ok\n")).startswith("The tests pass: ok")


def test_a_name_that_is_no_language_opens_no_other_block() -> None:
    assert fenced("x", "a`b\nc") == "```\nx\n```"


async def test_the_command_for_a_real_model_is_the_one_that_the_shell_finds(offline: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(offline_remarks, "program_command", lambda: ".venv/bin/accord")
    async with offline() as desk:
        answer = await desk.ask("how do I use a real model?")
    assert "`.venv/bin/accord --model anthropic:NAME`" in answer
    assert "`.venv/bin/accord help models`" in answer
