"""The slash commands. They work with every model: what needs none is done by the offline model's own steps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from accord.agent.turn import Turn
from accord.apps.coder.approvals import MODES
from accord.apps.coder.errors import ModelFailed
from accord.errors import InvalidParams
from accord.session.open_enums import StopReason

if TYPE_CHECKING:
    from accord.apps.coder.coder import Coder

__all__ = ["COMMANDS", "register"]

Handler = Callable[["Coder", Turn], Awaitable[StopReason | None]]

_PLAN = "Make a plan for this and show it with the plan tool; change nothing yet: "
_REVIEW = (
    "Review the changes in the working tree ({path}): look at them with the changes tool, read what you need around them, "
    "and tell what is wrong, risky or unclear, the worst first, each with its place. Change nothing."
)
_EXPLAIN = (
    "Explain what this repository is ({path}): what it is for, how it is laid out, how it is built, run and tested, where a "
    "newcomer should begin reading. Look at its README, its project files and the most telling sources first."
)


async def _literally(coder: Coder, turn: Turn) -> StopReason | None:
    """Done as it stands, without a language model."""
    return await coder.do_literally(turn)


async def _search(coder: Coder, turn: Turn) -> StopReason | None:
    return await _with_arguments(coder, turn, "/search TEXT [in PATH]")


async def _read(coder: Coder, turn: Turn) -> StopReason | None:
    return await _with_arguments(coder, turn, "/read FILE, /read FILE:LINE or /read FILE:FIRST-LAST")


async def _run(coder: Coder, turn: Turn) -> StopReason | None:
    return await _with_arguments(coder, turn, "/run COMMAND")


async def _with_arguments(coder: Coder, turn: Turn, usage: str) -> StopReason | None:
    if not turn.arguments.strip():
        await turn.say(f"Usage: `{usage}`\n")
        return None
    return await coder.do_literally(turn)


async def _edit(coder: Coder, turn: Turn) -> StopReason | None:
    if "=>" in turn.arguments:
        return await coder.do_literally(turn)
    if (await coder.model_of(turn)).is_language_model and turn.arguments.strip():
        return await coder.ask_model(turn, f"Edit this, and nothing else: {turn.arguments}")
    await turn.say("Usage: `/edit FILE OLD => NEW`; with a language model also `/edit FILE what to change`.\n")
    return None


async def _plan(coder: Coder, turn: Turn) -> StopReason | None:
    if not turn.arguments.strip():
        await turn.say("Usage: `/plan GOAL`\n")
        return None
    return await _by_model(coder, turn, _PLAN + turn.arguments)


async def _review(coder: Coder, turn: Turn) -> StopReason | None:
    return await _by_model(coder, turn, _REVIEW.format(path=turn.arguments.strip() or "everything"))


async def _explain(coder: Coder, turn: Turn) -> StopReason | None:
    return await _by_model(coder, turn, _EXPLAIN.format(path=turn.arguments.strip() or "all of it"))


async def _by_model(coder: Coder, turn: Turn, question: str) -> StopReason | None:
    """A language model does it better, with tools that change nothing; without one it is done literally."""
    if (await coder.model_of(turn)).is_language_model:
        return await coder.ask_model(turn, question, is_read_only=True)
    return await coder.do_literally(turn)


async def _compact(coder: Coder, turn: Turn) -> StopReason | None:
    from accord.apps.coder.compaction import compact  # noqa: PLC0415  # rarely needed

    try:
        is_done = await compact(turn, await coder.model_of(turn), coder.history(turn.session))
    except ModelFailed as failed:
        raise coder.told(failed) from failed
    said = "The conversation is compacted; the model goes on with a summary of it."
    await turn.say(f"{said if is_done else 'There is nothing to compact.'}\n")
    return None


async def _mode(coder: Coder, turn: Turn) -> StopReason | None:
    wanted = turn.arguments.strip()
    if wanted in MODES:
        await turn.mode(wanted)
        await turn.say(f"The mode is {wanted} now: {MODES[wanted][1]}.\n")
        return None
    current = turn.options.get("mode")
    listed = "".join(f"- `{id}`{' (now)' if id == current else ''}: {about}\n" for id, (_, about) in MODES.items())
    await turn.say((f"There is no mode {wanted!r}.\n\n" if wanted else "") + listed)
    return None


async def _model(coder: Coder, turn: Turn) -> StopReason | None:
    wanted, names = turn.arguments.strip(), coder.model_names(turn.session.state["settings"])
    current = str(turn.options.get("model"))
    if wanted and wanted in names:
        try:
            await coder.choose_model(turn.session, wanted)
        except InvalidParams as refused:
            await turn.say(f"The model is still {current}: {refused.reason}.\n")
        else:
            await turn.say(f"The model is {wanted} now.\n")
        return None
    if wanted:
        await turn.say(f"{wanted!r} is not among the models; name it under `models` in config.toml.\n\n")
    await turn.say("".join(f"- `{name}`{' (now)' if name == current else ''}\n" for name in names))
    return None


async def _sessions(coder: Coder, turn: Turn) -> StopReason | None:
    store = coder.agent.definition.store
    if store is None:
        await turn.say("Sessions are not kept here.\n")
        return None
    page = await store.list(str(turn.cwd), None)
    here, more = turn.session.id, "- and older ones\n" if page.next_cursor else ""
    lines = [
        f"- {each.title or '(no title)'}: `{each.session_id}`{' (this one)' if each.session_id == here else ''}\n"
        for each in page.sessions
    ]
    await turn.say("".join(lines) + more or "There are no other sessions in this directory.\n")
    return None


async def _help(coder: Coder, turn: Turn) -> StopReason | None:
    model = str(turn.options.get("model"))
    said = "".join(f"- `/{name}{f' {hint}' if hint else ''}`: {about}\n" for name, about, hint, _ in COMMANDS)
    note = "\nThe model is `offline`, which is no language model: it does what these commands say, and no more.\n"
    await turn.say(said + (note if model == "offline" else f"\nThe model is `{model}`; ask it anything.\n"))
    return None


COMMANDS: list[tuple[str, str, str | None, Handler]] = [
    ("help", "What you can ask for", None, _help),
    ("plan", "Make a plan, change nothing", "goal", _plan),
    ("search", "Search the files", "text [in path]", _search),
    ("read", "Show a file", "file[:first[-last]]", _read),
    ("edit", "Replace text in a file", "file old => new", _edit),
    ("run", "Run a command", "command", _run),
    ("test", "Run the project's tests and tell what failed", "arguments", _literally),
    ("review", "Look at the working tree's changes", "path", _review),
    ("explain", "What this repository is", "path", _explain),
    ("compact", "Make the conversation short", None, _compact),
    ("mode", "Show or switch the mode", "ask|architect|code", _mode),
    ("model", "Show or switch the model", "name", _model),
    ("sessions", "The sessions in this directory", None, _sessions),
]


def register(coder: Coder) -> None:
    """Offer all of them."""
    for name, about, hint, handler in COMMANDS:
        handle: Any = partial(_called, handler, coder)
        coder.agent.command(name, about, hint)(handle)


async def _called(handler: Handler, coder: Coder, turn: Turn) -> StopReason | None:
    await coder.begin(turn)
    return await handler(coder, turn)
