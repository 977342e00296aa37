"""An agent that writes files unasked in its default mode: no session is prompted in another mode than the one in force."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accord.errors import AuthRequired, InvalidParams
from accord.testing import ScriptedAgent, program
from tests.apps.console.conftest import home, project, start, typed  # noqa: F401  # fixtures
from tests.apps.console.screen.stage import Stage, opened
from tests.apps.console.terminal import left, plainly
from tests.apps.console.terminal import prompted as line_prompted

AUTO, READ_ONLY, ASK = "auto", "read-only", "ask"
WAYS = [{"id": "t", "name": "Here", "type": "terminal", "args": ["--login"]}]
CAN = {
    "loadSession": True,
    "sessionCapabilities": {"resume": {}, "list": {}, "fork": {}, "close": {}, "delete": {}},
}


@pytest.fixture(params=[1, 2, "2-draft"], ids=["v1", "v2", "v2-draft"])
def version(request: pytest.FixtureRequest) -> Any:
    return request.param


class WritesUnasked(ScriptedAgent):
    """Every session opens in the mode `auto`, in which each prompt writes a file. Modes are an option but in v1."""

    def __init__(self, version: Any, cwd: Path, **handshake: Any) -> None:
        if version != 2:
            handshake.setdefault("agentCapabilities", CAN)
        super().__init__(version, **handshake)
        self.cwd = cwd
        self.opens_in = AUTO
        self.modes: dict[str, str] = {}
        self.models: dict[str, str] = {}
        self.prompted: list[tuple[str, str]] = []
        """The mode and the model of each prompt."""
        self.refuses: Callable[[str], bool] = lambda mode: False
        self.stays = False
        """It answers that a mode is set, and sets none."""
        self.resets: set[str] = set()
        """`model`: another mode brings its own model with it; `mode`: another model its own mode."""
        self._count = 0
        self.on("session/new", self._new)
        for method in ("session/load", "session/resume"):
            self.on(method, lambda asked: self._open(asked.params["sessionId"]))
        self.on("session/fork", self._new)
        summary = {"sessionId": "stored", "cwd": str(cwd), "title": "An old one"}
        self.on("session/list", {"sessions": [summary]})
        self.on("session/close", {})
        self.on("session/delete", {})
        self.on("session/set_mode", lambda asked: self._mode(asked, asked.params["modeId"], {}))
        self.on("session/set_config_option", self._option)
        self.on("session/prompt", self._prompt)

    @property
    def written(self) -> list[str]:
        return sorted(each.name for each in self.cwd.iterdir())

    def _new(self, asked: Any) -> dict[str, Any]:
        self._count += 1
        return {"sessionId": f"s{self._count}", **self._open(f"s{self._count}")}

    def _open(self, session_id: str) -> dict[str, Any]:
        self.modes[session_id], self.models[session_id] = self.opens_in, "small"
        return self._told(session_id)

    def _told(self, session_id: str) -> dict[str, Any]:
        mode, model = self.modes[session_id], self.models[session_id]
        options = [self._select("model", "Model", model, "small", "large")]
        if self.version == 1:
            available = [{"id": each, "name": each} for each in (AUTO, ASK, READ_ONLY)]
            return {"configOptions": options, "modes": {"currentModeId": mode, "availableModes": available}}
        return {"configOptions": [*options, self._select("mode", "Mode", mode, AUTO, ASK, READ_ONLY)]}

    def _select(self, id: str, name: str, value: str, *values: str) -> dict[str, Any]:
        key = "configId" if self.version == 2 else "id"
        choices = [{"value": each, "name": each} for each in values]
        return {key: id, "name": name, "category": id, "type": "select", "currentValue": value, "options": choices}

    def _option(self, asked: Any) -> Any:
        session_id, value = asked.params["sessionId"], asked.params["value"]
        if asked.params["configId"] == "mode":
            return self._mode(asked, value, None)
        if "mode" in self.resets and self.models[session_id] != value:
            self.modes[session_id] = AUTO
            if self.version == 1:
                self.update("current_mode_update", session_id=session_id, currentModeId=AUTO)
        self.models[session_id] = value
        return {"configOptions": self._told(session_id)["configOptions"]}

    def _mode(self, asked: Any, mode: str, answer: Any) -> Any:
        if self.refuses(mode):
            raise InvalidParams("no such mode")
        session_id = asked.params["sessionId"]
        if not self.stays:
            self.modes[session_id] = mode
            if "model" in self.resets:
                self.models[session_id] = "small"
                options = self._told(session_id)["configOptions"]
                self.update("config_option_update", session_id=session_id, configOptions=options)
        elif self.version == 1:
            self.update("current_mode_update", session_id=session_id, currentModeId=self.modes[session_id])
        return {"configOptions": self._told(session_id)["configOptions"]} if answer is None else answer

    def _prompt(self, asked: Any) -> None:
        mode = self.modes[asked.session_id]
        self.prompted.append((mode, self.models[asked.session_id]))
        self.begin(asked)
        if mode == AUTO:
            (self.cwd / f"written-{len(self.prompted)}").touch()
        self.say("Done.", session_id=asked.session_id)
        self.finish(asked)


class Forgets(WritesUnasked):
    """A login puts the sessions that are open back into the defaults. It has an option more."""

    def __init__(self, version: Any, cwd: Path, *, tells: bool) -> None:
        way = {"type": "agent", "methodId": "a"} if version == 2 else {"id": "a"}
        super().__init__(version, cwd, authMethods=[{**way, "name": "By itself"}])
        self.efforts: dict[str, str] = {}
        self.forgotten = 0
        self._tells = tells
        self.on("auth/login" if version == 2 else "authenticate", self._forget)

    def in_force(self, session_id: str) -> tuple[str, str, str]:
        return self.modes[session_id], self.models[session_id], self.efforts[session_id]

    def tell_settings(self, session_id: str) -> None:
        self.update(
            "config_option_update", session_id=session_id, configOptions=self._told(session_id)["configOptions"]
        )
        if self.version == 1:
            self.update("current_mode_update", session_id=session_id, currentModeId=self.modes[session_id])

    def _forget(self, asked: Any) -> dict[str, Any]:
        self.forgotten += 1
        self.opens_in = AUTO
        for session_id in self.modes:
            self._open(session_id)
            if self._tells:
                self.tell_settings(session_id)
        return {}

    def _open(self, session_id: str) -> dict[str, Any]:
        self.efforts[session_id] = "low"
        return super()._open(session_id)

    def _told(self, session_id: str) -> dict[str, Any]:
        told = super()._told(session_id)
        effort = self._select("thought_level", "Effort", self.efforts[session_id], "low", "high")
        return {**told, "configOptions": [*told["configOptions"], effort]}

    def _option(self, asked: Any) -> Any:
        if asked.params["configId"] != "thought_level":
            return super()._option(asked)
        self.efforts[asked.params["sessionId"]] = asked.params["value"]
        return {"configOptions": self._told(asked.params["sessionId"])["configOptions"]}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    directory = tmp_path / "work"
    directory.mkdir()
    return directory


async def prompted(stage: Stage, agent: WritesUnasked, count: int) -> None:
    await stage.send("Do it")
    await stage.until(lambda: len(agent.prompted) == count)
    await stage.idle()


class TestTheScreen:
    async def test_sends_what_was_written_before_the_agent_was_ready_in_the_mode_asked_for(self, work, version):
        agent = WritesUnasked(version, work)
        async with opened(agent, work, version=version, mode=READ_ONLY, ready=False) as stage:
            await prompted(stage, agent, 1)
        assert (agent.prompted, agent.written) == ([(READ_ONLY, "small")], [])

    @pytest.mark.parametrize("way", ["ctrl+n", "/new"])
    async def test_opens_a_second_tab_in_the_mode_and_model_asked_for(self, work, version, way):
        agent = WritesUnasked(version, work)
        async with opened(agent, work, version=version, mode=READ_ONLY, model="large") as stage:
            await (stage.press(way) if way == "ctrl+n" else stage.send(way))
            await stage.until(lambda: len(stage.app.tabs) == 2 and stage.tab.is_open)
            await prompted(stage, agent, 1)
        assert (agent.prompted, agent.written) == ([(READ_ONLY, "large")], [])

    async def test_opens_a_second_tab_in_the_mode_that_the_user_has_chosen_since(self, work, version):
        agent = WritesUnasked(version, work)
        async with opened(agent, work, version=version) as stage:
            await stage.press("shift+tab")
            await stage.until(lambda: ASK in stage.text)
            await stage.press("ctrl+n")
            await stage.until(lambda: len(stage.app.tabs) == 2 and stage.tab.is_open)
            await prompted(stage, agent, 1)
        assert (agent.prompted, agent.written) == ([(ASK, "small")], [])

    async def test_starts_a_dead_agent_again_in_the_mode_that_was_in_force_in_each_tab(self, work, version):
        agent = WritesUnasked(version, work)
        async with opened(agent, work, version=version, mode=READ_ONLY, model="large") as stage:
            await stage.press("ctrl+n")
            await stage.until(lambda: len(stage.app.tabs) == 2 and stage.tab.is_open)
            await stage.press("shift+tab", "shift+tab")
            await stage.until(lambda: agent.modes["s2"] == ASK)
            agent.die(3)
            await stage.shows("agent ended, F5 restarts it")
            await stage.press("f5")
            await stage.until(lambda: all(tab.is_open for tab in stage.app.tabs))
            await prompted(stage, agent, 1)
            await stage.press("alt+left")
            await prompted(stage, agent, 2)
        assert (agent.prompted, agent.written) == ([(ASK, "large"), (READ_ONLY, "large")], [])

    async def test_keeps_a_mode_that_the_agent_changed_at_a_command_of_the_user(self, work):
        agent = WritesUnasked(1, work)
        async with opened(agent, work, version=1) as stage:
            agent.modes["s1"] = READ_ONLY
            agent.update("current_mode_update", currentModeId=READ_ONLY)
            await stage.until(lambda: READ_ONLY in stage.text)
            agent.die(3)
            await stage.shows("agent ended, F5 restarts it")
            await stage.press("f5")
            await stage.until(lambda: stage.tab.is_open)
            await prompted(stage, agent, 1)
        assert (agent.prompted, agent.written) == ([(READ_ONLY, "small")], [])

    async def test_logs_in_and_goes_on_in_the_mode_that_was_in_force(self, work):
        agent = WritesUnasked(1, work, authMethods=WAYS)
        async with program(agent) as command, opened(command, work, version=1, mode=READ_ONLY) as stage:
            stage.app.handover._run = _logged_in
            await stage.send("/login")
            await stage.shows("The agent requires a login")
            await stage.press("enter")
            await stage.shows("Logged in.")
            await stage.until(lambda: stage.tab.is_open)
            await prompted(stage, agent, 1)
        assert (agent.prompted, agent.written) == ([(READ_ONLY, "small")], [])

    @pytest.mark.parametrize("tells", [True, False], ids=["told", "silently"])
    @pytest.mark.parametrize("by", ["/login", "new tab"])
    async def test_restores_all_that_a_login_has_changed_in_a_session_that_stays_open(self, work, version, by, tells):
        """Not only in the session for which the user has logged in, and also if the agent does not tell what it has changed."""
        agent = Forgets(version, work, tells=tells)
        async with opened(agent, work, version=version, mode=READ_ONLY, model="large") as stage:
            first = stage.tab
            agent.efforts["s1"] = "high"
            agent.tell_settings("s1")
            await stage.until(lambda: first.session.options[-1].value == "high")
            if by == "/login":
                await stage.send("/login")
            else:
                agent.on("session/new", AuthRequired(), agent._new)
                stage.app.action_new_session()
            await stage.shows("The agent requires a login")
            await stage.press("enter")
            await stage.until(lambda: agent.in_force("s1") == (READ_ONLY, "large", "high"))
            await stage.until(lambda: stage.tab.is_open)
            stage.app.tabs.show(first)
            await prompted(stage, agent, 1)
        assert (agent.forgotten, agent.prompted, agent.written) == (1, [(READ_ONLY, "large")], [])

    @pytest.mark.parametrize("tells", [True, False], ids=["told", "silently"])
    @pytest.mark.parametrize("by", ["/login", "f5"])
    async def test_keeps_a_session_in_its_mode_that_nobody_chose(self, work, version, by, tells):
        """The agent's default when it was opened: it is in force, although the agent has another default since."""
        agent = Forgets(version, work, tells=tells)
        agent.opens_in = ASK
        async with opened(agent, work, version=version) as stage:
            if by == "/login":
                await stage.send("/login")
                await stage.shows("The agent requires a login")
                await stage.press("enter")
                await stage.until(lambda: agent.forgotten == 1)
            else:
                agent.die(3)
                await stage.shows("agent ended, F5 restarts it")
                agent.opens_in = AUTO
                await stage.press("f5")
            await stage.until(lambda: stage.tab.is_open and agent.modes["s1"] == ASK)
            await prompted(stage, agent, 1)
        assert (agent.prompted, agent.written) == ([(ASK, "small")], [])

    async def test_opens_a_session_that_wanted_a_login_in_the_mode_asked_for(self, work):
        agent = WritesUnasked(1, work, authMethods=WAYS)
        agent.on("session/new", AuthRequired(), agent._new)
        async with program(agent) as command, opened(command, work, version=1, mode=READ_ONLY, ready=False) as stage:
            stage.app.handover._run = _logged_in
            await stage.shows("The agent requires a login")
            await stage.press("enter")
            await stage.until(lambda: stage.tab.is_open)
            await prompted(stage, agent, 1)
        assert (agent.prompted, agent.written) == ([(READ_ONLY, "small")], [])

    @pytest.mark.parametrize("key", ["enter", "ctrl+f"])
    async def test_takes_up_and_forks_a_stored_session_in_the_mode_in_force(self, work, version, key):
        if version == 2 and key == "ctrl+f":
            pytest.skip("published v2 has no fork")
        agent = WritesUnasked(version, work)
        async with opened(agent, work, version=version, mode=READ_ONLY) as stage:
            unused = stage.tab  # it makes room for the other session
            await stage.press("f3")
            await stage.shows("An old one")
            await stage.press(key)
            await stage.until(lambda: unused not in stage.app.tabs and stage.tab.is_open)
            await prompted(stage, agent, 1)
        assert (agent.prompted, agent.written) == ([(READ_ONLY, "small")], [])

    @pytest.mark.parametrize("continued", [{"resume": "stored"}, {"continues": True}])
    async def test_goes_on_with_a_session_in_the_mode_asked_for(self, work, version, continued):
        agent = WritesUnasked(version, work)
        async with opened(agent, work, version=version, mode=READ_ONLY, **continued) as stage:
            assert stage.tab.session_id == "stored"
            await prompted(stage, agent, 1)
        assert (agent.prompted, agent.written) == ([(READ_ONLY, "small")], [])

    @pytest.mark.parametrize("how", ["refuses", "stays"])
    async def test_holds_the_prompt_when_the_agent_does_not_take_the_mode(self, work, version, how):
        agent = WritesUnasked(version, work)
        async with opened(agent, work, version=version, mode=READ_ONLY) as stage:
            if how == "stays":
                agent.stays = True
            else:
                agent.refuses = lambda mode: mode == READ_ONLY
            await stage.press("ctrl+n")
            await stage.until(lambda: len(stage.app.tabs) == 2 and stage.tab.is_open)
            await stage.shows("Prompts are held", READ_ONLY)
            await stage.send("Do it")
            await stage.shows("‖ held", "Do it")
            assert (agent.prompted, agent.written) == ([], [])
            agent.stays = False
            await stage.press("shift+tab")
            await stage.until(lambda: not stage.tab.is_unsettled)
            assert agent.prompted == []  # the next mode need not be the one that is meant
            await stage.press("ctrl+s")
            await stage.until(lambda: agent.prompted)
            await stage.idle()
        assert (agent.prompted, agent.written) == ([(ASK, "small")], [])

    async def test_sends_a_prompt_in_a_mode_that_was_refused_only_when_it_is_told_to(self, work, version):
        agent = WritesUnasked(version, work)
        agent.refuses = lambda mode: True
        async with opened(agent, work, version=version, mode=READ_ONLY) as stage:
            await stage.shows("Prompts are held")
            await stage.send("Do it")
            await stage.shows("‖ held")
            await stage.press("shift+tab")
            await stage.settled()
            assert agent.prompted == []
            await stage.press("ctrl+s")
            await stage.until(lambda: agent.prompted)
        assert agent.prompted == [(AUTO, "small")]

    async def test_holds_the_prompt_when_a_model_is_gone_and_still_sets_the_mode(self, work):
        agent = WritesUnasked(1, work)
        async with opened(agent, work, version=1, mode=READ_ONLY, model="huge") as stage:
            await stage.shows("The agent has no model 'huge'", "Prompts are held")
            await stage.send("Do it")
            await stage.shows("‖ held")
            assert (agent.prompted, agent.modes["s1"]) == ([], READ_ONLY)


