"""Several sessions, sessions of before, and agents that die."""

from __future__ import annotations

import pytest

from accord import Agent, Client, Turn
from accord.apps.console.conversation_records import ConversationRecords
from accord.apps.console.known_agents import KnownAgent
from accord.apps.console.prompt_history import PromptHistory
from accord.apps.console.screen.drafts import Drafts
from accord.apps.console.screen.resumption import resume_command
from accord.session.content import Text
from accord.session.updates import MessageAppend
from accord.store import MemoryStore, Store
from accord.testing import Dies, ScriptedAgent, faulty
from tests.apps.console.screen.stage import opened


def keeper(store: Store | None = None) -> Agent:
    agent = Agent("keeper", version="1", store=store or MemoryStore())

    @agent.prompt
    async def say(turn: Turn) -> None:
        await turn.set_title(f"About {turn.text}")
        await turn.say(f"You said {turn.text}.")

    return agent


async def test_a_kept_session_is_taken_up_with_its_history(tmp_path, version):
    agent = keeper()
    async with opened(agent, tmp_path, version=version) as stage:
        await stage.send("milk")
        await stage.idle()
        session_id = stage.tab.session_id
    async with opened(agent, tmp_path, version=version, resume=session_id) as stage:
        await stage.shows("▌ milk", "You said milk.")
        await stage.send("bread")
        await stage.shows("You said bread.")
        assert stage.tab.session_id == session_id


async def test_the_list_of_sessions_is_searched_and_opens_one_in_a_tab(tmp_path, version):
    agent = keeper()
    async with opened(agent, tmp_path, version=version) as stage:
        for text in ("milk", "bread"):
            await stage.send(text)
            await stage.idle()
            if text == "milk":
                stage.app.action_new_session()
                await stage.until(lambda: stage.tab.is_open)
        first, second = stage.app.tabs
        await stage.app.tabs.close(first)
        await stage.press("f3")
        await stage.shows("Sessions", "About milk", "About bread")
        await stage.type("milk")
        await stage.until(lambda: "About bread" not in "\n".join(stage.lines[5:]))
        await stage.press("enter")
        await stage.until(lambda: stage.tab is not second and stage.tab.is_open)
        await stage.shows("You said milk.", "About milk")
        assert len(stage.app.tabs) == 2


async def test_a_session_is_forked_and_deleted_from_the_list(tmp_path):
    agent = ScriptedAgent(1)
    sessions = [{"sessionId": "old", "cwd": str(tmp_path), "title": "The old one", "updatedAt": "2026-01-02T03:04:05Z"}]
    agent.on("session/list", {"sessions": sessions})
    agent.on("session/fork", {"sessionId": "forked"})
    agent.on("session/delete", {})
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.press("f3")
        await stage.shows("The old one", "2026-01-02 03:04", "Ctrl+F fork", "Ctrl+X delete")
        await stage.press("ctrl+f")
        await stage.until(lambda: stage.tab.session_id == "forked")
        assert agent.calls("session/fork")[0].params["sessionId"] == "old"
        await stage.press("f3")
        await stage.shows("The old one")
        await stage.press("ctrl+x")
        await stage.shows("Delete “The old one”?", "Keep it", "Delete it")
        await stage.press("enter")
        await stage.shows("The old one", "Ctrl+X delete")
        assert agent.calls("session/delete") == []
        await stage.press("ctrl+x")
        await stage.shows("Delete “The old one”?")
        await stage.press("down", "enter")
        await agent.seen("session/delete", 1)
        await stage.shows("Deleted.")


async def test_what_was_kept_here_is_on_the_list_and_can_be_deleted(tmp_path):
    agent = ScriptedAgent(1, agentCapabilities={"sessionCapabilities": {"list": {}}})
    agent.on("session/list", {"sessions": [{"sessionId": "theirs", "cwd": str(tmp_path), "title": "Of the agent"}]})
    agent.on("session/prompt", agent.reply("Noted."))
    records = ConversationRecords(tmp_path / "state")
    async with opened(agent, tmp_path, version=1, records=records) as stage:
        await stage.send("Remember the milk")
        await stage.idle()
        key = stage.app.options.agent.key
        await stage.until(lambda: records.summaries(key))
        await stage.press("f3")
        await stage.shows("Of the agent", "Remember the milk", "kept here", "Ctrl+X delete")
        assert [line.count("kept here") for line in stage.lines if "Of the agent" in line] == [0]
        await stage.type("agent")
        await stage.until(lambda: "Remember the milk" not in "\n".join(stage.lines[5:]))
        await stage.press("ctrl+x")  # which the agent can't do
        await stage.press("escape")
        stage.app.action_new_session()
        await stage.until(lambda: stage.tab.is_open)
        await stage.press("f3")
        await stage.shows("Remember the milk")
        await stage.type("milk")
        await stage.press("ctrl+x")
        await stage.shows("Delete “Remember the milk”?")
        await stage.press("down", "enter")
        await stage.shows("Deleted.")
        assert records.summaries(key) == []


