"""What an author's code holds has no internals among its public names, and each name is in the reference."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from accord.agent import AgentToolCall, SyncToolCall, SyncTurn, Turn
from tests.agent.user import User, plain_agent

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "agent.md"

# A new name is a promise, and belongs into the reference.
AGENT = """asgi capabilities command connect is_on_this_machine login logout method new_session notification option prompt run
    serve sessions terminal_login"""
TURN = """allowed arguments ask ask_to_open can_ask client command content count_request count_tokens cwd files in_background
    is_cancelled is_over meta new_content next_prompt notice options pause_plans plan run say send servers session set_mode
    set_title stop text think token_usage tool_call trace usage whole_text"""
CALL = "allowed begin call diff end fail id locate replace say show status terminal update"
SESSION = """additional_directories cwd id is_closed is_new option options own_servers previous_options roots saved_answers
    send send_nowait set_options set_title state transcript"""
CLIENT = "capabilities info notify request"
FILES = "read write"


def public(value: Any) -> list[str]:
    return sorted(name for name in dir(value) if not name.startswith("_"))


async def test_what_an_author_holds_has_these_names_and_no_others():
    agent = plain_agent()
    held: dict[str, Any] = {}

    @agent.prompt
    async def work(turn: Turn) -> None:
        async with turn.tool_call("Look") as call:
            held.update(turn=turn, call=call, session=turn.session, client=turn.client, files=turn.files)

    @agent.command("plain", "The same in a thread")
    def work_in_thread(turn: SyncTurn) -> None:
        with turn.tool_call("Look") as call:
            held.update(turn=turn, call=call, session=turn.session, client=turn.client, files=turn.files)

    async with User(agent, 1) as user:
        session = await user.new_session()
        for prompt in ("x", "/plain"):
            await user.prompt(session, prompt)
            names = {key: public(value) for key, value in held.items()}
            expected = {"turn": TURN, "call": CALL, "session": SESSION, "client": CLIENT, "files": FILES}
            assert names == {key: text.split() for key, text in expected.items()}
    assert public(agent) == AGENT.split()


@pytest.mark.parametrize("names", [AGENT, TURN, CALL, SESSION, CLIENT, FILES])
def test_each_name_is_in_the_reference(names: str):
    code = " ".join(re.findall(r"`[^`\n]+`", REFERENCE.read_text(encoding="utf-8")))
    assert [name for name in names.split() if not re.search(rf"\b{name}\b", code)] == []


@pytest.mark.parametrize(
    ("ours", "plain"), [(Turn, SyncTurn), (AgentToolCall, SyncToolCall)], ids=["turn", "tool call"]
)
def test_a_class_for_threads_has_the_same_names_and_docstrings(ours: type, plain: type):
    for name in public(ours):
        assert getattr(plain, name).__doc__, name
        if plain.__dict__.get(name) is not None and hasattr(plain.__dict__[name], "__wrapped__"):
            assert getattr(plain, name).__doc__ == getattr(ours, name).__doc__
