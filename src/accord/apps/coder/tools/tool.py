"""The interface of a tool that a model may request, its context in a turn, and the result of a call."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeAlias, TypeVar, cast, get_args

import msgspec

from accord.agent.tool_calls import AgentToolCall, ToolCallContent
from accord.agent.turn import Turn
from accord.apps.coder.errors import ToolFailed
from accord.apps.coder.models.model import FailureKind, ToolDescription
from accord.apps.coder.tools.file_state import FileState, display_path
from accord.errors import Denied, InvalidParams
from accord.local.git import is_git_name
from accord.local.paths import ResolvedPath, expand_path
from accord.local.text import printable
from accord.session.content import Content
from accord.session.entities import Location
from accord.session.open_enums import ToolKind

if TYPE_CHECKING:
    from accord.apps.coder.settings.settings import Settings

_MAX_PATH = 200


class ToolContext:
    """`hidden` are accord's own files: the model may not read or write API keys and always-answers.

    `is_read_only` applies the rules of the architect mode, whatever the session's mode.
    """

    def __init__(
        self, turn: Turn, settings: Settings, *, hidden: Sequence[Path] = (), is_read_only: bool = False
    ) -> None:
        self.turn = turn
        self.session = turn.session
        self.settings = settings
        self.hidden = [Path(os.path.realpath(path)) for path in hidden]
        self.is_read_only = is_read_only
        self.files = FileState(turn)
        self.approved_scopes: dict[str, str | None] = {}
        """The scope for which each call was allowed, by its id; None for this call alone."""

    @property
    def mode(self) -> str:
        """The current mode; it may change in the middle of a turn."""
        return "architect" if self.is_read_only else str(self.turn.options.get("mode") or "ask")

    def path(self, path: str) -> Path:
        """A path that the model wrote, absolute; ToolFailed if it is outside the session's directories."""
        return Path(self.resolve(path).path)

    def path_to_change(self, path: str) -> Path:
        """The same for a file to change. Git's own files may not be changed: git runs programs that are named there."""
        resolved = self.resolve(path)
        if any(map(is_git_name, resolved.names)):
            raise ToolFailed(f"{path} belongs to git itself", "change it by running git with the run tool")
        return Path(resolved.path)

    def resolve(self, path: str) -> ResolvedPath:
        """The path with all links followed; ToolFailed if tools may not use it."""
        try:
            resolved = self.session.roots.resolve(str(self.turn.cwd / expand_path(path)), "access")
        except InvalidParams as refused:
            short = printable(path)
            short = short if len(short) <= _MAX_PATH else f"{short[:_MAX_PATH]}…"
            raise ToolFailed(f"invalid path, {refused.reason}: {short}") from None
        except Denied:
            roots = ", ".join(map(str, self.session.roots.directories))
            raise ToolFailed(f"permission denied: {path} is outside the session's directories ({roots})") from None
        if any(resolved.real.is_relative_to(each) for each in self.hidden):
            raise ToolFailed(f"permission denied: {path} contains accord's own settings or saved answers")
        return resolved

    def display_path(self, path: Path) -> str:
        """The path relative to the session's directory if it is below it."""
        return display_path(path, self.turn.cwd)


Arguments = TypeVar("Arguments", bound=msgspec.Struct)

Need: TypeAlias = Literal["nothing", "edit", "delete", "command", "network", "mcp", "mode"]
"""The permission that a tool needs; the session's mode decides whether the user is asked for it."""


class ToolResult(msgspec.Struct):
    """The result of a call; its members are those of `ToolOutcome`."""

    text: str
    details: dict[str, Any] = {}
    header: str = ""
    content: list[Content] = []
    is_error: bool = False
    display: str | None = None
    failure: FailureKind | None = None


