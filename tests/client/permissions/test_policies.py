from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.client.permissions import policies
from accord.client.permissions.policies import Policy, allow_all, allow_kinds, ask, decide, deny, reject_all
from accord.client.permissions.saved_answers import remember
from accord.dialects.v1 import V1
from accord.session import Transcript
from accord.session.content import Text
from accord.session.entities import ContentItem, Diff, FileChange, Location, ToolCall
from accord.session.requests import (
    CommandSubject,
    PermissionAnswer,
    PermissionOption,
    PermissionRequest,
    ToolCallSubject,
)
from accord.session.snapshots import SnapshotList
from accord.session.updates import ToolCallChanged, ToolCallPatch
from accord.session.value import UNSET, Unknown
from tests import virtual_clock

ALL = ("allow_always", "allow_once", "reject_always", "reject_once")


def request(*kinds: str, session_id: str = "s", subject: Any = None, **call: Any) -> PermissionRequest:
    """Each option's id is its kind."""
    call = {"id": "c", "title": "Write a.py", "kind": "edit"} | call
    return PermissionRequest(
        session_id=session_id,
        title=call["title"] or None,
        subject=subject or ToolCallSubject(call=ToolCallPatch(**call)),
        options=[PermissionOption(id=kind, name=kind, kind=kind) for kind in kinds],
    )


def always(option_id: str) -> Policy:
    """A person who always chooses the same."""

    async def policy(asked: PermissionRequest) -> PermissionAnswer:
        return PermissionAnswer(outcome="selected", option_id=option_id)

    return policy


async def choice(policy: Policy, asked: PermissionRequest) -> str:
    """The option's id, or the outcome without one."""
    answer = await decide(policy, asked)
    return answer.option_id or answer.outcome


# Rules


async def test_everything_is_allowed_once_if_that_is_offered():
    assert await choice(allow_all, request(*ALL)) == "allow_once"
    assert await choice(allow_all, request("reject_once", "allow_always")) == "allow_always"


async def test_everything_is_rejected_once_if_that_is_offered():
    assert await choice(reject_all, request(*ALL)) == "reject_once"
    assert await choice(reject_all, request("allow_once", "reject_always")) == "reject_always"
    assert await choice(reject_all, request("allow_once")) == "cancelled"


async def test_where_nobody_can_answer_nothing_is_allowed_and_nothing_decided_for_good():
    """FN-43: a headless client approves the first option."""
    assert await choice(deny, request(*ALL)) == "reject_once"
    assert await choice(deny, request("allow_once", "reject_always")) == "cancelled"


@pytest.mark.requirement("AMB-58")
async def test_where_nothing_is_offered_the_answer_is_cancelled():
    for policy in (allow_all, reject_all, deny, always("allow_once"), ask(lambda asked: True)):
        assert await decide(policy, request()) == PermissionAnswer(outcome="cancelled")


@pytest.mark.requirement("AMB-58", "COMPAT-06")
async def test_an_option_of_a_kind_that_is_not_known_is_never_chosen_by_a_rule():
    """FN-44: anything but a known allow is a no."""
    odd = ("allow_forever", "_allow", "ALLOW_ONCE", "allow", "")
    for policy in (allow_all, reject_all, deny, allow_kinds("edit")):
        assert await choice(policy, request(*odd)) == "cancelled"
        assert await choice(policy, request(*odd, "reject_once")) == "reject_once"


async def test_an_id_that_two_options_share_chooses_neither():
    asked = request("reject_once")
    asked.options += [PermissionOption(id="x", name="Yes", kind="allow_once")]
    asked.options += [PermissionOption(id="x", name="No", kind="reject_always")]
    assert await choice(allow_all, asked) == "reject_once"
    assert await choice(always("x"), asked) == "reject_once"


async def test_chosen_kinds_are_allowed_and_the_rest_is_for_another_policy():
    reading = allow_kinds("read", "search")
    assert await choice(reading, request(*ALL, kind="read")) == "allow_once"
    assert await choice(reading, request(*ALL, kind="edit")) == "reject_once"
    assert await choice(allow_kinds("read", otherwise=always("allow_always")), request(*ALL)) == "allow_always"


