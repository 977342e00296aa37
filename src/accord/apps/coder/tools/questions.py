"""The tools `ask` and `switch_mode`: questions to the user."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from accord.agent.tool_calls import AgentToolCall
from accord.apps.coder.errors import ToolFailed
from accord.apps.coder.tools.tool import Tool, ToolContext, ToolResult


class AskArguments(Struct):
    question: Annotated[str, Meta(description="The question, in one or two sentences.", min_length=1)]
    choices: Annotated[list[str], Meta(description="Answers to choose from; none for free text.")] = []


class AskUser(Tool[AskArguments]):
    name = "ask"
    description = "Ask the user a question if you can't continue without the answer. Never ask for secrets."
    kind = "other"

    def title(self, context: ToolContext, arguments: AskArguments) -> str:
        return _plain(arguments.question)

    async def run(self, context: ToolContext, arguments: AskArguments, call: AgentToolCall) -> ToolResult:
        if not context.turn.can_ask:
            raise ToolFailed("this client has no forms", "ask in your answer and end your turn")
        field: dict[str, Any] = {"type": "string", "title": "Answer"}
        if arguments.choices:
            field["enum"] = list(dict.fromkeys(arguments.choices))
        form = await context.turn.ask(arguments.question, {"answer": field})
        if form is None:
            return ToolResult("The user did not answer.", is_error=True)
        answer = str(form.get("answer", ""))
        await call.say(answer)
        return ToolResult(answer)


class ModeArguments(Struct):
    mode: Annotated[Literal["ask", "architect", "code"], Meta(description="The mode to switch to.")]
    reason: Annotated[str, Meta(description="The reason, for the user.")] = ""


class SwitchMode(Tool[ModeArguments]):
    name = "switch_mode"
    description = (
        "Ask the user to switch the mode: 'architect' only reads and plans, 'ask' asks before every change, "
        "'code' edits files without asking."
    )
    kind = "switch_mode"
    needs = "mode"

    def title(self, context: ToolContext, arguments: ModeArguments) -> str:
        return f"Switch to the mode {arguments.mode}" + (f": {_plain(arguments.reason)}" if arguments.reason else "")

    async def run(self, context: ToolContext, arguments: ModeArguments, call: AgentToolCall) -> ToolResult:
        await context.turn.set_mode(arguments.mode)
        return ToolResult(f"The mode is now {arguments.mode}.")


def _plain(text: str) -> str:
    """Text for a title, without the marks of code and bold: clients show titles as they are."""
    return text.replace("`", "").replace("**", "")
