"""The tool `plan`: shows the user the plan of the work and its progress."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from accord.agent.tool_calls import AgentToolCall
from accord.apps.coder.tools.tool import Tool, ToolContext, ToolResult
from accord.session.entities import PlanEntry


class PlanStep(Struct):
    content: Annotated[str, Meta(description="What to do.", min_length=1)]
    status: Literal["pending", "in_progress", "completed"] = "pending"
    priority: Literal["high", "medium", "low"] = "medium"


class PlanArguments(Struct):
    steps: Annotated[list[PlanStep], Meta(description="The complete plan with the current status of every step.")]


class UpdatePlan(Tool[PlanArguments]):
    name = "plan"
    description = "Show the user the complete plan. Call it again whenever a step starts or is completed."
    kind = "think"
    is_quiet = True

    def title(self, context: ToolContext, arguments: PlanArguments) -> str:
        completed = sum(step.status == "completed" for step in arguments.steps)
        return f"Plan: {completed} of {len(arguments.steps)} completed"

    async def run(self, context: ToolContext, arguments: PlanArguments, call: AgentToolCall) -> ToolResult:
        await context.turn.plan(
            PlanEntry(content=step.content, status=step.status, priority=step.priority) for step in arguments.steps
        )
        return ToolResult("The plan is shown.")
