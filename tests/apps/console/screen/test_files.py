"""Finding files by a few letters, and naming them in prompts."""

from __future__ import annotations

from accord.apps.console.screen.files import best_matches, list_files
from accord.apps.console.screen.mentions import content_of, mentioned, quoted
from accord.session.capabilities import AgentCapabilities
from accord.session.content import Audio, Image, Resource, ResourceLink

PATHS = ["src/accord/session/parser.py", "tests/test_parser.py", "docs/parsing.md", "README.md", "src/p/a/r/s.txt"]


def test_the_likeliest_file_comes_first():
    assert best_matches("parser", PATHS)[0] == "src/accord/session/parser.py"
    assert best_matches("README", PATHS) == ["README.md"]
    assert best_matches("tpar", PATHS)[0] == "tests/test_parser.py"
    assert best_matches("zzz", PATHS) == []
    assert best_matches("", PATHS)[0] == "README.md"


async def test_without_git_hidden_and_made_things_are_left_out(tmp_path):
    for path in ("a.py", "src/b.py", ".hidden/c.py", "node_modules/d.js", "__pycache__/e.pyc"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("")
    assert await list_files(str(tmp_path)) == ["a.py", "src/b.py"]


def test_names_are_found_with_quotes_and_before_punctuation(tmp_path):
    for name in ("a b.txt", "c.txt", "d.txt"):
        (tmp_path / name).write_text("x")
    text = f"{quoted('a b.txt')} and @c.txt, (see @d.txt) mail@c.txt @missing.txt @c.txt"
    assert [path.name for path in mentioned(text, tmp_path)] == ["a b.txt", "c.txt", "d.txt"]


def test_each_file_goes_as_the_agent_can_take_it(tmp_path):
    (tmp_path / "t.txt").write_text("text")
    (tmp_path / "big.txt").write_text("x" * 300_000)
    (tmp_path / "p.png").write_bytes(b"png")
    (tmp_path / "s.wav").write_bytes(b"wav")
    text = "@t.txt @big.txt @p.png @s.wav @."
    everything = AgentCapabilities(image=True, audio=True, embedded_context=True)
    kinds = [type(block) for block in content_of(text, tmp_path, everything)[1:]]
    assert kinds == [Resource, ResourceLink, Image, Audio, ResourceLink]
    assert {type(block) for block in content_of(text, tmp_path, AgentCapabilities())[1:]} == {ResourceLink}
