"""Parses the requests that the offline model understands: slash commands and plain sentences.

Law: an ambiguous sentence is not understood. A file is named by what can only be a file. Text to replace and commands to
run are quoted, except single words that replace each other. Text for a new file needs no quotes where it is plainly the
text itself, see `literal_text`.

Law: "with hello world" is text, "with a greeting" and "with tests for the parser" are descriptions. In doubt it is a
description, which only a language model can follow.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePath
from typing import Literal, TypeAlias

from msgspec import Struct


class Search(Struct, frozen=True):
    pattern: str
    path: str = "."


class Read(Struct, frozen=True):
    """`purpose` is what the user wants of the file, of which only the lines can be counted without a language model."""

    path: str
    line: int | None = None
    limit: int | None = None
    purpose: Literal["show", "count", "explain"] = "show"


class Listing(Struct, frozen=True):
    path: str = "."


class Edit(Struct, frozen=True):
    """`where` is for a text that occurs several times: on one line, or everywhere."""

    path: str
    old: str
    new: str
    where: int | Literal["everywhere"] | None = None


class EditWhere(Struct, frozen=True):
    """The answer to the question which occurrences of a text to replace."""

    where: int | Literal["everywhere"]


class Count(Struct, frozen=True):
    """How many files there are."""

    path: str = "."


class Create(Struct, frozen=True):
    path: str
    content: str


class Delete(Struct, frozen=True):
    path: str


class Move(Struct, frozen=True):
    source: str
    destination: str


class Run(Struct, frozen=True):
    command: str


class Tests(Struct, frozen=True):
    arguments: str = ""


class Changes(Struct, frozen=True):
    path: str = "."


class Explain(Struct, frozen=True):
    path: str = "."


class Plan(Struct, frozen=True):
    goal: str


Intent: TypeAlias = (
    Search | Read | Listing | Edit | EditWhere | Create | Delete | Move | Run | Tests | Changes | Explain | Plan | Count
)

_QUOTED = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|`[^`]*`|“[^”]*”)"""
_NAME = rf"(?:{_QUOTED}|\S+?)"
_ANYTHING = rf"(?:{_QUOTED}|.+?)"
_FILES = r"(?:Makefile|Dockerfile|LICENSE|README|CHANGELOG|Gemfile|Rakefile|Justfile)"
_PATH = rf"""(?:(?=.[^"'`”]*[./]){_QUOTED}|(?=\S*(?:[./]\w|/))[^\s"'`“]\S*?|{_FILES})"""
_FILE = rf"(?:(?:the\s+)?file\s+(?P<path2>{_NAME})|(?P<path>{_PATH}))"
_END = r"(?:,?\s+please)?\s*[.!?]?\s*$"


def parse_request(text: str) -> Intent | None:
    """The intent of a text; None if it takes a language model to tell."""
    for make, pattern in _PATTERNS:
        match = pattern.match(text.strip())
        if match is not None and (intent := make(**_fields(match))) is not None:
            return intent
    return None


def is_usual_name(path: str) -> bool:
    """Whether people call a file by this name though its case or its ending may be another: "the readme"."""
    return re.fullmatch(_FILES, path, re.IGNORECASE) is not None


def _fields(match: re.Match[str]) -> dict[str, str]:
    """The fields of the intent: the text of each group, without quotes unless the group's name ends with an underscore.

    A digit at the end of a name marks another place for the same field.
    """
    return {
        name.rstrip("_23"): text if name.endswith("_") else _unquoted(text)
        for name, text in match.groupdict().items()
        if text is not None
    }


def _unquoted(text: str) -> str:
    if not re.fullmatch(_QUOTED, text, re.DOTALL):
        return text
    inner = text[1:-1]
    return re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), inner) if text[0] == '"' else inner


_ESCAPES = {"n": "\n", "t": "\t"}


def _read(path: str) -> Intent:
    lines = re.fullmatch(r"(.+?):(\d+)(?:-(\d+))?", path)
    if lines is None:
        return Read(path)
    first = int(lines[2])
    return Read(lines[1], first, None if lines[3] is None else max(1, int(lines[3]) - first + 1))


def _count_lines(path: str) -> Intent:
    return Read(path, purpose="count")


def _explain_path(path: str) -> Intent:
    """A directory by its slash; else a file."""
    return Explain(path) if path.endswith("/") or path == "." else Read(path, purpose="explain")


def _edit_everywhere(path: str, old: str, new: str) -> Intent:
    return Edit(path, old, new, "everywhere")


def _everywhere() -> Intent:
    return EditWhere("everywhere")


def _on_line(number: str) -> Intent:
    return EditWhere(int(number))


def _move(path: str, destination: str) -> Intent:
    return Move(path, destination + path.rpartition("/")[2] if destination.endswith("/") else destination)


def _run(command: str) -> Intent:
    return Run(command.strip())


def _create_text(path: str, content: str) -> Intent | None:
    text = literal_text(content, path)
    return None if text is None else Create(path, text)