def test_a_kind_that_no_agent_may_use_can_not_be_chosen():
    with pytest.raises(ValueError, match="unknown tool kind 'raed': expected read, edit"):
        allow_kinds("read", "raed")
    allow_kinds("_draw")


@pytest.mark.parametrize("kind", [UNSET, None, "", "READ", "_read"])
async def test_a_kind_that_was_not_said_is_not_allowed(kind: Any):
    assert await choice(allow_kinds("read"), request(*ALL, kind=kind)) == "reject_once"


async def test_a_command_is_of_the_kind_execute_and_an_unknown_subject_of_none():
    command = CommandSubject(command="ls", cwd="/")
    assert await choice(allow_kinds("execute"), request(*ALL, subject=command)) == "allow_once"
    unknown = Unknown(tag="rocket", raw={"kind": "execute"})
    assert await choice(allow_kinds("execute", "other"), request(*ALL, subject=unknown)) == "reject_once"


@pytest.mark.requirement("PERM-03", "AMB-57")
async def test_a_request_is_completed_with_what_is_known_of_its_tool_call():
    transcript = Transcript()
    transcript.apply(ToolCallPatch(id="c", title="Read a.py", kind="read", raw_input={"path": "a.py"}))
    asked = request(*ALL, title=UNSET, kind=UNSET, status="pending")
    assert isinstance(asked.subject, ToolCallSubject)
    change = transcript.apply(asked.subject.call)
    assert isinstance(change, ToolCallChanged)
    complete = policies.with_call(asked, change.call)
    assert isinstance(complete.subject, ToolCallSubject)
    assert (complete.title, complete.subject.call.kind) == ("Read a.py", "read")
    assert complete.subject.call.raw_input == {"path": "a.py"}
    assert await choice(allow_kinds("read"), complete) == "allow_once"
    assert await choice(allow_kinds("read"), asked) == "reject_once"


# Whatever a policy does


@pytest.mark.requirement("PERM-14", "AMB-58")
@pytest.mark.parametrize(
    "answer",
    [
        PermissionAnswer(outcome="selected", option_id="allow_forever"),
        PermissionAnswer(outcome="selected"),
        PermissionAnswer(outcome="approved", option_id="allow_once"),
        PermissionAnswer(outcome="", option_id="allow_once"),
        "allow_once",
        True,
        None,
    ],
)
async def test_an_answer_that_was_not_offered_is_a_no(answer: Any):
    """FN-44: an unknown outcome is not an approval."""

    async def policy(asked: PermissionRequest) -> PermissionAnswer:
        return answer

    assert await choice(policy, request(*ALL)) == "reject_once"
    assert await choice(policy, request("allow_once")) == "cancelled"


async def test_a_policy_that_fails_has_said_no_and_the_log_says_why(caplog: pytest.LogCaptureFixture):
    """FN-43: nothing is allowed because something broke."""

    async def policy(asked: PermissionRequest) -> PermissionAnswer:
        raise RuntimeError("no screen")

    with caplog.at_level(logging.ERROR, "accord.client"):
        assert await choice(policy, request(*ALL)) == "reject_once"
    assert "no screen" in caplog.text


async def test_a_policy_that_forgot_to_be_async_works():
    policy: Any = lambda asked: PermissionAnswer(outcome="selected", option_id="allow_once")  # noqa: E731
    assert await choice(policy, request(*ALL)) == "allow_once"


@pytest.mark.requirement("PERM-15", "PERM-18")
async def test_a_cancelled_wait_for_a_decision_is_cancelled_and_decides_nothing():
    """FN-14: whoever answers the agent with `cancelled` is not held up."""
    asking = asyncio.Event()
    ended = asyncio.Event()

    async def person(asked: PermissionRequest) -> str:
        asking.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "allow_once"

    deciding = asyncio.create_task(decide(remember(ask(person)), request(*ALL)))
    await asking.wait()
    deciding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await deciding
    assert ended.is_set()
    assert policies.cancelled() == PermissionAnswer(outcome="cancelled")