async def test_what_was_kept_here_is_deleted_when_the_agent_no_longer_has_it(tmp_path):
    agent = ScriptedAgent(1, agentCapabilities={"sessionCapabilities": {"list": {}, "delete": {}}})
    agent.on("session/list", {"sessions": []})
    agent.on("session/delete", lambda asked: asked.fail(-32602, "Unknown session"))
    agent.on("session/prompt", agent.reply("Noted."))
    records = ConversationRecords(tmp_path / "state")
    async with opened(agent, tmp_path, version=1, records=records) as stage:
        await stage.send("Remember the milk")
        await stage.idle()
        key = stage.app.options.agent.key
        await stage.until(lambda: records.summaries(key))
        await stage.press("f3")
        await stage.shows("Remember the milk", "kept here")
        await stage.press("ctrl+x")
        await stage.shows("Delete “Remember the milk”?")
        await stage.press("down", "enter")
        await stage.shows("Deleted.")
        assert records.summaries(key) == []


async def test_a_fork_that_is_offered_and_then_refused_says_so(tmp_path):
    """code-puppy."""
    agent = ScriptedAgent(1)
    agent.on("session/list", {"sessions": [{"sessionId": "old", "cwd": str(tmp_path), "title": "The old one"}]})
    agent.on("session/fork", lambda asked: asked.fail(-32601, "Method not found", {"method": asked.method}))
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.press("f3")
        await stage.shows("The old one", "Ctrl+F fork")
        await stage.press("ctrl+f")
        await stage.shows(
            "Method not found (-32601)", "The peer does not have this method, even if its capabilities offer it."
        )
        await stage.press("f3")
        await stage.shows("The old one")
        assert "Ctrl+F fork" not in stage.text


async def test_deleting_a_session_that_is_open_closes_its_tab_and_waits_for_its_turn(tmp_path):
    agent = ScriptedAgent(1)
    agent.on("session/delete", {})
    agent.on("session/close", {})
    about = {"cwd": str(tmp_path), "title": "The open one"}
    agent.on("session/list", lambda asked: {"sessions": [{"sessionId": agent.session_id, **about}]})
    async with opened(agent, tmp_path, version=1) as stage:
        open_one = stage.tab
        await stage.send("Go")
        asked = await agent.next("session/prompt")
        await stage.press("f3")
        await stage.shows("The open one")
        await stage.press("ctrl+x")
        await stage.shows("The agent is working in this session.")
        agent.finish(asked)
        await stage.until(lambda: not open_one.is_busy)
        await stage.press("ctrl+x")
        await stage.shows("and close its tab")
        await stage.press("down", "enter")
        await agent.seen("session/delete", 1)
        assert agent.calls("session/delete")[0].params["sessionId"] == open_one.session_id
        await stage.until(lambda: open_one not in stage.app.tabs and stage.tab.is_open)


async def test_tabs_show_the_state_of_each_session(tmp_path):
    agent = ScriptedAgent(1)
    async with opened(agent, tmp_path, version=1) as stage:
        await stage.send("Go")
        asked = await agent.next("session/prompt")
        first = stage.tab
        await stage.press("ctrl+n")
        await stage.until(lambda: stage.tab is not first and stage.tab.is_open)
        assert "1◐ Go" in stage.lines[0]
        agent.say("Hello from the first", session_id=first.session_id)
        agent.finish(asked)
        await stage.until(lambda: not first.is_busy)
        await stage.shows("1• Go")
        assert "Hello from the first" not in stage.text
        await stage.press("alt+left")
        await stage.shows("Hello from the first")
        assert "•" not in stage.lines[0]
        await stage.press("ctrl+pagedown")
        assert stage.tab is not first


