"""Handles prompts: the session's model works on them, or the offline model does what a slash command says."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from accord.agent.turn import Turn
from accord.apps.coder.errors import ModelFailed, ModelNeedsKey, ModelOverloaded
from accord.apps.coder.models.open_models import ModelOpener, OpenModels, open_model
from accord.errors import AuthRequired, RateLimited, RequestFailed
from accord.session.content import Content, Text
from accord.session.open_enums import StopReason

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from pathlib import Path

    from accord.agent.session import AgentSession
    from accord.apps.coder.models.model import Model
    from accord.apps.coder.tools.tool import ToolContext
    from accord.store.store import Store

_MAX_TITLE = 60
_WITHOUT_TITLE = ("help", "mode", "model", "sessions", "compact")  # commands that say nothing about the session's topic


class PromptHandler:
    """`hidden` are files that tools may not use. `take_warning` returns a warning about the store, once."""

    def __init__(
        self,
        opener: ModelOpener | None,
        store: Store | None,
        hidden: Sequence[Path],
        take_warning: Callable[[], str | None],
    ) -> None:
        self.store = store
        self._has_own_models = opener is not None
        self._models = OpenModels(opener or open_model, _prepare_prompt)
        self._hidden = hidden
        self._take_warning = take_warning

    async def answer(self, turn: Turn) -> StopReason | None:
        """Handle a prompt that is not a slash command."""
        await self.begin(turn)
        return await self.ask_model(turn)

    async def begin(self, turn: Turn) -> None:
        """Start a turn: show pending warnings, and give the session a title."""
        for notice in turn.session.state.pop("notices", ()):
            await _warn(turn, "Settings", notice)
        if (warning := self._take_warning()) is not None:
            await _warn(turn, "Not saved", warning)
        if turn.session.transcript.info.title is None and turn.text.strip() and turn.command not in _WITHOUT_TITLE:
            texts = (block.text.strip() for block in turn.new_content if isinstance(block, Text))
            line = next(filter(None, texts)).splitlines()[0]
            await turn.set_title(line if len(line) <= _MAX_TITLE else f"{line[: _MAX_TITLE - 1]}…")

    async def ask_model(
        self, turn: Turn, question: str | None = None, *, is_read_only: bool = False
    ) -> StopReason | None:
        """Let the session's model work on the prompt; `question` replaces the text of its slash command."""
        from accord.apps.coder.prompt_content import prompt_content  # noqa: PLC0415  # the first prompt pays for it

        model, context = await self.model_of(turn), self._context(turn, is_read_only=is_read_only)
        prompt = await prompt_content(context, model)
        if question is not None:
            prompt[turn.new_content.index(_command_block(turn))] = Text(question)
        if not model.is_language_model:  # it reads only the user's own text
            prompt[:] = [block for block in turn.new_content if isinstance(block, Text)]
        return await self._run(context, model, prompt)

    async def run_offline(self, turn: Turn) -> StopReason | None:
        """Do what a slash command says, whatever the session's model; it is in the model's history."""
        return await self._run(self._context(turn), _offline_model(turn), [_command_block(turn)])

    async def compact(self, turn: Turn) -> bool:
        """Shorten the session's history; False if there is nothing to shorten."""
        from accord.apps.coder.compaction import compact  # noqa: PLC0415  # rarely needed

        with _request_errors():
            return await compact(turn, await self.model_of(turn), turn.session.state["history"])

    async def model_of(self, turn: Turn) -> Model:
        """The session's model, opened when it is first needed; RequestFailed says why that failed."""
        name = str(turn.options.get("model") or "offline")
        if name == "offline" and not self._has_own_models:
            return _offline_model(turn)
        with _request_errors():
            return await self._models.model(name, turn.session.state["settings"].model_settings)

    def preload_model(self, session: AgentSession, name: str) -> None:
        """Begin to load the library of a model that the session will use."""
        if not self._has_own_models:
            self._models.preload(name, session.state["settings"].model_settings)

    async def aclose(self) -> None:
        """Close the models."""
        await self._models.aclose()

    async def _run(self, context: ToolContext, model: Model, prompt: list[Content]) -> StopReason | None:
        from accord.apps.coder.instructions import project_instructions  # noqa: PLC0415  # the first prompt pays for it
        from accord.apps.coder.model_loop import ModelLoop  # noqa: PLC0415
        from accord.apps.coder.tools.mcp_tools import connected_tools  # noqa: PLC0415
        from accord.apps.coder.tools.tool_call import Toolbox  # noqa: PLC0415

        project = ""
        if context.settings.instructions and model.is_language_model:
            project = await asyncio.to_thread(project_instructions, context.turn.cwd)
        tools = await connected_tools(context) if model.is_language_model else []  # the offline model uses none
        with _request_errors():
            return await ModelLoop(context, Toolbox(tools), model, project).run(prompt)

    def _context(self, turn: Turn, *, is_read_only: bool = False) -> ToolContext:
        from accord.apps.coder.tools.tool import ToolContext  # noqa: PLC0415  # the first prompt pays for it

        return ToolContext(turn, turn.session.state["settings"], hidden=self._hidden, is_read_only=is_read_only)


def _prepare_prompt() -> None:
    """Load what the first prompt needs besides its model, and describe the tools for it."""
    from accord.apps.coder.tools.tool_call import Toolbox  # noqa: PLC0415  # not at the start

    for name in ("prompt_content", "instructions", "model_loop", "tools.mcp_tools"):
        import_module(f"accord.apps.coder.{name}")
    toolbox = Toolbox()
    for name in toolbox.names:
        if (tool := toolbox.find(name)) is not None:
            tool.describe()  # the schema of its arguments is made once


async def _warn(turn: Turn, title: str, description: str) -> None:
    """Show something that the user must see: as a notice, or as a part of the answer."""
    if turn.client.capabilities.notices:
        await turn.notice(title, description, "warning")
    else:
        await turn.say(f"> **{title}:** {description}\n\n")


@contextmanager
def _request_errors() -> Generator[None]:
    """A model's failure becomes an error of the protocol; the session stays usable (FN-94)."""
    try:
        yield
    except ModelNeedsKey as failed:
        required = AuthRequired()  # the agent names its logins as in the handshake
        required.message = str(failed)
        raise required from failed
    except ModelOverloaded as failed:
        limited = RateLimited(failed.retry_after)
        limited.message = str(failed)
        raise limited from failed
    except ModelFailed as failed:
        raise RequestFailed(-32603, str(failed), {"reason": "model_failed", "advice": failed.advice}) from failed


def _offline_model(turn: Turn) -> Model:
    from accord.apps.coder.models.offline import OfflineModel  # noqa: PLC0415  # the first prompt pays for it

    return OfflineModel(turn.session.state["settings"].test_command)


def _command_block(turn: Turn) -> Text:
    """The text that calls the turn's slash command."""
    texts = [block for block in reversed(turn.new_content) if isinstance(block, Text)]
    return next(block for block in texts if block.text.split(None, 1)[:1] == [f"/{turn.command}"])