@pytest.mark.requirement("PERM-13", "PERM-14", "PERM-15", "PERM-18")
@given(
    st.lists(st.sampled_from((*ALL, "other")), max_size=4),
    st.sampled_from(("allow_all", "reject_all", "deny", "person")),
    st.sampled_from((*ALL, "other", "cancelled", "nonsense")),
)
def test_an_answer_is_one_of_the_offered_options_or_none_at_all(kinds: list[str], name: str, chosen: str):
    asked = request(*kinds)
    policy = ask(lambda asked: chosen) if name == "person" else getattr(policies, name)
    answer = asyncio.run(decide(policy, asked))
    wire = msgspec.json.decode(msgspec.json.encode(V1().result_to_wire(asked, answer)))
    if wire["outcome"]["outcome"] == "selected":
        assert kinds.count(wire["outcome"]["optionId"]) == 1
    else:
        assert wire == {"outcome": {"outcome": "cancelled"}}
    if name in ("reject_all", "deny"):
        assert not wire["outcome"].get("optionId", "").startswith("allow")


# Asking a person


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        ("allow_always", "allow_always"),
        ("custom", "custom"),
        (PermissionOption(id="reject_always", name="", kind=""), "reject_always"),
        (PermissionOption(id="made_up", name="", kind="allow_once"), "reject_once"),
        (PermissionAnswer(outcome="selected", option_id="allow_always"), "allow_always"),
        (PermissionAnswer(outcome="selected", option_id="made_up"), "reject_once"),
        (PermissionAnswer(outcome="cancelled"), "cancelled"),
        (True, "allow_once"),
        (False, "reject_once"),
        (None, "reject_once"),
        ("made_up", "reject_once"),
        (1, "reject_once"),
        ({"allow": True}, "reject_once"),
    ],
)
@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_a_callback_answers_with_an_option_its_id_or_yes_and_no(verdict: Any, expected: str, kind: str):
    async def person(asked: PermissionRequest) -> Any:
        return verdict

    policy = ask(person if kind == "async" else lambda asked: verdict)
    assert await choice(policy, request("custom", *ALL)) == expected
    answer = await policy(request("custom", *ALL))  # also where nobody checks it once more
    assert (answer.option_id or answer.outcome) == expected


@pytest.mark.parametrize("error", [RuntimeError, StopIteration, SystemExit, TimeoutError])
@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_a_callback_that_fails_has_said_no(error: type[BaseException], kind: str):
    """FN-43: nobody there is a no."""
    if (kind, error) == ("async", SystemExit):
        return  # that ends the program, as everywhere

    def fail(asked: PermissionRequest) -> bool:
        raise error

    async def fail_later(asked: PermissionRequest) -> bool:
        raise error

    policy = ask(fail if kind == "plain" else fail_later)
    assert await choice(policy, request(*ALL)) == "reject_once"
    assert await choice(policy, request("allow_once", "allow_always")) == "cancelled"


def test_a_person_who_is_late_has_said_no():
    """FN-44: a timeout is not an approval."""

    async def main() -> None:
        late = asyncio.Event()

        async def person(asked: PermissionRequest) -> str:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                late.set()  # so that the question can be taken off the screen
                raise
            return "allow_once"

        assert await choice(ask(person, deadline=60), request(*ALL)) == "reject_once"
        assert late.is_set()
        assert await choice(ask(person, deadline=7200), request(*ALL)) == "allow_once"

    virtual_clock.run(main())


async def test_a_plain_callback_does_not_hold_up_the_loop_nor_the_end_of_the_program():
    """FN-15: it runs in a thread, which may wait for a key for ever."""
    pressed = threading.Event()
    threads: list[threading.Thread] = []

    def person(asked: PermissionRequest) -> bool:
        threads.append(threading.current_thread())
        return pressed.wait()

    deciding = asyncio.create_task(decide(ask(person), request(*ALL)))
    assert await choice(ask(person, deadline=0.01), request(*ALL)) == "reject_once"
    pressed.set()
    assert (await deciding).option_id == "allow_once"
    assert all(thread.daemon for thread in threads)


