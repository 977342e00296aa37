"""A tool: what a model may ask for, told to the user before, while and after it is done."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, ClassVar, Generic, Literal, TypeAlias, TypeVar, cast

import msgspec

from accord.agent.tool_calls import AgentToolCall, ToolCallContent
from accord.apps.coder.errors import ToolFailed
from accord.apps.coder.models.model import ToolDescription
from accord.apps.coder.tools.file_state import ToolContext
from accord.session.content import Content
from accord.session.entities import Location
from accord.session.open_enums import ToolKind

__all__ = ["Need", "Tool", "ToolResult", "fenced", "in_code", "parse_object"]

Arguments = TypeVar("Arguments", bound=msgspec.Struct)

Need: TypeAlias = Literal["nothing", "edit", "delete", "command", "network", "mcp", "mode"]
"""What a tool touches; the session's mode decides whether the user is asked for that."""


class ToolResult(msgspec.Struct):
    """What the model is told, and details for programs; `is_error` when the tool itself says that it failed.

    `display` takes the place of the text for people, where the text tells the model what to do. `is_rejected` when the user
    said no.
    """

    text: str
    details: dict[str, Any] = {}
    content: list[Content] = []
    is_error: bool = False
    display: str | None = None
    is_rejected: bool = False


class Tool(Generic[Arguments]):
    """Subclasses say what they do; `calling` does what is the same for all of them."""

    name: ClassVar[str]
    description: ClassVar[str]
    kind: ClassVar[ToolKind] = "other"
    needs: ClassVar[Need] = "nothing"
    is_quiet: ClassVar[bool] = False
    """Whether what it does is shown by itself, so that a call beside it would say it twice."""
    arguments: type[Arguments]

    def described(self) -> ToolDescription:
        """As a model is told of it."""
        return ToolDescription(name=self.name, description=self.description, parameters=_parameters(self.arguments))

    def parsed(self, written: str) -> Arguments:
        """The arguments as the model wrote them; ToolFailed says what is wrong with them."""
        try:
            return msgspec.convert(parse_object(written, self.name), self.arguments, strict=False)
        except msgspec.ValidationError as error:
            raise ToolFailed(f"the arguments of {self.name} are wrong", str(error)) from None

    def title(self, context: ToolContext, arguments: Arguments) -> str:
        """One line for the user."""
        raise NotImplementedError

    def locations(self, context: ToolContext, arguments: Arguments) -> Iterable[Location]:
        """Where it works, so that an editor can follow."""
        return ()

    async def preview(self, context: ToolContext, arguments: Arguments) -> list[ToolCallContent]:
        """What the user sees before being asked; it fails early when the call can't succeed."""
        return []

    def scope(self, context: ToolContext, arguments: Arguments) -> str | None:
        """What an always-choice about this call covers, in words for the user; None when it is to be asked each time."""
        return f"{self.needs} files"

    def danger(self, context: ToolContext, arguments: Arguments) -> str | None:
        """Why the user is asked about this call whatever the mode and earlier choices say, in words for the user."""
        return None

    async def run(self, context: ToolContext, arguments: Arguments, call: AgentToolCall) -> ToolResult:
        """Do it; ToolFailed is told to the model and the user. A quiet tool's call is never announced."""
        raise NotImplementedError


def parse_object(written: str, name: str) -> dict[str, Any]:
    """Arguments as a JSON object, unchecked."""
    try:
        return msgspec.json.decode(written or "{}", type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise ToolFailed(f"the arguments of {name} are no JSON object", str(error)) from None


def fenced(text: str, language: str = "") -> str:
    """As a code block, whatever is in it; what can't be the name of a language is left out."""
    fence = "`" * max(3, 1 + _longest_ticks(text))
    named = language if re.fullmatch(r"[\w+#.-]+", language) else ""
    return f"{fence}{named}\n{text if text.endswith(chr(10)) else text + chr(10)}{fence}"


def in_code(text: str) -> str:
    """As code within a sentence, on one line, whatever is in it."""
    lines = text.strip().splitlines() or [""]
    line = lines[0] if len(lines) == 1 else f"{lines[0]} …"
    ticks = "`" * (1 + _longest_ticks(line))
    return f"{ticks} {line} {ticks}" if "`" in line else f"`{line}`"


def _longest_ticks(text: str) -> int:
    return max((len(ticks) for ticks in re.findall("`+", text)), default=0)


@cache
def _parameters(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    schema, definitions = msgspec.json.schema_components([arguments])
    parameters: dict[str, Any] = _inlined(schema[0], definitions)
    parameters.pop("title", None)
    return parameters


def _inlined(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """Without references, which some models' servers don't follow."""
    if isinstance(schema, list):
        return [_inlined(each, definitions) for each in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    members = cast("dict[str, Any]", schema)
    reference = members.get("$ref")
    if isinstance(reference, str):
        return _inlined(definitions[reference.rsplit("/", 1)[-1]], definitions)
    return {name: _inlined(value, definitions) for name, value in members.items()}