async def test_a_question_in_another_tab_is_seen_and_waits_there(tmp_path):
    agent = Agent("asker", version="1")

    @agent.prompt
    async def ask(turn: Turn) -> None:
        async with turn.tool_call("Do it") as call:
            await turn.allowed(call)

    async with opened(agent, tmp_path) as stage:
        first = stage.tab
        stage.app.action_new_session()
        await stage.until(lambda: stage.tab is not first and stage.tab.is_open)
        first.queue.send("Go")
        await stage.until(lambda: first.questions.first is not None)
        await stage.shows("1?")
        assert "Permission" not in stage.text
        stage.app.tabs.show(first)
        await stage.asked()
        assert "Permission" in stage.text
        await stage.press("n")
        await stage.until(lambda: not first.is_busy)


async def test_each_session_keeps_its_draft_also_when_the_screen_is_closed(tmp_path):
    agent, state = keeper(), tmp_path / "state"
    async with opened(agent, tmp_path, state=state) as stage:
        await stage.send("milk")
        await stage.idle()
        await stage.type("half a th")
        first, session_id = stage.tab, stage.tab.session_id
        stage.app.action_new_session()
        await stage.until(lambda: stage.tab is not first and stage.tab.is_open)
        assert stage.prompt == ""
        await stage.type("other")
        await stage.press("alt+left")
        assert stage.prompt == "half a th"
        await stage.type("ought")
    async with opened(agent, tmp_path, state=state, resume=session_id) as stage:
        await stage.until(lambda: stage.prompt == "half a thought")


async def test_a_draft_that_comes_when_something_else_is_written_already_comes_back_with_up(tmp_path):
    agent = ScriptedAgent(1)
    agent.on("initialize", None)
    agent.on("session/resume", {})
    state = tmp_path / "state"
    Drafts(state).save("s", "written long ago")
    async with opened(agent, tmp_path, version=1, state=state, resume="s", ready=False) as stage:
        asked = await agent.next("initialize")
        await stage.type("new words")
        asked.answer({"protocolVersion": 1, "agentCapabilities": {"sessionCapabilities": {"resume": {}}}})
        await stage.until(lambda: stage.tab.is_open)
        assert stage.prompt == "new words"
        await stage.press("up")
        assert stage.prompt == "written long ago"
        await stage.press("down")
        assert stage.prompt == "new words"
    assert Drafts(state).of("s") == "new words"
    assert [(each.session_id, each.text) for each in PromptHistory(state).entries()] == [("s", "written long ago")]


@pytest.mark.parametrize("can", ["resume", "load", "nothing"])
async def test_a_dead_agent_is_started_again_with_its_session(tmp_path, can):
    capabilities = {"resume": {"sessionCapabilities": {"resume": {}}}, "load": {"loadSession": True}, "nothing": {}}[
        can
    ]
    agent = ScriptedAgent(1, agentCapabilities=capabilities)
    agent.on("session/resume", {})

    @agent.on("session/load")
    def load(asked):
        agent.tell(MessageAppend(role="user", id=None, content=Text("told again")), session_id=asked.session_id)
        return {}

    async with opened(agent, tmp_path, version=1) as stage:
        await stage.send("Go")
        await agent.next("session/prompt")
        agent.say("Let me")
        await stage.shows("Let me")
        agent.die(3, "out of memory")
        await stage.shows(
            "is gone while answering", "exit code 3", "out of memory", "F5", "agent ended, F5 restarts it"
        )
        await stage.send("Still there?")
        await stage.shows("1 Still there?")
        await stage.press("f5")
        asked = await agent.next("session/prompt")
        assert asked.params["prompt"][0]["text"] == "Still there?"
        agent.finish(asked)
        await stage.shows("● ready")
        if can == "resume":
            assert "Let me" in stage.conversation
        if can == "load":
            assert "told again" in stage.conversation
        if can == "nothing":
            assert "this agent cannot reopen sessions" in stage.conversation


async def test_a_session_that_was_taken_over_is_taken_up_again_with_what_was_said_elsewhere(tmp_path, version):
    store = MemoryStore()
    async with opened(keeper(store), tmp_path, version=version) as stage:
        await stage.send("milk")
        await stage.idle()
        async with Client(keeper(store)) as elsewhere:
            session_id = stage.tab.session_id or ""
            session = await elsewhere.load_session(session_id, tmp_path, meta={"accord/claim": "take_over"})
            await session.prompt("bread")
        stage.tab.queue.prompts.append("butter")
        await stage.send("eggs")
        await stage.shows("taken over by another process", "F5")
        assert stage.tab.queue.prompts == ["eggs"]
        await stage.press("f5")
        await stage.shows("You said milk.", "You said bread.")
        await stage.send("jam")
        await stage.shows("You said eggs.", "You said jam.")