async def test_an_object_with_an_async_call_and_a_function_that_returns_something_to_await_work():
    class Person:
        async def __call__(self, asked: PermissionRequest) -> str:
            return "allow_always"

    def delegate(asked: PermissionRequest) -> Any:
        return person(asked)

    person = Person()
    assert await choice(ask(person), request(*ALL)) == "allow_always"
    assert await choice(ask(delegate), request(*ALL)) == "allow_always"


async def test_two_questions_can_be_open_at_once():
    """FN-13: one pending permission blocks no other."""
    first = asyncio.Event()

    async def person(asked: PermissionRequest) -> bool:
        if asked.session_id == "one":
            await first.wait()
        return True

    policy = ask(person)
    waiting = asyncio.create_task(decide(policy, request(*ALL, session_id="one")))
    assert await choice(policy, request(*ALL, session_id="two")) == "allow_once"
    first.set()
    assert (await waiting).option_id == "allow_once"


# Remembering


class Person:
    """Counts how often it is asked."""

    def __init__(self, option_id: str) -> None:
        self.option_id = option_id
        self.asked = 0

    async def __call__(self, asked: PermissionRequest) -> PermissionAnswer:
        self.asked += 1
        return PermissionAnswer(outcome="selected", option_id=self.option_id)


@pytest.mark.parametrize(("first", "again"), [("allow_always", "allow_once"), ("reject_always", "reject_once")])
async def test_what_was_decided_for_good_is_not_asked_again(first: str, again: str):
    person = Person(first)
    policy = remember(person)
    assert await choice(policy, request(*ALL)) == first
    assert await choice(policy, request(*ALL)) == again
    assert await choice(policy, request(first)) == first
    assert person.asked == 1


@pytest.mark.parametrize("once", ["allow_once", "reject_once", "custom", "made_up"])
async def test_what_was_decided_once_is_asked_again(once: str):
    person = Person(once)
    policy = remember(person)
    for _ in range(2):
        await choice(policy, request(*ALL, "custom"))
    assert person.asked == 2
    assert policy.answers == []


async def test_a_remembered_choice_that_can_not_be_made_now_is_asked_for():
    person = Person("allow_always")
    policy = remember(person)
    await choice(policy, request(*ALL))
    person.option_id = "reject_once"
    assert await choice(policy, request("reject_once", "custom")) == "reject_once"
    assert person.asked == 2


@pytest.mark.parametrize(
    "other",
    [
        {"session_id": "another"},
        {"kind": "execute"},
        {"title": "Write b.py"},
        {"raw_input": {"command": "rm"}},
        {"locations": [Location(path="/b")]},
        {"content": [Diff(changes=[FileChange(operation="modify", path="/b")])]},
        {"subject": CommandSubject(command="ls", cwd="/")},
    ],
)
async def test_a_choice_counts_for_the_same_action_in_the_same_session_only(other: dict[str, Any]):
    person = Person("allow_always")
    policy = remember(person)
    await choice(policy, request(*ALL))
    await choice(policy, request(*ALL, id="another call"))
    assert person.asked == 1
    await choice(policy, request(*ALL, **other))
    assert person.asked == 2


async def test_the_order_of_members_does_not_make_another_action():
    person = Person("allow_always")
    policy = remember(person)
    await choice(policy, request(*ALL, raw_input={"a": 1, "b": 2}))
    await choice(policy, request(*ALL, raw_input={"b": 2, "a": 1}))
    assert person.asked == 1


@pytest.mark.parametrize("subject", [CommandSubject(command="ls", cwd="/b"), CommandSubject(command="rm", cwd="/a")])
async def test_a_command_is_remembered_with_its_directory(subject: CommandSubject):
    person = Person("allow_always")
    policy = remember(person)
    for _ in range(2):
        await choice(policy, request(*ALL, subject=CommandSubject(command="ls", cwd="/a")))
    await choice(policy, request(*ALL, subject=subject))
    assert person.asked == 2


