"""The coding agent: what `accord agent` serves, put together from models, tools, modes and slash commands."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakSet

from msgspec.structs import replace

from accord import __version__
from accord.agent.agent import Agent
from accord.agent.session import AgentSession
from accord.agent.turn import Turn
from accord.apps.coder.approvals import MODES
from accord.apps.coder.errors import InvalidSettings, ModelFailed, ModelNeedsKey, ModelOverloaded
from accord.apps.coder.models.catalog import input_kinds_of, missing_key
from accord.apps.coder.models.model import ChatMessage
from accord.apps.coder.models.open_models import ModelOpener, OpenModels
from accord.apps.coder.prompt_content import show_warning
from accord.apps.coder.settings.directories import state_directory
from accord.apps.coder.slash_commands import register
from accord.errors import AuthRequired, InvalidParams, RateLimited, RequestFailed
from accord.local.paths import directory_error
from accord.peer.event_loop import run, run_until
from accord.session.content import Content, Text
from accord.session.entities import Option, OptionChoice
from accord.session.open_enums import StopReason
from accord.session.updates import CompactionPatch, OptionsPatch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from accord.apps.coder.models.model import Model
    from accord.apps.coder.settings.precedence import LoadedSettings
    from accord.apps.coder.settings.settings import Settings
    from accord.apps.coder.tools.file_state import ToolContext
    from accord.store.store import Store
    from accord.transports.framing import Framing

__all__ = ["Coder", "build"]

_TITLE = 60
_NO_TITLE = ("help", "mode", "model", "sessions", "compact")  # commands that say nothing of what the session is about
_LOGIN = "environment"


class Coder:
    """One program's agent, with all of its sessions. `agent` is what is served.

    `untold` gives what the user has yet to be told of the store, once.
    """

    def __init__(
        self,
        loaded: LoadedSettings,
        *,
        store: Store | None = None,
        choices_file: Path | None = None,
        open_model: ModelOpener | None = None,
        untold: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._loaded = loaded
        self._untold = untold
        settings = loaded.settings
        self._choices_file = choices_file
        self._has_own_models = open_model is not None
        self._models = OpenModels(open_model)
        self._sessions: WeakSet[AgentSession] = WeakSet()
        names = self.model_names(settings)
        takes = [input_kinds_of(name, settings.model_settings) for name in names]
        self.agent = agent = Agent(
            "accord",
            version=__version__,
            title="accord",
            store=store,
            busy="steer",
            image=any(each.image for each in takes),
            audio=any(each.audio for each in takes),
            embedded_context=True,
            logged_in=self._has_key,
            legacy_models=True,  # clients of that generation exist, and it harms no other
        )
        agent.prompt(self.answer)
        agent.new_session(self._prepare)
        modes = [OptionChoice(value=id, name=name, description=about) for id, (name, about) in MODES.items()]
        agent.option("mode", choices=modes, default=settings.mode)
        agent.option("model", choices=_choices(names), default=settings.model)(self._check_model)
        variable = missing_key(settings.model, settings.model_settings)
        agent.login(
            _LOGIN,
            name=f"Use the key in {variable}" if variable else "Use a key from the environment",
            description=f"Set {variable or 'a key'} in the environment or under [environment] in "
            "config.toml; it is looked for again then.",
        )(self._log_in)
        agent.method("_accord/forget_choices")(self._forget_choices)
        register(self)

    @staticmethod
    def model_names(settings: Settings) -> list[str]:
        """Those that can be chosen: the one in force, those that were configured, and the one that always works."""
        return list(dict.fromkeys([settings.model, *settings.models, "offline"]))

    async def answer(self, turn: Turn) -> StopReason | None:
        """A prompt that is no command."""
        await self.begin(turn)
        return await self.ask_model(turn)

    async def ask_model(
        self, turn: Turn, question: str | None = None, *, is_read_only: bool = False
    ) -> StopReason | None:
        """Let the session's model work on the prompt; `question` takes the place of what was written in it."""
        from accord.apps.coder.prompt_content import prompt_content  # noqa: PLC0415  # the first prompt pays for it

        model, context = await self.model_of(turn), self.tool_context(turn, is_read_only=is_read_only)
        prompt = await prompt_content(context, model)
        if question is not None:
            prompt[turn.new_content.index(_command_block(turn))] = Text(question)
        if not model.is_language_model:  # it takes the user's own words, not what came with them
            prompt[:] = [block for block in turn.new_content if isinstance(block, Text)]
        return await self._loop(context, model, prompt)

    async def do_literally(self, turn: Turn) -> StopReason | None:
        """Do what a slash command says, whatever the session's model; it will know of it."""
        return await self._loop(self.tool_context(turn), _offline(turn), [_command_block(turn)])

    async def _loop(self, context: ToolContext, model: Model, prompt: list[Content]) -> StopReason | None:
        from accord.apps.coder.instructions import project_instructions  # noqa: PLC0415  # the first prompt pays for it
        from accord.apps.coder.model_loop import Loop  # noqa: PLC0415
        from accord.apps.coder.tools.mcp_tools import connected_tools  # noqa: PLC0415
        from accord.apps.coder.tools.toolbox import Toolbox  # noqa: PLC0415

        project = ""
        if context.settings.instructions and model.is_language_model:
            project = await asyncio.to_thread(project_instructions, context.turn.cwd)
        tools = await connected_tools(context) if model.is_language_model else []  # no rule asks for a server's tool
        loop = Loop(context, Toolbox(tools), model, self.history(context.session), project)
        try:
            return await loop.run(prompt)
        except ModelFailed as failed:
            raise self.told(failed) from failed

    def tool_context(self, turn: Turn, *, is_read_only: bool = False) -> ToolContext:
        """The surroundings of the tools in this turn."""
        from accord.apps.coder.tools.file_state import ToolContext  # noqa: PLC0415

        hidden = [self._loaded.user_file, state_directory()]
        return ToolContext(turn, turn.session.state["settings"], hidden=hidden, is_read_only=is_read_only)

    def history(self, session: AgentSession) -> list[ChatMessage]:
        """What the model knows of the session."""
        return session.state["history"]

    async def model_of(self, turn: Turn) -> Model:
        """The session's model, opened when it is first needed; RequestFailed says why it can't be."""
        name = str(turn.options.get("model") or "offline")
        if name == "offline" and not self._has_own_models:
            return _offline(turn)
        settings: Settings = turn.session.state["settings"]
        try:
            return await self._models.model(name, settings.model_settings)
        except ModelFailed as failed:
            raise self.told(failed) from failed

    def run(self, framing: Framing | None = None) -> None:
        """Serve stdin and stdout until the client hangs up."""
        from accord.transports.stdio import Stdio  # noqa: PLC0415  # needs a process of its own

        stdio = Stdio(framing=framing)
        run(run_until(stdio.over, partial(self.agent.serve, stdio), self._close))

    async def _close(self) -> None:
        store = self.agent.definition.store
        await asyncio.gather(self.aclose(), *([] if store is None else [store.aclose()]))

    async def aclose(self) -> None:
        """Free the models."""
        await self._models.aclose()

    async def _prepare(self, session: AgentSession) -> None:
        """A session is opened, new or again: under the settings of its own directory."""
        from accord.apps.coder.history import history_of  # noqa: PLC0415  # not before a session needs it
        from accord.apps.coder.storage import SessionChoices  # noqa: PLC0415
        from accord.local.saved_choices import SavedChoices  # noqa: PLC0415

        if session.is_new:  # an old one can still be read
            fault = await asyncio.to_thread(directory_error, session.cwd)
            if fault is not None:
                raise InvalidParams(fault, field="cwd")
        try:
            loaded = await asyncio.to_thread(self._loaded.in_directory, session.cwd)
        except InvalidSettings as wrong:
            raise InvalidParams(str(wrong), field="cwd") from wrong
        self._sessions.add(session)
        session.state["settings"] = loaded.settings
        session.state["notices"] = list(loaded.notices)
        session.mcp_servers.own = loaded.settings.mcp_servers
        for compaction in session.transcript.compactions.values():
            if compaction.status == "in_progress":  # the program was killed meanwhile
                session.send_nowait(
                    CompactionPatch(id=compaction.id, status="failed", error="It broke off."), silent=True
                )
        options = self._options(loaded.settings, session.previous_options)
        if options != session.transcript.options:
            session.send_nowait(OptionsPatch(options=options), silent=True)
        session.state["history"] = history_of(session.transcript)
        if self._choices_file is not None:
            session.remembered = SessionChoices(SavedChoices(self._choices_file).for_project(session.cwd))

    def _options(self, settings: Settings, chosen: dict[str, str | bool | None]) -> list[Option]:
        """What can be chosen under these settings; what was chosen before stays, if it is still there."""
        mode, model = (self.agent.definition.options[id].option for id in ("mode", "model"))
        names = self.model_names(settings)
        now = {"mode": chosen.get("mode"), "model": chosen.get("model")}
        return [
            replace(mode, value=now["mode"] if now["mode"] in MODES else settings.mode),
            replace(
                model,
                value=now["model"] if now["model"] in names else settings.model,
                choices=_choices(names),
            ),
        ]

    async def choose_model(self, session: AgentSession, name: str) -> None:
        """Put a model in force, and tell the client; InvalidParams when its key is missing."""
        await self._check_model(session, name)
        options = session.transcript.options
        await session.set_options([replace(each, value=name) if each.id == "model" else each for each in options])

    async def _check_model(self, session: AgentSession, name: str) -> None:
        settings: Settings = session.state["settings"]
        variable = missing_key(name, settings.model_settings)
        if variable is not None:
            reason = f"{name} needs a key: set {variable} in the environment or under [environment] in config.toml"
            raise InvalidParams(f"{reason}, then log in again", field="value")

    def _has_key(self) -> bool:
        settings = self._loaded.settings
        return missing_key(settings.model, settings.model_settings) is None

    async def _log_in(self, client: Any) -> None:
        """Look again for the key: in the environment, and in the files, which may have changed. So do open sessions."""
        try:
            self._loaded = await asyncio.to_thread(self._loaded.in_directory, self._loaded.cwd)
            for session in list(self._sessions):
                loaded = await asyncio.to_thread(self._loaded.in_directory, session.cwd)
                session.state["settings"] = loaded.settings
        except InvalidSettings as wrong:
            raise RequestFailed(-32603, str(wrong), {"reason": "settings"}) from wrong
        settings = self._loaded.settings
        variable = missing_key(settings.model, settings.model_settings)
        if variable is not None:
            raise RequestFailed(
                -32000,
                f"{settings.model} needs a key: set {variable} in the environment or under [environment] in "
                "config.toml, or choose the model 'offline', which needs none",
                {"reason": "auth_required", "variable": variable},
            )

    async def _forget_choices(self, params: Any, client: Any) -> dict[str, int]:
        """Extension method: take back all that was decided for always in the project of a session that is open."""
        from accord.local.saved_choices import project_root  # noqa: PLC0415  # as in `_prepare`

        session_id = cast("dict[str, Any]", params).get("sessionId") if isinstance(params, dict) else None
        sessions = list(self._sessions)
        asked = next((session for session in sessions if session.id == session_id), None)
        if asked is None:
            raise InvalidParams("no such session is open", field="sessionId")

        def forget() -> int:
            project, scopes = project_root(asked.cwd), set[str]()
            for session in (each for each in sessions if project_root(each.cwd) == project):
                for scope in list(session.remembered):
                    scopes.add(scope)
                    with suppress(KeyError):  # somebody else has just revoked it
                        del session.remembered[scope]
            return len(scopes)

        try:
            return {"forgotten": await asyncio.to_thread(forget)}
        except (OSError, ValueError) as wrong:
            raise RequestFailed(-32603, f"nothing can be taken back: {wrong}", {"reason": "choices"}) from wrong

    async def begin(self, turn: Turn) -> None:
        """What comes first in a turn: what the user should know of the settings, and the session's name."""
        for notice in turn.session.state.pop("notices", ()):
            await show_warning(turn, "Settings", notice)
        if (trouble := self._untold()) is not None:
            await show_warning(turn, "Not kept", trouble)
        if turn.session.transcript.info.title is None and turn.text.strip() and turn.command not in _NO_TITLE:
            line = next(
                block.text for block in turn.new_content if isinstance(block, Text) and block.text.strip()
            ).strip()
            line = line.splitlines()[0]
            await turn.title(line if len(line) <= _TITLE else f"{line[: _TITLE - 1]}…")

    def told(self, failed: ModelFailed) -> RequestFailed:
        """A model's failure as the protocol has it; the session lives on (FN-94)."""
        if isinstance(failed, ModelNeedsKey):
            required = AuthRequired()  # the agent names its logins as the handshake did
            required.message = str(failed)
            return required
        if isinstance(failed, ModelOverloaded):
            limited = RateLimited(failed.retry_after)
            limited.message = str(failed)
            return limited
        return RequestFailed(-32603, str(failed), {"reason": "model_failed", "advice": failed.advice})


def build(loaded: LoadedSettings) -> Coder:
    """The agent as a program serves it: sessions and choices are kept in the user's state directory."""
    from accord.apps.coder.storage import FallbackStore  # noqa: PLC0415  # a test may have a store of its own

    state = state_directory()
    sessions = FallbackStore(state / "sessions.db")
    return Coder(loaded, store=sessions, choices_file=state / "choices.json", untold=sessions.take_untold)


def _choices(names: list[str]) -> list[OptionChoice]:
    """Models; the one that is none says so."""
    about = {"offline": "No language model: does exactly what you say, see /help"}
    return [OptionChoice(value=name, name=name, description=about.get(name)) for name in names]


def _offline(turn: Turn) -> Model:
    from accord.apps.coder.models.offline import OfflineModel  # noqa: PLC0415  # the first prompt pays for it

    settings: Settings = turn.session.state["settings"]
    return OfflineModel(settings.test_command)


def _command_block(turn: Turn) -> Text:
    """The text that calls the turn's slash command."""
    texts = [block for block in reversed(turn.new_content) if isinstance(block, Text)]
    return next(block for block in texts if block.text.split(None, 1)[:1] == [f"/{turn.command}"])