def _create_block(path: str, content: str) -> Intent:
    return Create(path, literal_block(content))


_PLEASE = r"(?:(?:please|can\s+you|could\s+you|now)\s+)*"
_ONE = rf"(?:{_QUOTED}|[^\s\"'`]+?)"
_NEW_FILE = (
    rf"(?:(?:a\s+|the\s+)?(?:new\s+|text\s+)*file\s+(?:(?:called|named)\s+)?(?P<path2>{_NAME})|(?P<path>{_PATH}))"
)
_CREATE = (
    rf"{_PLEASE}(?:create|make)\s+{_NEW_FILE}\s+(?:with|containing|saying|(?:that|which)\s+(?:says|contains))"
    r"(?:\s+(?:the\s+(?:text|contents?|words)|(?:text|contents?)))?"
)
_WRITE = rf"{_PLEASE}(?:write|put|save)"
_EDIT = rf"(?P<old>{_QUOTED})\s+(?:to|into)\s+(?P<new>{_QUOTED})\s+in\s+{_FILE}{_END}"
_COMMANDS: list[tuple[Callable[..., Intent | None], str]] = [
    (Search, r"/search\s+(?P<pattern>.+?)(?:\s+in\s+(?P<path>\S+))?\s*$"),
    (_read, r"/read\s+(?P<path>.+?)\s*$"),
    (Edit, rf"/edit\s+(?P<path>{_NAME})\s+(?P<old>{_ANYTHING})\s*=>\s*(?P<new>.*)$"),
    (Run, r"/run\s+(?P<command_>.+)$"),
    (Tests, r"/test(?:\s+(?P<arguments_>.*))?$"),
    (Changes, r"/review(?:\s+(?P<path_>\S+))?\s*$"),
    (Explain, r"/explain(?:\s+(?P<path_>\S+))?\s*$"),
    (Plan, r"/plan\s+(?P<goal_>.+)$"),
]
_REPLACE = rf"(?P<old>{_ONE})\s+(?:with|by)\s+(?P<new>{_ONE})"
_ALL = r"(?:all(?:\s+of\s+(?:them|it))?|everywhere|every\s+one|each(?:\s+one)?|every\s+occurrence|all\s+occurrences)"
_CHANGES: list[tuple[Callable[..., Intent | None], str]] = [
    (_edit_everywhere, rf"{_PLEASE}replace\s+(?:all|every|each)\s+{_REPLACE}\s+in\s+{_FILE}{_END}"),
    (_edit_everywhere, rf"{_PLEASE}replace\s+{_REPLACE}\s+(?:everywhere\s+)in\s+{_FILE}{_END}"),
    (_edit_everywhere, rf"{_PLEASE}replace\s+{_REPLACE}\s+in\s+{_FILE}\s*,?\s+everywhere{_END}"),
    (_everywhere, rf"(?:(?:yes|ok|okay),?\s+)?{_PLEASE}(?:replace\s+)?{_ALL}{_END}"),
    (_on_line, rf"(?:only\s+)?(?:the\s+one\s+)?(?:on|in|at)?\s*line\s+(?P<number>\d{{1,9}}){_END}"),
    (Edit, rf"{_PLEASE}replace\s+(?P<old>{_ONE})\s+(?:with|by)\s+(?P<new>{_ONE})\s+in\s+{_FILE}{_END}"),
    (Edit, rf"{_PLEASE}(?:change|rename)\s+{_EDIT}"),
    (_move, rf"{_PLEASE}(?:move|rename)\s+{_FILE}\s+(?:to|into|as)\s+(?P<destination>{_PATH}){_END}"),
    (Delete, rf"{_PLEASE}(?:delete|remove)\s+{_FILE}{_END}"),
    (Create, rf"{_CREATE}\s+(?P<content>{_QUOTED})(?:\s+in(?:side)?\s+it)?{_END}"),
    (Create, rf"{_WRITE}\s+(?P<content>{_QUOTED})\s+(?:to|into|in)\s+{_FILE}{_END}"),
    (_create_block, rf"{_CREATE}\s*:\s*(?P<content_>\S.*)$"),
    (_create_text, rf"{_CREATE}\s+(?P<content_>\S.*?)(?:\s+in(?:side)?\s+it\s*[.!]?)?\s*$"),
    (_create_text, rf"{_WRITE}\s+(?P<content_>\S.*?)\s+(?:to|into|in)\s+{_FILE}{_END}"),
    (_run, rf"{_PLEASE}(?:run|execute)\s+(?P<command>{_QUOTED}){_END}"),
    (Tests, rf"{_PLEASE}(?:run|execute)\s+(?:(?:the|all|my)\s+)*tests?{_END}"),
    (Tests, rf"{_PLEASE}test\s+(?:it|this|everything){_END}"),
]
_REPOSITORY = r"(?:repo(?:sitory)?|project"
_QUESTIONS: list[tuple[Callable[..., Intent | None], str]] = [
    (Search, rf"{_PLEASE}(?:search|look|grep)\s+for\s+(?P<pattern>{_ANYTHING})(?:\s+in\s+(?P<path>{_PATH}))?{_END}"),
    (Search, rf"{_PLEASE}(?:grep|find)\s+(?P<pattern>{_ONE})(?:\s+in\s+(?P<path>{_PATH}))?{_END}"),
    (Search, rf"where\s+is\s+(?P<pattern>{_ONE})(?:\s+(?:used|defined))?{_END}"),
    (
        Changes,
        rf"{_PLEASE}(?:review|show|check)\s+(?:me\s+)?(?:my\s+|the\s+|these\s+)?(?:changes|diff|working\s+tree){_END}",
    ),
    (Changes, rf"what\s+(?:has\s+|have\s+I\s+|did\s+I\s+)?changed?{_END}"),
    (Explain, rf"{_PLEASE}explain(?:\s+(?:this\s+|the\s+)?{_REPOSITORY}|code(?:base)?))?{_END}"),
    (
        Explain,
        rf"what(?:\s+is|'s)\s+(?:this|in\s+(?:this|the))(?:\s+{_REPOSITORY}|directory|folder)(?:\s+about)?)?{_END}",
    ),
    (Explain, rf"what\s+does\s+(?:this|the)\s+{_REPOSITORY}|code(?:base)?)\s+do{_END}"),
    (
        Explain,
        rf"{_PLEASE}(?:summari[sz]e|describe|tell\s+me\s+about)\s+(?:this|the)\s+{_REPOSITORY}|code(?:base)?){_END}",
    ),
    (_explain_path, rf"{_PLEASE}(?:explain|summari[sz]e|describe)\s+(?:the\s+)?{_FILE}{_END}"),
    (_explain_path, rf"what\s+does\s+(?:the\s+)?{_FILE}\s+do{_END}"),
    (
        _count_lines,
        rf"how\s+many\s+lines\s+(?:are\s+(?:there\s+)?in|does)\s+(?:the\s+)?{_FILE}(?:\s+have|\s+contain)?{_END}",
    ),
    (
        Count,
        rf"how\s+many\s+files\s+(?:are|does)\s+(?:there|here|(?:in\s+)?(?:this|the)\s+{_REPOSITORY}))(?:\s+have)?{_END}",
    ),
    (Listing, rf"{_PLEASE}(?:list|show)\s+(?:me\s+)?(?:the\s+|all\s+)*files(?:\s+in\s+(?P<path>{_NAME}))?{_END}"),
    (
        Listing,
        rf"(?:what|which)\s+files\s+are\s+(?:there|here|in\s+(?:this|the)\s+{_REPOSITORY}|directory|folder)){_END}",
    ),
    (Listing, rf"(?:{_PLEASE}list|what\s+is\s+in)\s+(?P<path>{_PATH}){_END}"),
    (_read, rf"{_PLEASE}(?:read|show|open|cat)\s+(?:me\s+)?(?:the\s+)?{_FILE}{_END}"),
    (Plan, rf"{_PLEASE}(?:plan|make\s+a\s+plan)\s+(?:for\s+|to\s+)?(?P<goal_>.+)$"),
]
_PATTERNS = [
    (make, re.compile(pattern, re.IGNORECASE | re.DOTALL)) for make, pattern in [*_COMMANDS, *_CHANGES, *_QUESTIONS]
]