async def test_an_agent_that_dies_in_the_middle_of_a_word_is_no_trouble(tmp_path, version):
    agent = faulty(keeper(), Dies(after="session/update", count=2, torn=True, exit_code=9, stderr="Killed"))
    async with opened(agent, tmp_path, version=version, ready=False) as stage:
        await stage.until(lambda: stage.tab.is_open or stage.app.agent.state == "gone")
        await stage.send("milk")
        await stage.shows("is gone while answering", "Killed")
        assert not stage.tab.is_busy


def of_two_directories(tmp_path) -> ScriptedAgent:
    """An agent that has kept a session of another directory, in which there is a file."""
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "notes.txt").write_text("of there")
    agent = ScriptedAgent(1)
    agent.on(
        "session/list", {"sessions": [{"sessionId": "old", "cwd": str(tmp_path / "there"), "title": "The old one"}]}
    )
    agent.on("session/load", {})
    agent.on("session/resume", {})
    agent.on("session/fork", {"sessionId": "forked"})
    return agent


@pytest.mark.parametrize(("key", "method"), [("enter", "session/load"), ("ctrl+f", "session/fork")])
async def test_a_session_of_another_directory_is_taken_up_or_forked_there(tmp_path, key, method):
    agent = of_two_directories(tmp_path)
    async with opened(agent, tmp_path / "here", version=1) as stage:
        first = stage.tab
        await stage.press("f3")
        await stage.shows("The old one")
        await stage.press(key)
        await stage.until(lambda: stage.tab is not first and stage.tab.is_open)
        assert agent.calls(method)[0].params["cwd"] == str(tmp_path / "there")
        assert f"this session works in {tmp_path / 'there'}" in " ".join(stage.conversation.split())
        await stage.type("@no")
        await stage.shows("notes.txt")
        await stage.press("tab", "enter")
        asked = await agent.next("session/prompt")
        assert str(tmp_path / "there" / "notes.txt") in str(asked.params["prompt"])
        agent.finish(asked)
        await stage.idle()
        stage.app.tabs.show(first)
        await stage.type("@no")
        await stage.until(lambda: str(tmp_path / "here") in stage.app.prompt_controller._files._files)
        assert "notes.txt" not in stage.lines[-4]
        assert stage.app.main.completion.selected is None


async def test_a_session_that_is_asked_for_is_taken_up_in_its_own_directory(tmp_path):
    agent = of_two_directories(tmp_path)
    async with opened(agent, tmp_path / "here", version=1, resume="old") as stage:
        assert agent.calls("session/load")[0].params["cwd"] == str(tmp_path / "there")
        assert stage.tab.cwd == str(tmp_path / "there")
        await stage.shows("this session works in")


async def test_a_session_that_was_refused_is_tried_again(tmp_path):
    agent = ScriptedAgent(1)
    agent.on("session/resume", {})
    agent.on("session/list", {"sessions": []})
    agent.on("session/load", lambda asked: asked.fail(-32603, "not now"))
    async with opened(agent, tmp_path, version=1, resume="old", ready=False) as stage:
        await stage.shows("cannot be reopened: not now", "F5 tries again, Ctrl+N opens a new session", "○ no session")
        assert "opening a session" not in stage.text
        agent.on("session/load", {})
        await stage.press("f5")
        await stage.until(lambda: stage.tab.is_open)
        assert stage.tab.session_id == "old"
        assert agent.calls("session/new") == []
        assert agent.calls("session/load")[-1].params["sessionId"] == "old"


async def test_the_window_says_that_something_is_asked_in_whichever_tab(tmp_path):
    agent = Agent("asker", version="1")

    @agent.prompt
    async def ask(turn: Turn) -> None:
        async with turn.tool_call("Do it") as call:
            await turn.allowed(call)

    async with opened(agent, tmp_path) as stage:
        first = stage.tab
        await stage.send("Go")
        await stage.asked()
        assert stage.titles[-1].startswith("? ")
        stage.app.action_new_session()
        await stage.until(lambda: stage.tab is not first and stage.tab.is_open)
        assert stage.titles[-1].startswith("? ")
        await first.stop()
        await stage.until(lambda: not first.is_busy)
        assert not stage.titles[-1].startswith("? ")