class Tool(Generic[Arguments]):
    """One tool; `tool_call` does what is the same for all of them."""

    name: ClassVar[str]
    description: ClassVar[str]
    title_format: ClassVar[str]
    """Makes the title from the arguments."""
    kind: ClassVar[ToolKind] = "other"
    needs: ClassVar[Need] = "nothing"
    is_quiet: ClassVar[bool] = False
    """Whether its effect is displayed anyway, so that a tool call would show it twice."""
    arguments: type[Arguments]

    def __init_subclass__(cls) -> None:
        cls.arguments = get_args(vars(cls)["__orig_bases__"][0])[0]

    def describe(self) -> ToolDescription:
        """The description for the model."""
        return ToolDescription(name=self.name, description=self.description, parameters=_parameters(self.arguments))

    def parse(self, arguments: str) -> Arguments:
        """The arguments that the model wrote as JSON; ToolFailed says what is wrong with them."""
        try:
            return msgspec.convert(parse_object(arguments, self.name), self.arguments, strict=False)
        except msgspec.ValidationError as error:
            raise ToolFailed(f"invalid arguments for {self.name}", str(error)) from None

    def title(self, context: ToolContext, arguments: Arguments) -> str:
        """One line for the user."""
        return self.title_format.format(arguments)

    def paths(self, context: ToolContext, arguments: Arguments) -> Iterable[Path]:
        """The files that it works on."""
        return ()

    def locations(self, context: ToolContext, arguments: Arguments) -> list[Location]:
        """Where it works, so that an editor can follow."""
        return [Location(path=str(path)) for path in self.paths(context, arguments)]

    async def preview(self, context: ToolContext, arguments: Arguments) -> list[ToolCallContent]:
        """What the user sees before being asked; it fails early if the call can't succeed."""
        return []

    def scope(self, context: ToolContext, arguments: Arguments) -> str | None:
        """What an always-answer to this call covers, in words for the user; None if the user is asked each time."""
        return f"{self.needs} files"

    def danger(self, context: ToolContext, arguments: Arguments) -> str | None:
        """Why the user is asked about this call whatever the mode and earlier answers say, in words for the user."""
        return None

    async def run(self, context: ToolContext, arguments: Arguments, call: AgentToolCall) -> ToolResult:
        """Do it; the model and the user see a ToolFailed. The call of a quiet tool is never announced."""
        raise NotImplementedError


def parse_object(arguments: str, tool: str) -> dict[str, Any]:
    """Arguments as a JSON object, unchecked."""
    try:
        return msgspec.json.decode(arguments or "{}", type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise ToolFailed(f"the arguments of {tool} are not a JSON object", str(error)) from None


def fenced(text: str, language: str = "") -> str:
    """The text as a code block, whatever is in it; an invalid language is left out."""
    fence = "`" * max(3, 1 + _longest_ticks(text))
    language = language if re.fullmatch(r"[\w+#.-]+", language) else ""
    return f"{fence}{language}\n{text if text.endswith(chr(10)) else text + chr(10)}{fence}"


def in_code(text: str) -> str:
    """The first line of the text as code within a sentence, whatever is in it."""
    lines = text.strip().splitlines() or [""]
    line = lines[0] if len(lines) == 1 else f"{lines[0]} …"
    ticks = "`" * (1 + _longest_ticks(line))
    return f"{ticks} {line} {ticks}" if "`" in line else f"`{line}`"


def _longest_ticks(text: str) -> int:
    return max((len(ticks) for ticks in re.findall("`+", text)), default=0)


@cache
def _parameters(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    schema, definitions = msgspec.json.schema_components([arguments])
    parameters: dict[str, Any] = _without_references(schema[0], definitions)
    parameters.pop("title", None)
    return parameters


def _without_references(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """Some model servers don't resolve references."""
    if isinstance(schema, list):
        return [_without_references(each, definitions) for each in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    members = cast("dict[str, Any]", schema)
    reference = members.get("$ref")
    if isinstance(reference, str):
        return _without_references(definitions[reference.rsplit("/", 1)[-1]], definitions)
    return {name: _without_references(value, definitions) for name, value in members.items()}