_PROSE = {"", ".txt", ".text", ".md", ".markdown", ".rst", ".adoc", ".org", ".log"}
"""Extensions of files that may contain any words; the text of any other file has to look like code."""
_CODE = re.compile(r"[(){}\[\]=;<>]")
_OPENINGS = {
    "a", "an", "the", "some", "any", "my", "your", "our", "their", "its", "his", "her", "this", "that", "these", "those", "all",
    "every", "each", "no", "it", "them", "me", "of", "down", "out", "up", "in", "on", "for", "from", "to", "more", "as", "only", "just",
}  # fmt: skip
"""First words of a description, or of the rest of another sentence."""
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
_FILE_PATH = re.compile(r"(?:^|\s)(?:\S*/\S+|\S+\.[A-Za-z]\w{0,4})(?=\s|$)")


def literal_text(text: str, path: str) -> str | None:
    """The text without the full stop of the sentence; None if it may be a description."""
    text = text.strip()
    words = [word.lower() for word in re.findall(r"[\w']+", text)]
    if not words or "\n" in text or text[0] in "\"'`“" or words[0] in _OPENINGS or _DESCRIBING & set(words):
        return None
    if _GOES_ON.search(text):
        return None
    if PurePath(path).suffix.lower() not in _PROSE:
        return text if _CODE.search(text) else None
    if _FILE_PATH.search(text):
        return None
    return text[:-1] if text.endswith(".") and text.count(".") == 1 else text


def literal_block(text: str) -> str:
    """The text after a colon, as it is; a code block without its fences."""
    fenced = re.fullmatch(r"\s*(`{3,})[^\n`]*\n(.*?)\n?\1\s*", text, re.DOTALL)
    return text.strip("\n").rstrip() if fenced is None else fenced[2]