@pytest.mark.usefixtures("activated")
async def test_the_end_tells_how_to_continue_the_sessions_that_the_agent_can_reopen(tmp_path):
    directory = tmp_path / "a b"
    directory.mkdir()
    async with opened(keeper(), directory) as stage:
        await stage.send("milk")
        await stage.idle()
        first = stage.tab.session_id
        stage.app.action_new_session()
        await stage.until(lambda: stage.tab is stage.app.tabs[1] and stage.tab.is_open)
    told = f"To continue this session: accord --resume {first} --cwd '{directory}' -- tester\n"
    assert stage.app.farewell == told  # and not the unused one
    async with opened(keeper(), tmp_path) as stage:
        for text in ("milk", "bread"):
            await stage.send(text)
            await stage.idle()
            if text == "milk":
                stage.app.action_new_session()
                await stage.until(lambda: stage.tab is stage.app.tabs[1] and stage.tab.is_open)
        ids = [tab.session_id for tab in stage.app.tabs]
    assert stage.app.farewell == (
        "To continue these sessions:\n"
        f"  accord --resume {ids[0]} --cwd {tmp_path} -- tester  # About milk\n"
        f"  accord --resume {ids[1]} --cwd {tmp_path} -- tester  # About bread\n"
    )


@pytest.mark.parametrize(
    ("capabilities", "is_told"),
    [({}, False), ({"loadSession": True}, True), ({"sessionCapabilities": {"resume": {}}}, True)],
    ids=["neither", "load", "resume"],
)
async def test_how_to_continue_is_told_only_if_the_agent_can_reopen_a_session(tmp_path, capabilities, is_told):
    agent = ScriptedAgent(1, agentCapabilities=capabilities)
    agent.on("session/prompt", agent.reply("Hello"))
    async with opened(agent, tmp_path) as stage:
        await stage.send("Hi")
        await stage.idle()
    assert bool(stage.app.farewell) == is_told


@pytest.mark.usefixtures("activated")
def test_the_command_that_continues_a_session_is_quoted_and_names_the_agent(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = KnownAgent(name="node", command=["node", "my agent.js", "--token", "abc"], source="command")
    assert resume_command(given, "it's", str(tmp_path)) == (
        """accord --resume 'it'"'"'s' -- node 'my agent.js' --token '********'"""
    )
    preset = KnownAgent(name="gemini", command=["gemini", "--acp"], source="preset")
    assert resume_command(preset, "-1", "/other") == "accord gemini --resume=-1 --cwd /other"
    builtin = KnownAgent(name="accord", command=["accord", "agent"], source="built-in")
    assert resume_command(builtin, "01", str(tmp_path)) == "accord --resume 01"


@pytest.mark.parametrize("action", ["enter", "ctrl+f"], ids=["open", "fork"])
async def test_opening_a_session_from_an_unused_tab_leaves_no_empty_tab_behind(tmp_path, action):
    agent = keeper()
    async with opened(agent, tmp_path) as stage:
        await stage.send("milk")
        await stage.idle()
    async with opened(agent, tmp_path) as stage:
        unused = stage.tab
        await stage.press("f3")
        await stage.shows("Sessions", "About milk")
        await stage.press(action)
        await stage.until(lambda: len(stage.app.tabs) == 1 and stage.tab is not unused)


async def test_opening_a_session_keeps_a_tab_with_a_draft(tmp_path):
    agent = keeper()
    async with opened(agent, tmp_path) as stage:
        await stage.send("milk")
        await stage.idle()
    async with opened(agent, tmp_path) as stage:
        await stage.type("a draft")
        await stage.press("f3")
        await stage.shows("Sessions", "About milk")
        await stage.press("enter")
        await stage.shows("You said milk.")
        assert [tab.draft for tab in stage.app.tabs] == ["a draft", ""]


async def test_sessions_without_a_title_are_listed_last(tmp_path):
    agent = keeper()
    async with opened(agent, tmp_path) as stage:
        await stage.send("milk")
        await stage.idle()
        stage.app.action_new_session()
        await stage.until(lambda: stage.tab is stage.app.tabs[1] and stage.tab.is_open)
        await stage.press("f3")
        await stage.shows("Sessions", "About milk", stage.tab.session_id)
        page = stage.text.partition("Sessions")[2]
        assert page.index("About milk") < page.index(stage.tab.session_id)
