"""What opens over the conversation, and what the screen's own commands do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import SystemCommand

from accord.apps.console.always_choices import take_back
from accord.apps.console.sanitizer import one_line
from accord.apps.console.screen.blocks.block import Block
from accord.apps.console.screen.blocks.tool_calls import ToolCallBlock
from accord.apps.console.screen.export import export, export_path
from accord.apps.console.screen.main_screen import KEYS
from accord.apps.console.screen.pages.choice_page import ChoicePage, Entry
from accord.apps.console.screen.pages.keys_page import KeysPage
from accord.apps.console.screen.pages.log_page import LogPage
from accord.apps.console.screen.pages.review_page import ReviewPage, changed_files
from accord.apps.console.screen.pages.session_page import SessionsPage
from accord.apps.console.screen.status import mode_of
from accord.apps.console.session_choice import KnownSession, newest
from accord.client.session import Session
from accord.errors import AccordError
from accord.session.entities import Option

if TYPE_CHECKING:
    from accord.apps.console.screen.app import Console

__all__ = ["PageTurning"]


class PageTurning:
    """The pages of a screen."""

    def __init__(self, app: Console) -> None:
        self._app = app

    def command(self, name: str, rest: str) -> None:
        """One of the screen's own slash commands."""
        app = self._app
        match name:
            case "log" | "review" | "keys" | "restart" | "sessions" | "options":
                getattr(app, f"action_{name}")()
            case "new":
                app.action_new_session()
            case "export":
                self.export(rest)
            case "theme":
                app.begin(self.theme())
            case "login":
                app.begin(app.logging_in.again())
            case _:
                app.exit(0)

    def palette(self) -> Iterator[SystemCommand]:
        """Every key by its meaning, and what has no key."""
        app = self._app
        for binding in KEYS:
            name = binding.action.removeprefix("app.")
            if "(" not in name and name not in ("stop", "interrupt", "other_focus", "command_palette"):
                yield SystemCommand(binding.description.capitalize(), binding.key, getattr(app, f"action_{name}"))
        yield SystemCommand("Theme", "another look", lambda: app.begin(self.theme()))
        yield SystemCommand("Export", "the conversation as Markdown", lambda: self.export("md"))
        yield SystemCommand("Export as JSON", "the whole transcript", lambda: self.export("json"))
        yield SystemCommand("Paste picture", "from the clipboard", app.prompting.paste)
        yield SystemCommand("Forget", "what you allowed or rejected always", self.forget_choices)
        yield SystemCommand("Log in", "at the agent", lambda: app.begin(app.logging_in.again()))

    def block_acted(self, block: Block, what: str) -> None:
        """What the user wants done with a block of the conversation."""
        app, session = self._app, self._app.talk.session
        if what == "copy":
            app.copy_to_clipboard(block.plain())
            app.tell("Copied.")
        elif isinstance(block, ToolCallBlock) and what == "edit":
            places = [(place.path, place.line) for place in block.call.locations]
            places += [(diff.path, None) for diff in block.diffs]
            if places:
                self._app.begin(self._app.editing.file(*places[0]))
        elif isinstance(block, ToolCallBlock) and what == "stop" and session is not None:
            self._stop_call(block, session)

    def _stop_call(self, block: ToolCallBlock, session: Session) -> None:
        stoppable = [terminal.id for terminal in block.terminals if terminal.cancellable and terminal.exit is None]
        if block.call.cancellable and not block.call.finished:
            self._app.begin(session.cancel_tool_call(block.call.id))
        elif stoppable:
            self._app.begin(session.cancel_terminal(stoppable[0]))
        elif killing := self._app.agent.kill_terminals([terminal.id for terminal in block.terminals]):
            for kill in killing:
                self._app.begin(kill)
        elif block.call.finished:
            self._app.tell("It has ended already.")
        else:
            self._app.tell("The agent can't stop this one alone; Esc stops the whole turn.", "warning")

    def keys(self) -> None:
        self._app.push_screen(KeysPage(self._app.palette))

    def log(self) -> None:
        self._app.push_screen(LogPage(self._app.agent.traffic, self._app.palette))

    def review(self) -> None:
        talk = self._app.talk
        self._app.push_screen(ReviewPage(changed_files(talk.story), talk.cwd, self._app.palette))

    async def history(self) -> None:
        """^R: a prompt that was sent before comes into the editor."""
        app = self._app
        sent = list(dict.fromkeys(reversed(app.prompting.history)))
        entries = [Entry(str(place), one_line(text)) for place, text in enumerate(sent)]
        chosen = await app.ask_page(ChoicePage("Prompts you have sent", entries))
        if chosen is not None:
            if app.prompt.text:
                app.prompting.history.append(app.prompt.text)
            app.prompt.take(sent[int(chosen)])

    async def theme(self) -> None:
        app = self._app
        names = sorted(app.available_themes, key=lambda name: (not name.startswith("accord"), name))
        chosen = await app.ask_page(ChoicePage("Theme", [Entry(name, name) for name in names], current=app.theme))
        if chosen is not None:
            app.theme = chosen

    def export(self, where: str) -> None:
        """To a path, from the session's directory on; for nothing, `md` or `json`, to a new file there."""
        app, session = self._app, self._app.talk.session
        if session is None:
            app.tell("There is nothing to export yet.", "warning")
            return
        path = export_path(where, Path(session.cwd), session.id)
        try:
            export(session.transcript, path)
        except OSError as error:
            app.tell(f"It could not be written to {path}: {error.strerror}", "error")
        except ValueError as error:  # such a name can't even be tried
            app.tell(f"It could not be written to {path}: {error}", "error")
        else:
            app.tell(f"Written to {path}")

    def forget_choices(self) -> None:
        """What was decided for always: here at once, and by the built-in agent, which then says so."""
        app, agent = self._app, self._app.agent
        agent.choices.forget()
        if agent.state == "ready":
            agent.client.forget_all_writes()
        if agent.keeper == "built-in agent":
            app.begin(self._take_back())
            return
        name = one_line(app.agent.shown_name, 40)
        app.talk.say(f"you are asked again here; what {name} keeps itself, accord can't undo: see its own settings")

    async def _take_back(self) -> None:
        app, agent = self._app, self._app.agent
        sessions = [talk.session.id for talk in app.talks if talk.session is not None and not talk.session.is_closed]
        why = "no session is open"
        if agent.state == "ready" and sessions:
            try:
                count = await take_back(agent.client, sessions)
            except AccordError as error:
                why = str(error)
            else:
                app.talk.say(f"{count} choice{'s' * (count != 1)} for always taken back: you are asked again")
                return
        app.talk.say(f"nothing is taken back ({why}); `accord permissions --revoke-all` does it in the project")

    def _is_ready(self) -> bool:
        """Whether the agent can be asked; if not, that is told."""
        state = self._app.agent.state
        if state == "gone":
            self._app.tell("The agent is gone. F5 starts it again.", "warning")
        elif state == "starting":
            self._app.tell("The agent is still starting.", "warning")
        return state == "ready"

    def _open_session(self) -> Session | None:
        """The session that is on the screen; if there is none, that is told."""
        session = self._app.talk.session
        if not self._is_ready():
            return None
        if session is None or session.is_closed:
            self._app.tell("There is no session here yet.", "warning")
            return None
        return session

    # options

    async def next_mode(self) -> None:
        session = self._open_session()
        if session is None:
            return
        modes = self._modes()
        if len(modes) < 2:
            self._app.tell("The agent has no other mode.")
            return
        ids = [entry.id for entry in modes]
        current = self._current_mode()
        place = ids.index(current) + 1 if current in ids else 0
        await self._set_mode(session, ids[place % len(ids)])
        self._app.agent_changed()

    async def _set_mode(self, session: Session, mode_id: str) -> None:
        talk = self._app.talk
        await session.set_mode(mode_id)
        talk.settings.chose_mode(mode_id)
        await self._app.agent.settle(talk)

    async def _set_option(self, session: Session, option: Option, value: str | bool) -> None:
        talk = self._app.talk
        await session.set_option(option.id, value)
        talk.settings.chose_option(option, value)
        await self._app.agent.settle(talk)

    def _modes(self) -> list[Entry]:
        session = self._app.talk.session
        if session is None:
            return []
        if session.modes is not None:
            return [Entry(mode.id, mode.name, mode.description or "") for mode in session.modes.available]
        option = next((each for each in session.options if each.category == "mode"), None)
        return [] if option is None else _choices(option)

    def _current_mode(self) -> str | None:
        session = self._app.talk.session
        if session is None:
            return None
        if session.modes is not None:
            return session.modes.current
        return next((str(each.value) for each in session.options if each.category == "mode"), None)

    async def options(self) -> None:
        """A list of all options, then the values of the chosen one."""
        app, session = self._app, self._open_session()
        if session is None:
            return
        entries = [Entry(each.id, each.name, _value_of(each)) for each in session.options]
        has_modes = session.modes is not None and not any(each.category == "mode" for each in session.options)
        if has_modes:
            entries.insert(0, Entry("\0mode", "Mode", mode_of(app.talk)))
        if not entries:
            app.tell("The agent has no options.")
            return
        chosen = entries[0].id if len(entries) == 1 else await app.ask_page(ChoicePage("Options", entries))
        option = next((each for each in session.options if each.id == chosen), None)
        if chosen == "\0mode":
            mode = await app.ask_page(ChoicePage("Mode", self._modes(), current=self._current_mode()))
            if mode is not None:
                await self._set_mode(session, mode)
        elif option is not None and option.kind == "boolean":
            await self._set_option(session, option, not option.value)
        elif option is not None and option.choices:
            value = await app.ask_page(ChoicePage(option.name, _choices(option), current=str(option.value)))
            if value is not None:
                await self._set_option(session, option, value)
        app.agent_changed()

    # sessions

    async def sessions(self) -> None:
        app = self._app
        if not self._is_ready():
            return
        can = app.agent.client.agent.capabilities
        summaries = {each.session_id: each for each in newest(await app.agent.sessions.listed())}
        if not summaries and not can.list:
            app.tell("This agent does not list its sessions, and none was held with it here.", "warning")
            return
        page = SessionsPage(list(summaries.values()), app.talk.cwd, can_fork=can.fork, can_delete=can.delete)
        what, _, session_id = (await app.ask_page(page) or "").partition(" ")
        if what == "delete":
            await self._delete(summaries[session_id])
            await self.sessions()
        elif what in ("open", "fork"):
            await self._take_up(what, session_id, summaries[session_id].cwd)

    async def _delete(self, summary: KnownSession) -> None:
        """Only when the user says so once more, and not while something is done in it."""
        app, session_id = self._app, summary.session_id
        talk = next((each for each in app.talks if each.session_id == session_id), None)
        if talk is not None and talk.is_busy:
            app.tell("The agent works in that session. Stop it first.", "warning")
            return
        and_tab = "" if talk is None else ", and close its tab"
        answers = [Entry("keep", "Keep it"), Entry("delete", "Delete it", f"for good{and_tab}")]
        title = summary.title or session_id
        if await app.ask_page(ChoicePage(f"Delete “{one_line(title, 60)}”?", answers)) != "delete":
            return
        if talk is not None:
            if len(app.talks) == 1:
                app.action_new_session()
            await app.tabs.close(talk)
        is_listed = summary.source == "agent"
        is_gone = await app.agent.sessions.delete(session_id, is_listed=is_listed) or not is_listed
        app.tell("Deleted." if is_gone else "Deleted here; this agent can't delete what it has kept.")

    async def _take_up(self, what: str, session_id: str, cwd: str) -> None:
        app = self._app
        already = [talk for talk in app.talks if talk.session_id == session_id] if what == "open" else []
        if already:
            app.tabs.show(already[0])
            if already[0].is_open:
                return
        talk = already[0] if already else app.tabs.add(cwd)
        work = app.agent.fork if what == "fork" else app.agent.take_up
        if await work(talk, session_id):
            app.tabs.say_where(talk)


def _choices(option: Option) -> list[Entry]:
    return [
        Entry(choice.value, choice.name, "  ".join(filter(None, [choice.group_name, choice.description])))
        for choice in option.choices
    ]


def _value_of(option: Option) -> str:
    if option.kind == "boolean":
        return "on" if option.value else "off"
    return next((choice.name for choice in option.choices if choice.value == option.value), str(option.value or ""))
