"""Text for a new file that a sentence gives without quotation marks, told from a description of such text.

Law: "with hello world" is text, "with a greeting" and "with tests for the parser" describe some. In doubt it is a
description, which only a language model can follow.
"""

from __future__ import annotations

import re
from pathlib import PurePath

__all__ = ["literal_block", "literal_text"]

_PROSE = {"", ".txt", ".text", ".md", ".markdown", ".rst", ".adoc", ".org", ".log"}
"""Files in which words can stand by themselves; in any other they have to look like code."""
_CODE = re.compile(r"[(){}\[\]=;<>]")
_OPENINGS = {
    "a", "an", "the", "some", "any", "my", "your", "our", "their", "its", "his", "her", "this", "that", "these", "those", "all",
    "every", "each", "no", "it", "them", "me", "of", "down", "out", "up", "in", "on", "for", "from", "to", "more", "as", "only", "just",
}  # fmt: skip
"""Words that open a description, or the rest of another sentence."""
_DESCRIBING = {
    "about", "anything", "appropriate", "basic", "boilerplate", "characters", "class", "classes", "code", "comment", "comments",
    "containing", "content", "contents", "data", "default", "describing", "description", "details", "docs", "docstrings",
    "documentation", "empty", "essay", "everything", "example", "examples", "explaining", "explanation", "function", "functions",
    "haiku", "imports", "information", "instructions", "joke", "jokes", "lines", "list", "listing", "lorem", "method", "methods",
    "minimal", "notes", "nothing", "numbers", "output", "placeholder", "poem", "random", "result", "results", "routes", "sample",
    "simple", "something", "story", "stuff", "suitable", "summary", "table", "template", "test", "tests", "text", "that", "todos",
    "using", "which", "words",
}  # fmt: skip
_GOES_ON = re.compile(
    r"(?:\band\b|\bthen\b|,|;)\s*(?:then\s+|also\s+|please\s+)*"
    r"(?:run|execute|delete|remove|commit|push|open|show|tell|print|add|create|write|make|put|save|test|read|edit|move|rename|\S+\.\w+)\b",
    re.IGNORECASE,
)
_PATH = re.compile(r"(?:^|\s)(?:\S*/\S+|\S+\.[A-Za-z]\w{0,4})(?=\s|$)")


def literal_text(text: str, path: str) -> str | None:
    """The text itself, without the full stop of the sentence; None when it may be a description."""
    text = text.strip()
    words = [word.lower() for word in re.findall(r"[\w']+", text)]
    if not words or "\n" in text or text[0] in "\"'`“" or words[0] in _OPENINGS or _DESCRIBING & set(words):
        return None
    if _GOES_ON.search(text):
        return None
    if PurePath(path).suffix.lower() not in _PROSE:
        return text if _CODE.search(text) else None
    if _PATH.search(text):
        return None
    return text[:-1] if text.endswith(".") and text.count(".") == 1 else text


def literal_block(text: str) -> str:
    """What follows a colon, as it stands; a code block without its fences."""
    fenced = re.fullmatch(r"\s*(`{3,})[^\n`]*\n(.*?)\n?\1\s*", text, re.DOTALL)
    return text.strip("\n").rstrip() if fenced is None else fenced[2]
