"""Talking with the user beside the answer: the plan, a question, the mode."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from accord.agent.tool_calls import AgentToolCall
from accord.apps.coder.errors import ToolFailed
from accord.apps.coder.tools.file_state import ToolContext
from accord.apps.coder.tools.tool import Tool, ToolResult
from accord.session.entities import PlanEntry

__all__ = ["AskUser", "SwitchMode", "UpdatePlan"]


class Step(Struct):
    content: Annotated[str, Meta(description="What is to be done.", min_length=1)]
    status: Literal["pending", "in_progress", "completed"] = "pending"
    priority: Literal["high", "medium", "low"] = "medium"


class PlanArguments(Struct):
    steps: Annotated[list[Step], Meta(description="The whole plan as it is now.")]


class UpdatePlan(Tool[PlanArguments]):
    name = "plan"
    description = "Show the user the plan, complete; call it again whenever a step begins or is done."
    kind = "think"
    is_quiet = True
    arguments = PlanArguments

    def title(self, context: ToolContext, arguments: PlanArguments) -> str:
        done = sum(step.status == "completed" for step in arguments.steps)
        return f"Plan: {done} of {len(arguments.steps)} done"

    async def run(self, context: ToolContext, arguments: PlanArguments, call: AgentToolCall) -> ToolResult:
        await context.turn.plan(
            PlanEntry(content=step.content, status=step.status, priority=step.priority) for step in arguments.steps
        )
        return ToolResult("The plan is shown.")


class AskArguments(Struct):
    question: Annotated[str, Meta(description="What to ask, in one or two sentences.", min_length=1)]
    choices: Annotated[list[str], Meta(description="Answers to choose from; none for free text.")] = []


class AskUser(Tool[AskArguments]):
    name = "ask"
    description = "Ask the user a question when the work can't go on without the answer. Never for secrets."
    kind = "other"
    arguments = AskArguments

    def title(self, context: ToolContext, arguments: AskArguments) -> str:
        return _plain(arguments.question)

    async def run(self, context: ToolContext, arguments: AskArguments, call: AgentToolCall) -> ToolResult:
        if not context.turn.can_ask:
            raise ToolFailed("this client has no forms", "ask in your answer and end your turn")
        field: dict[str, Any] = {"type": "string", "title": "Answer"}
        if arguments.choices:
            field["enum"] = list(dict.fromkeys(arguments.choices))
        answer = await context.turn.ask(arguments.question, {"answer": field})
        if answer is None:
            return ToolResult("The user did not answer.", is_error=True)
        await call.say(str(answer.get("answer", "")))
        return ToolResult(str(answer.get("answer", "")))


def _plain(text: str) -> str:
    """What a model wrote, as a title: clients show titles as they are, so without the marks of code and bold type."""
    return text.replace("`", "").replace("**", "")


class ModeArguments(Struct):
    mode: Annotated[Literal["ask", "architect", "code"], Meta(description="The mode to switch to.")]
    reason: Annotated[str, Meta(description="Why, for the user.")] = ""


class SwitchMode(Tool[ModeArguments]):
    name = "switch_mode"
    description = (
        "Ask the user to switch the mode: 'architect' only reads and plans, 'ask' asks before every change, "
        "'code' edits files without asking."
    )
    kind = "switch_mode"
    needs = "mode"
    arguments = ModeArguments

    def title(self, context: ToolContext, arguments: ModeArguments) -> str:
        return f"Switch to the mode {arguments.mode}" + (f": {_plain(arguments.reason)}" if arguments.reason else "")

    async def run(self, context: ToolContext, arguments: ModeArguments, call: AgentToolCall) -> ToolResult:
        await context.turn.mode(arguments.mode)
        return ToolResult(f"The mode is {arguments.mode} now.")
