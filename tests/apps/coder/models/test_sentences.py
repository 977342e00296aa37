"""Which sentences are understood without a language model, and which near misses are not."""

from __future__ import annotations

from typing import Any

import pytest

from accord.apps.coder.models.sentences import (
    Changes,
    Create,
    Delete,
    Edit,
    Explain,
    Listing,
    Move,
    Plan,
    Read,
    Run,
    Search,
    Tests,
    understood,
)


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("/search n + n", Search("n + n")),
        ("/search parse in src", Search("parse", "src")),
        ('/search "in vain"', Search("in vain")),
        ("/read main.py:2-4", Read("main.py", 2, 3)),
        ("/read my file.txt", Read("my file.txt")),
        ("/edit main.py n + n => 2 * n", Edit("main.py", "n + n", "2 * n")),
        ('/edit "my file.py" "a => b" => "c\\n"', Edit("my file.py", "a => b", "c\n")),
        ("/run rm -rf build && make", Run("rm -rf build && make")),
        ("/test", Tests()),
        ("/test -k double", Tests("-k double")),
        ("/review src", Changes("src")),
        ("/explain", Explain()),
        ("/plan world peace", Plan("world peace")),
    ],
)
def test_slash_commands_are_taken_as_they_stand(text: str, intent: Any) -> None:
    assert understood(text) == intent


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("replace foo with bar in main.py", Edit("main.py", "foo", "bar")),
        ('Please replace "n + n" by "2 * n" in the file main.', Edit("main", "n + n", "2 * n")),
        ("change `a b` to `c d` in `src/x.py`.", Edit("src/x.py", "a b", "c d")),
        ("rename a.py to b.py", Move("a.py", "b.py")),
        ("move src/a.py into lib/", Move("src/a.py", "lib/a.py")),
        ("delete old.txt", Delete("old.txt")),
        ("could you please remove the file notes?", Delete("notes")),
        ('create notes.txt with "remember"', Create("notes.txt", "remember")),
        ('create a file notes with the text "one\\ntwo"', Create("notes", "one\ntwo")),
        ("write 'x = 1' to x.py", Create("x.py", "x = 1")),
        ("run `make lint`", Run("make lint")),
        ("run the tests", Tests()),
        ("Run all my tests!", Tests()),
        ("search for the parse error", Search("the parse error")),
        ("grep double in src/main.py", Search("double", "src/main.py")),
        ("where is double defined?", Search("double")),
        ("show me the diff", Changes()),
        ("what changed?", Changes()),
        ("explain this repository", Explain()),
        ("list the files in src", Listing("src")),
        ("read Makefile", Read("Makefile")),
        ("show src/main.py:7", Read("src/main.py", 7)),
        ("make a plan for peace", Plan("peace")),
    ],
)
def test_plain_sentences_that_mean_the_same(text: str, intent: Any) -> None:
    assert understood(text) == intent


@pytest.mark.parametrize(
    "text",
    [
        "run the linter and fix it",
        "run make lint",
        "run away",
        "execute order 66",
        "run the tests and fix what fails",
        "test the parser",
        "delete it",
        "delete everything",
        "delete .",
        "delete 'everything'",
        "remove numpy",
        "remove the logging.",
        "delete main.py and tell me why",
        "delete a.py, b.py",
        "don't delete main.py",
        "should I delete main.py?",
        "rename foo to bar",
        "rename the function to double",
        "move on to main.py now please",
        "move the helper into main.py",
        "change the color to blue in main.css",
        "change foo to bar in main.py",
        "replace the loop with a comprehension in main.py",
        "replace foo with bar",
        "replace foo with bar in main.py and other.py",
        "replace foo with bar in the tests",
        "create main.py with a function that doubles",
        "create a test for double",
        "write tests to test_main.py",
        "write a poem into poem.txt",
        "make main.py faster",
        "find out why it crashes",
        "look at main.py",
        "list the bugs",
        "show the user a message",
        "open an issue",
        "Write me a poem",
        "",
    ],
)
def test_what_might_mean_something_else_is_not_understood(text: str) -> None:
    assert understood(text) is None
