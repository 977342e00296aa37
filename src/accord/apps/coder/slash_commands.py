"""The slash commands. They work with every model: those that need no language model are run by the offline model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeAlias

from accord.agent.agent import Agent
from accord.agent.turn import Turn
from accord.apps.coder.prompt_handler import PromptHandler
from accord.apps.coder.session_options import MODES, choose_model, model_names
from accord.errors import InvalidParams
from accord.session.open_enums import StopReason

CommandHandler: TypeAlias = Callable[[PromptHandler, Turn], Awaitable[StopReason | None]]

_PLAN = "Make a plan for the following goal and show it with the plan tool. Change nothing yet. Goal: "
_REVIEW = (
    "Review the changes in the working tree ({path}): look at them with the changes tool, read the code around them as "
    "needed, and report what is wrong, risky or unclear, most serious first, each with its path and line. Change nothing."
)
_EXPLAIN = (
    "Explain what this repository is ({path}): its purpose, its layout, how to build, run and test it, and where a "
    "newcomer should begin to read. Look at its README, its project files and its most important sources first."
)


def _with_arguments(usage: str) -> CommandHandler:
    async def handle(prompts: PromptHandler, turn: Turn) -> StopReason | None:
        if turn.arguments.strip():
            return await prompts.run_offline(turn)
        return await _usage(turn, usage)

    return handle


async def _edit(prompts: PromptHandler, turn: Turn) -> StopReason | None:
    if "=>" in turn.arguments:
        return await prompts.run_offline(turn)
    if (await prompts.model_of(turn)).is_language_model and turn.arguments.strip():
        return await prompts.ask_model(turn, f"Make this edit, and nothing else: {turn.arguments}")
    return await _usage(turn, "/edit FILE OLD => NEW", "; with a language model also `/edit FILE what to change`")


async def _plan(prompts: PromptHandler, turn: Turn) -> StopReason | None:
    if turn.arguments.strip():
        return await _by_model(prompts, turn, _PLAN + turn.arguments)
    return await _usage(turn, "/plan GOAL")


async def _review(prompts: PromptHandler, turn: Turn) -> StopReason | None:
    return await _by_model(prompts, turn, _REVIEW.format(path=turn.arguments.strip() or "everything"))


async def _explain(prompts: PromptHandler, turn: Turn) -> StopReason | None:
    return await _by_model(prompts, turn, _EXPLAIN.format(path=turn.arguments.strip() or "all of it"))


async def _by_model(prompts: PromptHandler, turn: Turn, question: str) -> StopReason | None:
    """Use a language model, with tools that change nothing, if the session has one; otherwise the offline model."""
    if (await prompts.model_of(turn)).is_language_model:
        return await prompts.ask_model(turn, question, is_read_only=True)
    return await prompts.run_offline(turn)


async def _compact(prompts: PromptHandler, turn: Turn) -> StopReason | None:
    is_shorter = await prompts.compact(turn)
    done = "The conversation is compacted: the model continues with a summary of it."
    return await turn.say(f"{done if is_shorter else 'There is nothing to compact.'}\n")


async def _mode(prompts: PromptHandler, turn: Turn) -> StopReason | None:
    name, current = turn.arguments.strip(), turn.options.get("mode")
    if name in MODES:
        await turn.set_mode(name)
        return await turn.say(f"The mode is now {name}: {MODES[name][1]}.\n")
    modes = "".join(f"- `{id}`{' (current)' if id == current else ''}: {about}\n" for id, (_, about) in MODES.items())
    return await turn.say((f"Unknown mode: {name!r}.\n\n" if name else "") + modes)


async def _model(prompts: PromptHandler, turn: Turn) -> StopReason | None:
    name, names = turn.arguments.strip(), model_names(turn.session.state["settings"])
    current = str(turn.options.get("model"))
    if name and name in names:
        try:
            await choose_model(turn.session, name)
        except InvalidParams as error:
            return await turn.say(f"The model is still {current}: {error.reason}.\n")
        return await turn.say(f"The model is now {name}.\n")
    if name:
        await turn.say(f"{name!r} is not one of the models; add it to `models` in config.toml.\n\n")
    return await turn.say("".join(f"- `{each}`{' (current)' if each == current else ''}\n" for each in names))


async def _sessions(prompts: PromptHandler, turn: Turn) -> StopReason | None:
    if prompts.store is None:
        return await turn.say("Sessions are not saved here.\n")
    page = await prompts.store.list(str(turn.cwd), None)
    this, more = turn.session.id, "- and older ones\n" if page.next_cursor else ""
    lines = [
        f"- {each.title or '(no title)'}: `{each.session_id}`{' (this one)' if each.session_id == this else ''}\n"
        for each in page.sessions
    ]
    return await turn.say("".join(lines) + more or "There are no other sessions in this directory.\n")


async def _help(prompts: PromptHandler, turn: Turn) -> StopReason | None:
    model = str(turn.options.get("model"))
    commands = "".join(f"- `/{name}{f' {hint}' if hint else ''}`: {about}\n" for name, about, hint, _ in COMMANDS)
    offline = "\nThe model is `offline`, which is not a language model: it does what these commands say, and no more.\n"
    return await turn.say(
        commands + (offline if model == "offline" else f"\nThe model is `{model}`; ask it anything.\n")
    )


async def _usage(turn: Turn, usage: str, more: str = "") -> None:
    await turn.say(f"Usage: `{usage}`{more}\n")


COMMANDS: list[tuple[str, str, str | None, CommandHandler]] = [
    ("help", "Show the commands", None, _help),
    ("plan", "Make a plan, change nothing", "goal", _plan),
    ("search", "Search the files", "text [in path]", _with_arguments("/search TEXT [in PATH]")),
    (
        "read",
        "Show a file",
        "file[:first[-last]]",
        _with_arguments("/read FILE, /read FILE:LINE or /read FILE:FIRST-LAST"),
    ),
    ("edit", "Replace text in a file", "file old => new", _edit),
    ("run", "Run a command", "command", _with_arguments("/run COMMAND")),
    ("test", "Run the project's tests and report what failed", "arguments", PromptHandler.run_offline),
    ("review", "Review the changes in the working tree", "path", _review),
    ("explain", "Explain what this repository is", "path", _explain),
    ("compact", "Replace the conversation by a summary", None, _compact),
    ("mode", "Show or switch the mode", "ask|architect|code", _mode),
    ("model", "Show or switch the model", "name", _model),
    ("sessions", "List the sessions in this directory", None, _sessions),
]


def register(agent: Agent, prompts: PromptHandler) -> None:
    """Register all commands with the agent."""
    for name, about, hint, handler in COMMANDS:
        handle: Any = partial(_handle, handler, prompts)
        agent.command(name, about, hint)(handle)


async def _handle(handler: CommandHandler, prompts: PromptHandler, turn: Turn) -> StopReason | None:
    await prompts.begin(turn)
    return await handler(prompts, turn)
