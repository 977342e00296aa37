"""The coding agent that `accord agent` serves: its models, tools, modes and slash commands put together."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakSet

from accord import __version__
from accord.agent.agent import Agent
from accord.agent.session import AgentSession
from accord.apps.coder.errors import InvalidSettings, ModelNeedsKey
from accord.apps.coder.models.catalog import input_kinds_of, missing_key
from accord.apps.coder.prompt_handler import PromptHandler
from accord.apps.coder.session_options import check_model, mode_choices, model_choices, model_names, session_options
from accord.apps.coder.settings.files import state_directory
from accord.apps.coder.slash_commands import register
from accord.errors import InvalidParams, RequestFailed
from accord.local.paths import directory_error
from accord.peer.event_loop import run, run_until
from accord.session.updates import CompactionPatch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from accord.agent.http_settings import HttpSettings
    from accord.apps.coder.models.open_models import ModelOpener
    from accord.apps.coder.settings.precedence import LoadedSettings
    from accord.store.store import Store
    from accord.transports.framing import Framing


class Coder:
    """The agent of one program, with all of its sessions. `agent` is what is served.

    `take_warning` returns a warning about the store for the user, once.
    """

    def __init__(
        self,
        loaded: LoadedSettings,
        *,
        store: Store | None = None,
        choices_file: Path | None = None,
        open_model: ModelOpener | None = None,
        take_warning: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._loaded = loaded
        self._choices_file = choices_file
        self._prompts = PromptHandler(open_model, store, [loaded.user_file, state_directory()], take_warning)
        self._sessions: WeakSet[AgentSession] = WeakSet()
        settings = loaded.settings
        kinds = [input_kinds_of(name, settings.model_settings) for name in model_names(settings)]
        self.agent = agent = Agent(
            "accord",
            version=__version__,
            title="accord",
            store=store,
            busy="steer",
            image=any(each.image for each in kinds),
            audio=any(each.audio for each in kinds),
            embedded_context=True,
            logged_in=lambda: self._missing_key() is None,
            legacy_models=True,  # such clients exist, and it harms no other
        )
        agent.prompt(self._prompts.answer)
        agent.new_session(self._prepare)
        agent.option("mode", choices=mode_choices(), default=settings.mode)
        agent.option("model", choices=model_choices(settings), default=settings.model)(self._model_chosen)
        variable = self._missing_key()
        agent.login(
            "environment",
            name=f"Use the API key in {variable}" if variable else "Use an API key from the environment",
            description=ModelNeedsKey.advice_for(variable or "the API key"),
        )(self._log_in)
        agent.method("_accord/forget_choices")(self._forget_choices)
        register(agent, self._prompts)

    def run_http(self, settings: HttpSettings) -> None:
        """Serve HTTP and WebSocket until SIGINT or SIGTERM."""
        from accord.agent.asgi import run_http  # noqa: PLC0415  # only servers need it

        run_http(self.agent.asgi, settings, "accord agent", self._close)

    def run(self, framing: Framing | None = None) -> None:
        """Serve stdin and stdout until the client closes the connection."""
        from accord.transports.stdio import StdioTransport  # noqa: PLC0415  # only for a process of its own

        stdio = StdioTransport(framing=framing)
        run(run_until(stdio.ended, partial(self.agent.serve, stdio), self._close))

    async def _close(self) -> None:
        store = self._prompts.store
        await asyncio.gather(self.aclose(), *([] if store is None else [store.aclose()]))

    async def aclose(self) -> None:
        """Close the models."""
        await self._prompts.aclose()

    async def _prepare(self, session: AgentSession) -> None:
        """Open a session, new or old, with the settings of its own directory."""
        from accord.apps.coder.history import history_of  # noqa: PLC0415  # not before a session needs it
        from accord.apps.coder.storage import SessionChoices  # noqa: PLC0415
        from accord.local.saved_choices import SavedChoices  # noqa: PLC0415

        if session.is_new:  # an old one can still be read
            error = await asyncio.to_thread(directory_error, session.cwd)
            if error is not None:
                raise InvalidParams(error, field="cwd")
        try:
            loaded = await asyncio.to_thread(self._loaded.in_directory, session.cwd)
        except InvalidSettings as invalid:
            raise InvalidParams(str(invalid), field="cwd") from invalid
        self._sessions.add(session)
        session.state["settings"] = loaded.settings
        session.state["notices"] = list(loaded.notices)
        session.own_servers = loaded.settings.mcp_servers
        for compaction in session.transcript.compactions.values():
            if compaction.status == "in_progress":  # the program was killed meanwhile
                patch = CompactionPatch(id=compaction.id, status="failed", error="Interrupted.")
                session.send_nowait(patch, silent=True)
        mode, model = (option for option in session.transcript.options if option.id in ("mode", "model"))
        options = session_options(mode, model, loaded.settings, session.previous_options)
        if options != session.transcript.options:
            await session.set_options(options)
        session.state["history"] = history_of(session.transcript)
        if self._choices_file is not None:
            session.saved_answers = SessionChoices(SavedChoices(self._choices_file).for_project(session.cwd))
        self._prompts.preload_model(session, str(options[1].value))

    async def _model_chosen(self, session: AgentSession, name: str) -> None:
        await check_model(session, name)
        self._prompts.preload_model(session, name)

    def _missing_key(self) -> str | None:
        return missing_key(self._loaded.settings.model, self._loaded.settings.model_settings)

    async def _log_in(self, client: Any) -> None:
        """Look for the API key again, in the environment and in the settings files; open sessions do so, too."""
        try:
            self._loaded = await asyncio.to_thread(self._loaded.in_directory, self._loaded.cwd)
            for session in list(self._sessions):
                loaded = await asyncio.to_thread(self._loaded.in_directory, session.cwd)
                session.state["settings"] = loaded.settings
        except InvalidSettings as invalid:
            raise RequestFailed(-32603, str(invalid), {"reason": "settings"}) from invalid
        variable = self._missing_key()
        if variable is not None:
            message = f"{ModelNeedsKey(variable, self._loaded.settings.model)} The model 'offline' needs none."
            raise RequestFailed(-32000, message, {"reason": "auth_required", "variable": variable})

    async def _forget_choices(self, params: Any, client: Any) -> dict[str, int]:
        """Extension method: revoke all always-answers in the project of an open session."""
        from accord.local.saved_choices import project_root  # noqa: PLC0415  # as in `_prepare`

        session_id = cast("dict[str, Any]", params).get("sessionId") if isinstance(params, dict) else None
        sessions = list(self._sessions)
        session = next((each for each in sessions if each.id == session_id), None)
        if session is None:
            raise InvalidParams("no such session is open", field="sessionId")

        def forget() -> int:
            project, scopes = project_root(session.cwd), set[str]()
            for remembered in (each.saved_answers for each in sessions if project_root(each.cwd) == project):
                for scope in list(remembered):
                    scopes.add(scope)
                    with suppress(KeyError):  # another process has just revoked it
                        del remembered[scope]
            return len(scopes)

        try:
            return {"forgotten": await asyncio.to_thread(forget)}
        except (OSError, ValueError) as error:
            raise RequestFailed(-32603, f"nothing can be revoked: {error}", {"reason": "choices"}) from error


def build(loaded: LoadedSettings) -> Coder:
    """The agent as a program serves it: sessions and always-answers are saved in the user's state directory."""
    from accord.apps.coder.storage import FallbackStore  # noqa: PLC0415  # tests have their own store

    state = state_directory()
    store = FallbackStore(state / "sessions.db")
    return Coder(loaded, store=store, choices_file=state / "choices.json", take_warning=store.take_warning)