async def test_what_the_agent_does_not_describe_is_never_remembered():
    person = Person("allow_always")
    policy = remember(person)
    for _ in range(2):
        await choice(policy, request(*ALL, title=UNSET, kind="edit"))
        await choice(policy, request(*ALL, subject=Unknown(tag="rocket", raw={})))
    assert person.asked == 4
    assert policy.answers == []


async def test_the_scope_can_be_wider():
    person = Person("allow_always")
    policy = remember(person, scope=policies.kind_of)
    await choice(policy, request(*ALL, title="Write a.py"))
    await choice(policy, request(*ALL, title="Write b.py", session_id="another"))
    assert person.asked == 1
    await choice(policy, request(*ALL, kind="execute"))
    assert person.asked == 2


async def test_choices_can_be_listed_and_forgotten():
    person = Person("allow_always")
    policy = remember(person)
    await choice(policy, request(*ALL))
    person.option_id = "reject_always"
    await choice(policy, request(*ALL, title="Write b.py"))
    await choice(policy, request(*ALL, session_id="another"))
    listed = [(kept.allows, kept.session_id, kept.kind, kept.title) for kept in policy.answers]
    assert listed == [
        (True, "s", "edit", "Write a.py"),
        (False, "s", "edit", "Write b.py"),
        (False, "another", "edit", "Write a.py"),
    ]
    policy.forget(policy.answers[0])
    assert [kept.allows for kept in policy.answers] == [False, False]
    policy.forget(session_id="s")
    assert [kept.session_id for kept in policy.answers] == ["another"]
    policy.forget()
    assert policy.answers == []
    asked_before = person.asked
    await choice(policy, request(*ALL))
    assert person.asked == asked_before + 1


async def test_the_number_of_choices_is_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("accord.client.permissions.saved_answers._MOST", 2)
    policy = remember(Person("allow_always"))
    for title in ("a", "b", "c"):
        await choice(policy, request(*ALL, title=title))
    assert [kept.title for kept in policy.answers] == ["b", "c"]


async def test_policies_can_be_put_together():
    person = Person("allow_always")
    policy = allow_kinds("read", otherwise=remember(person))
    assert await choice(policy, request(*ALL, kind="read")) == "allow_once"
    for _ in range(2):
        await choice(policy, request(*ALL, kind="edit"))
    assert person.asked == 1


def words(*texts: str) -> Any:
    return [ContentItem(content=Text(text=text)) for text in texts]


@pytest.mark.parametrize(
    ("streamed", "told", "raw_input"),
    [
        (words('{"path": "a"}'), {"content": words("May I?")}, {"path": "a"}),
        (words('{"path": "a"}'), {}, UNSET),
        (words('{"path": "a"}'), {"content": words("May I?"), "raw_input": {"path": "b"}}, {"path": "b"}),
        (words('{"path": "a"'), {"content": words("May I?")}, UNSET),
        (words('["a"]'), {"content": words("May I?")}, UNSET),
        (words("[" * 100_000), {"content": words("May I?")}, UNSET),
        (words('{"path": "a"}', "more"), {"content": words("May I?")}, UNSET),
        ([Diff(changes=[])], {"content": words("May I?")}, UNSET),
        ([], {"content": words("May I?")}, UNSET),
    ],
)
def test_arguments_that_a_call_has_streamed_as_text_are_told_with_the_question(streamed, told, raw_input):
    """kimi-code streams them as the content of the call, and its question replaces that."""
    before = ToolCall(id="c", content=SnapshotList(streamed))
    assert policies.with_streamed_input(ToolCallPatch(id="c", **told), before).raw_input == raw_input


def test_arguments_that_were_told_otherwise_are_not_looked_for_in_a_text():
    before = ToolCall(id="c", content=SnapshotList(words('{"path": "a"}')), raw_input={"path": "b"})
    told = ToolCallPatch(id="c", content=[])
    assert policies.with_streamed_input(told, before) is told
    assert policies.with_streamed_input(told, None) is told