async def _logged_in(command: object) -> int:
    return 0


class TestWithoutAScreen:
    async def test_a_login_in_the_middle_of_a_run_does_not_lose_the_mode(self, typed, work, version):  # noqa: F811
        """Nor does an agent that forgets it then, and does not say so."""
        methods = (
            [{"id": "a", "name": "By itself"}] if version != 2 else [{"type": "agent", "methodId": "a", "name": "A"}]
        )
        agent = WritesUnasked(version, work, authMethods=methods)
        agent.on("session/prompt", AuthRequired(), agent._prompt)

        @agent.on("authenticate" if version != 2 else "auth/login")
        def forget(asked: Any) -> dict[str, Any]:
            assert agent.modes["s1"] == READ_ONLY
            agent.modes["s1"] = AUTO
            return {}

        words = ["--mode", READ_ONLY, "--login", "a", "--cwd", work]
        async with program(agent) as command:
            finished = await typed("run", *words, "Do it", "--", *command.args)
        assert finished.status == 0, finished.err
        assert (agent.prompted, agent.written) == ([(READ_ONLY, "small")], [])

    @pytest.mark.parametrize("continued", [["--continue"], ["--session", "stored"]])
    async def test_a_run_that_goes_on_does_so_in_the_mode_asked_for(self, typed, work, version, continued):  # noqa: F811
        agent = WritesUnasked(version, work)
        async with program(agent) as command:
            finished = await typed("run", *continued, "--mode", READ_ONLY, "--cwd", work, "Do it", "--", *command.args)
        assert finished.status == 0, finished.err
        assert (agent.prompted, agent.written) == ([(READ_ONLY, "small")], [])

    @pytest.mark.parametrize("how", ["refuses", "stays"])
    async def test_a_run_whose_mode_is_refused_sends_no_prompt(self, typed, work, version, how):  # noqa: F811
        agent = WritesUnasked(version, work)
        agent.stays, agent.refuses = how == "stays", lambda mode: how == "refuses"
        async with program(agent) as command:
            finished = await typed("run", "--mode", READ_ONLY, "--cwd", work, "Do it", "--", *command.args)
        assert finished.status != 0
        assert READ_ONLY in finished.err
        assert (agent.prompted, agent.written) == ([], [])

    async def test_a_mode_that_brings_a_model_with_it_gets_the_model_asked_for(self, typed, work, version):  # noqa: F811
        agent = WritesUnasked(version, work)
        agent.resets = {"model"}
        words = ["--mode", READ_ONLY, "--model", "large", "--cwd", work]
        async with program(agent) as command:
            finished = await typed("run", *words, "Do it", "--", *command.args)
        assert finished.status == 0, finished.err
        assert (agent.prompted, agent.written) == ([(READ_ONLY, "large")], [])

    async def test_a_mode_and_a_model_that_exclude_each_other_send_no_prompt(self, typed, work, version):  # noqa: F811
        agent = WritesUnasked(version, work)
        agent.resets = {"model", "mode"}
        words = ["--mode", READ_ONLY, "--model", "large", "--cwd", work]
        async with program(agent) as command:
            finished = await typed("run", *words, "Do it", "--", *command.args)
        assert finished.status != 0
        assert (agent.prompted, agent.written) == ([], [])

    async def test_a_talk_line_by_line_ends_when_a_login_has_lost_the_mode(self, work, project):  # noqa: F811
        agent = WritesUnasked(1, work, authMethods=[{"id": "a", "name": "By itself"}])
        agent.on("session/prompt", AuthRequired(), agent._prompt)

        @agent.on("authenticate")
        def forget(asked: Any) -> dict[str, Any]:
            agent.modes["s1"], agent.refuses = AUTO, lambda mode: True
            agent.update("current_mode_update", session_id="s1", currentModeId=AUTO)
            return {}

        words = ("--mode", READ_ONLY, "--login", "a")
        async with program(agent) as command, plainly(command, *words, cwd=project) as (terminal, accord):
            await line_prompted(terminal)
            await terminal.sees("the agent refuses the mode 'read-only'")
            terminal.type("And now?\n")
            assert await accord.wait() != 0
        assert (agent.prompted, agent.written) == ([], [])

    async def test_a_talk_line_by_line_is_held_in_the_mode_asked_for(self, work, project, version):  # noqa: F811
        agent = WritesUnasked(version, work)
        async with program(agent) as command, plainly(command, "--mode", READ_ONLY, cwd=project) as (terminal, accord):
            await line_prompted(terminal)
            await left(terminal, accord)
        assert (agent.prompted, agent.written) == ([(READ_ONLY, "small")], [])

    async def test_a_talk_line_by_line_whose_mode_is_refused_ends(self, work, project):  # noqa: F811
        agent = WritesUnasked(1, work)
        agent.refuses = lambda mode: True
        async with program(agent) as command, plainly(command, "--mode", READ_ONLY, cwd=project) as (terminal, accord):
            await terminal.sees("the agent refuses the mode 'read-only'")
            assert await accord.wait() != 0
        assert (agent.prompted, agent.written) == ([], [])
