"""Finding files by a few letters, and naming them in prompts."""

from __future__ import annotations

import mimetypes
import os
import sys

import pytest

from accord.apps.console.attachments import read_attachment
from accord.apps.console.screen.mentions import (
    best_matches,
    find_mentions,
    list_files,
    mention,
    pasted_file,
    prompt_content,
)
from accord.session.capabilities import AgentCapabilities
from accord.session.content import Audio, Image, Resource, ResourceLink, Text
from tests.local.odd_names import ODD_NAMES

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
    text = f"{mention('a b.txt')} and @c.txt, (see @d.txt) mail@c.txt @missing.txt @c.txt"
    assert [path.name for path in find_mentions(text, tmp_path)] == ["a b.txt", "c.txt", "d.txt"]


def test_each_file_goes_as_the_agent_can_take_it(tmp_path):
    (tmp_path / "t.txt").write_text("text")
    (tmp_path / "big.txt").write_text("x" * 300_000)
    (tmp_path / "p.png").write_bytes(b"png")
    (tmp_path / "s.wav").write_bytes(b"wav")
    text = "@t.txt @big.txt @p.png @s.wav @."
    everything = AgentCapabilities(image=True, audio=True, embedded_context=True)
    kinds = [type(block) for block in prompt_content(text, tmp_path, everything)[1:]]
    assert kinds == [Resource, ResourceLink, Image, Audio, ResourceLink]
    assert {type(block) for block in prompt_content(text, tmp_path, AgentCapabilities())[1:]} == {ResourceLink}


@pytest.mark.parametrize(
    ("name", "kind", "mime_type"),
    [
        ("x.webp", Image, "image/webp"),
        ("X.WEBP", Image, "image/webp"),
        ("x.ogg", Audio, "audio/ogg"),
        ("x.oga", Audio, "audio/ogg"),
        ("x.opus", Audio, "audio/ogg"),
        ("x.flac", Audio, "audio/flac"),
        ("x.m4a", Audio, "audio/mp4"),
        ("x.mp3", Audio, "audio/mpeg"),
        ("x.png", Image, "image/png"),
    ],
)
def test_pictures_and_sounds_are_known_also_where_the_system_has_no_table_of_them(
    tmp_path, monkeypatch, name, kind, mime_type
):
    monkeypatch.setattr(mimetypes, "_db", mimetypes.MimeTypes())  # what Python knows by itself
    (tmp_path / name).write_bytes(b"content")
    everything = AgentCapabilities(image=True, audio=True, embedded_context=True)
    attached = read_attachment("image" if kind is Image else "audio", tmp_path / name).block(everything)
    _, named = prompt_content(f"@{name}", tmp_path, everything)
    _, link = prompt_content(f"@{name}", tmp_path, AgentCapabilities())
    assert (type(attached), type(named), type(link)) == (kind, kind, ResourceLink)
    assert {getattr(each, "mime_type", None) for each in (attached, named, link)} == {mime_type}


@pytest.mark.parametrize("name", ODD_NAMES)
def test_what_can_be_no_path_is_only_text(tmp_path, name):
    assert pasted_file(name) is None
    assert pasted_file(f"file://{name}") is None
    for text in (f"@{name} please look", f'see @"{name}", please'):
        assert prompt_content(text, tmp_path, AgentCapabilities()) == [Text(text)]


def test_a_file_below_the_home_is_found_by_its_tilde(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a.txt").write_text("x")
    assert pasted_file("~/a.txt") == "~/a.txt"
    assert find_mentions("@~/a.txt", tmp_path / "elsewhere") == [tmp_path.resolve() / "a.txt"]


@pytest.mark.skipif(sys.platform == "win32", reason="has no such files")
@pytest.mark.parametrize("name", ["pipe", "pipe.png", "pipe.wav", "/dev/zero", "/dev/tty"])
def test_what_is_no_regular_file_is_linked_and_never_opened(tmp_path, name):
    path = tmp_path / name
    if not path.exists():
        os.mkfifo(path)  # to open it would last until somebody writes into it
    everything = AgentCapabilities(image=True, audio=True, embedded_context=True)
    _, link = prompt_content(f"@{name}", tmp_path, everything)
    assert isinstance(link, ResourceLink)
    assert link.uri == path.resolve().as_uri()


@pytest.mark.skipif(sys.platform != "linux", reason="names are UTF-8 there")
def test_a_link_to_a_name_that_is_no_utf_8_can_be_sent(tmp_path):
    directory = tmp_path / os.fsdecode(b"gr\xfcn")
    directory.mkdir()
    (tmp_path / "green").symlink_to(directory)
    _, link = prompt_content("@green", tmp_path, AgentCapabilities())
    assert isinstance(link, ResourceLink)
    assert link.name.encode()
    assert link.uri.endswith("gr%FCn")
