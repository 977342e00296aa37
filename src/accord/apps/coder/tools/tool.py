"""The interface of a tool that a model may request, and the result of a call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, TypeAlias, TypeVar, cast

import msgspec

from accord.agent.tool_calls import AgentToolCall, ToolCallContent
from accord.apps.coder.errors import ToolFailed
from accord.apps.coder.models.model import FailureKind, ToolDescription
from accord.apps.coder.tools.tool_context import ToolContext
from accord.session.content import Content
from accord.session.entities import Location
from accord.session.open_enums import ToolKind

__all__ = ["Need", "Tool", "ToolResult", "fenced", "in_code", "parse_object"]

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
    kind: ClassVar[ToolKind] = "other"
    needs: ClassVar[Need] = "nothing"
    is_quiet: ClassVar[bool] = False
    """Whether its effect is displayed anyway, so that a tool call would show it twice."""
    arguments: type[Arguments]

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
        raise NotImplementedError

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
