"""Messages in a transcript: upserts, pieces, and which message a piece without an id belongs to."""

from __future__ import annotations

import pytest

from accord.session import Image, Message, MessageChanged, MessageChunk, Plan, Text, Transcript
from accord.session.content import Annotations
from accord.session.entities import Notice
from accord.session.updates import (
    CommandsPatch,
    CompactionPatch,
    NoticePatch,
    PlanPatch,
    TerminalAppend,
    ToolCallPatch,
    UsagePatch,
)
from tests.session.words import apply_all, patch, piece, texts, tool_piece, whole


@pytest.fixture
def transcript() -> Transcript:
    return Transcript()


def content(transcript: Transcript, id: str = "m", role: str = "agent") -> list[str]:
    return texts(transcript.messages[role, id].content)


@pytest.mark.requirement("UPDATE-28", "UPDATE-21", "UPDATE-25")
def test_the_worked_case_of_the_prompt_turn_page(transcript: Transcript):
    transcript.apply(whole("A"))
    transcript.apply(piece("B", id="m"))
    assert content(transcript) == ["A", "B"]
    transcript.apply(whole("C"))
    assert content(transcript) == ["C"]
    transcript.apply(piece("D", id="m"))
    assert content(transcript) == ["C", "D"]


@pytest.mark.requirement("UPDATE-16")
def test_an_unknown_id_creates_and_a_known_one_patches(transcript: Transcript):
    first, second = apply_all(transcript, whole("A"), whole("B"))
    assert (first.created, second.created) == (True, False)
    assert content(transcript) == ["B"]
    assert len(transcript.timeline) == 1


@pytest.mark.requirement("UPDATE-17", "UPDATE-23")
def test_an_update_without_content_leaves_the_content(transcript: Transcript):
    apply_all(transcript, whole("A"), piece("B", id="m"), patch(meta={"seen": True}))
    assert content(transcript) == ["A", "B"]
    assert transcript.messages["agent", "m"].meta == {"seen": True}


@pytest.mark.requirement("UPDATE-18", "UPDATE-22")
@pytest.mark.parametrize("nothing", [None, []])
def test_null_and_an_empty_array_clear_the_content_and_its_chunks(transcript: Transcript, nothing: list[Text] | None):
    apply_all(transcript, whole("A"), piece("B", id="m"), patch(content=nothing))
    assert content(transcript) == []
    transcript.apply(piece("C", id="m"))
    assert content(transcript) == ["C"]


@pytest.mark.requirement("UPDATE-19")
def test_a_content_array_is_kept_block_by_block_as_it_was_sent(transcript: Transcript):
    transcript.apply(whole("A", "B"))
    assert content(transcript) == ["A", "B"]


def test_a_message_can_be_created_without_content(transcript: Transcript):
    change = transcript.apply(patch())
    assert isinstance(change, MessageChanged)
    assert change.created
    assert change.message == Message(role="agent", id="m")


@pytest.mark.requirement("UPDATE-26", "UPDATE-27")
def test_chunks_of_messages_with_ids_may_interleave(transcript: Transcript):
    changes = apply_all(transcript, *(piece(text, id=id) for text, id in zip("1234", "abab", strict=True)))
    assert [change.created for change in changes] == [True, True, False, False]
    assert (content(transcript, "a"), content(transcript, "b")) == (["13"], ["24"])


@pytest.mark.requirement("UPDATE-29", "AMB-52")
def test_one_id_is_three_messages_in_three_roles(transcript: Transcript):
    apply_all(transcript, *(piece(role, role=role, id="same") for role in ("user", "agent", "thought")))
    assert {key: message.text for key, message in transcript.messages.items()} == {
        ("user", "same"): "user",
        ("agent", "same"): "agent",
        ("thought", "same"): "thought",
    }


def test_text_chunks_that_follow_each_other_are_one_block(transcript: Transcript):
    apply_all(transcript, piece("Hel", id="m"), piece("lo", id="m"), piece("", id="m"))
    assert transcript.messages["agent", "m"].content == [Text("Hello")]


def test_chunks_with_something_beside_their_text_stay_blocks_of_their_own(transcript: Transcript):
    for_user = Text("b", annotations=Annotations(audience=["user"]))
    marked = Text("c", meta={"x": 1})
    image = Image(data="AAAA", mime_type="image/png")
    for block in (Text("a"), for_user, marked, Text("d"), Text("e"), image, Text("f")):
        transcript.apply(piece(block, id="m"))
    message = transcript.messages["agent", "m"]
    assert message.content == [Text("a"), for_user, marked, Text("de"), image, Text("f")]
    assert message.text == "abcdef"


def test_a_chunk_tells_its_own_text_and_the_message_it_belongs_to(transcript: Transcript):
    first, second = apply_all(transcript, piece("a", id="m"), piece("b", id="m"))
    assert isinstance(first, MessageChunk)
    assert (first.text, first.role, second.text) == ("a", "agent", "b")
    assert first.message is second.message is transcript.messages["agent", "m"]
    (third,) = apply_all(transcript, piece(Image(data="", mime_type="image/png"), id="m"))
    assert third.text == ""


def test_a_change_of_a_message_shows_it_as_it_was_whatever_came_later(transcript: Transcript):
    change = apply_all(transcript, whole("A"), piece("B", id="m"), patch(meta={"n": 1}), piece("C", id="m"))[2]
    assert texts(change.message.content) == ["A", "B"]
    assert content(transcript) == ["A", "B", "C"]
    transcript.apply(whole("Z", meta={"n": 2}))
    assert (change.message.text, change.message.meta) == ("AB", {"n": 1})


def test_changes_of_a_long_message_share_its_blocks(transcript: Transcript):
    """Text is put together once, however often something else about its message is reported in between."""
    changes = apply_all(
        transcript, *(report for n in range(100) for report in (piece(str(n), id="m"), patch(meta={"n": n})))
    )
    assert [len(change.message.content) for change in changes[1::2]] == list(range(1, 101))
    assert len({id(change.message._blocks) for change in changes[1::2]}) == 1


@pytest.mark.parametrize(
    ("before", "after", "added"),
    [
        (["a"], ["a"], []),
        (["a"], ["a", "b"], ["b"]),
        (["a"], ["ab"], ["b"]),
        (["a", "b"], ["abc"], ["c"]),
        (["ab"], ["a", "b", "c"], ["c"]),
        ([], ["a"], ["a"]),
        ([], [], []),
        (["ab"], ["a"], None),
        (["a"], ["b"], None),
        (["a"], [], None),
    ],
)
def test_a_change_says_what_it_added_when_it_only_added(
    transcript: Transcript, before: list[str], after: list[str], added: list[str] | None
):
    change = apply_all(transcript, whole(*before), whole(*after))[1]
    assert (None if change.added is None else texts(change.added)) == added


def test_only_what_stands_behind_an_equal_image_was_added(transcript: Transcript):
    image, other = Image(data="AAAA", mime_type="image/png"), Image(data="BBBB", mime_type="image/png")
    contents = ([image, Text("a")], [image, Text("ab"), other], [other, Text("ab"), other])
    _, longer, different = apply_all(transcript, *(patch(content=list(content)) for content in contents))
    assert longer.added == [Text("b"), other]
    assert different.added is None


@pytest.mark.requirement("AMB-72")
def test_chunks_without_an_id_are_one_message_while_nothing_comes_between(transcript: Transcript):
    apply_all(transcript, piece("Hel"), piece("lo"))
    assert [message.text for message in transcript.messages.values()] == ["Hello"]


@pytest.mark.requirement("AMB-72")
@pytest.mark.parametrize(
    "between",
    [
        piece("hm", role="thought"),
        piece("hm", role="user", id="u"),
        whole("hm", role="thought", id="t"),
        ToolCallPatch(id="c", title="Read"),
        tool_piece("x"),
        PlanPatch(plan=Plan(id="main")),
        CompactionPatch(id="k", status="in_progress"),
    ],
    ids=lambda report: type(report).__name__,
)
def test_another_role_a_tool_call_a_plan_or_a_compaction_ends_a_message_without_an_id(transcript: Transcript, between):
    apply_all(transcript, piece("before"), between, piece("after"))
    told = [message.text for (role, _), message in transcript.messages.items() if role == "agent"]
    assert told == ["before", "after"]


@pytest.mark.requirement("AMB-72")
def test_a_new_turn_ends_a_message_without_an_id(transcript: Transcript):
    transcript.apply(piece("before"))
    transcript.begin_turn()
    transcript.apply(piece("after"))
    assert [message.text for message in transcript.messages.values()] == ["before", "after"]


@pytest.mark.parametrize(
    "between",
    [
        UsagePatch(used=1, size=2),
        CommandsPatch(commands=[]),
        NoticePatch(notice=Notice(severity="info", title="hi")),
        TerminalAppend(id="t", data=b"x"),
    ],
    ids=lambda report: type(report).__name__,
)
def test_what_is_no_part_of_the_conversation_does_not_end_a_message(transcript: Transcript, between):
    apply_all(transcript, piece("Hel"), between, piece("lo"))
    assert [message.text for message in transcript.messages.values()] == ["Hello"]


@pytest.mark.parametrize(
    "refresh",
    [ToolCallPatch(id="c", status="completed"), ToolCallPatch(id="c", title="Read", creates=True), tool_piece("x")],
    ids=["tool_call_update", "tool_call", "piece"],
)
@pytest.mark.requirement("AMB-72")
def test_a_refresh_of_a_known_tool_call_does_not_end_a_message(transcript: Transcript, refresh):
    apply_all(transcript, ToolCallPatch(id="c", creates=True), piece("execute "), refresh, piece("now."))
    assert [message.text for message in transcript.messages.values()] == ["execute now."]


@pytest.mark.requirement("AMB-72")
def test_a_tool_call_that_begins_again_under_an_old_id_ends_a_message(transcript: Transcript):
    begun, ended = ToolCallPatch(id="c", creates=True, status="pending"), ToolCallPatch(id="c", status="completed")
    apply_all(transcript, begun, ended, piece("One."), begun, piece("Two."), ended, piece(" Three."))
    assert [message.text for message in transcript.messages.values()] == ["One.", "Two. Three."]


def test_a_new_state_of_a_known_plan_does_not_end_a_message(transcript: Transcript):
    plan = PlanPatch(plan=Plan(id="main"))
    apply_all(transcript, piece("First"), plan, piece("Hel"), plan, piece("lo"))
    assert [message.text for message in transcript.messages.values()] == ["First", "Hello"]


@pytest.mark.requirement("AMB-51")
def test_a_chunk_without_an_id_goes_on_with_the_message_that_had_one(transcript: Transcript):
    apply_all(transcript, piece("Hel", id="m"), piece("lo"))
    assert content(transcript) == ["Hello"]


@pytest.mark.requirement("AMB-51")
def test_chunks_with_ids_are_grouped_by_them_whatever_came_between(transcript: Transcript):
    apply_all(transcript, piece("Hel", id="m"), ToolCallPatch(id="c"), piece("lo", id="m"))
    assert content(transcript) == ["Hello"]


def test_a_whole_message_without_an_id_is_a_new_one_in_a_new_turn(transcript: Transcript):
    for text in ("one", "two"):
        transcript.begin_turn()
        transcript.apply(whole(text, role="user", id=None))
    assert [message.text for message in transcript.messages.values()] == ["one", "two"]


def test_made_up_ids_avoid_those_that_were_seen(transcript: Transcript):
    apply_all(transcript, piece("x", role="user", id="accord-1"), piece("y", role="agent", id="accord-2"))
    transcript.begin_turn()
    change = transcript.apply(piece("z", role="thought"))
    assert isinstance(change, MessageChunk)
    assert change.message.id == "accord-3"
    assert len({id for _, id in transcript.messages}) == 3


def test_a_piece_can_be_told_by_the_id_that_was_made_up_for_its_message(transcript: Transcript):
    change = transcript.apply(piece("Hel"))
    assert isinstance(change, MessageChunk)
    apply_all(transcript, ToolCallPatch(id="c"), piece("lo", id=change.message.id))
    assert change.message.text == "Hello"


def test_half_a_character_is_kept_as_it_came(transcript: Transcript):
    apply_all(transcript, piece("\ud83d", id="m"), piece("\ude00", id="m"), piece("\r\n", id="m"))
    assert transcript.messages["agent", "m"].text == "\ud83d\ude00\r\n"


class TestMeta:
    """What a message's `_meta` becomes; the same rule holds for tool calls, terminals, compactions and the info."""

    @pytest.mark.parametrize(
        ("told", "expected"),
        [
            ({"b": 2}, {"a": {"x": 1}, "b": 2}),
            ({"a": {"y": 1}}, {"a": {"y": 1}}),
            ({"a": None}, {}),
            ({}, {"a": {"x": 1}}),
            (None, None),
        ],
    )
    def test_it_is_patched_by_key(self, transcript: Transcript, told, expected):
        apply_all(transcript, patch(meta={"a": {"x": 1}}), patch(meta=told))
        assert transcript.messages["agent", "m"].meta == expected

    @pytest.mark.parametrize("told", [{"b": None}, {}, None])
    def test_an_object_replaces_it_where_the_version_says_so(self, transcript: Transcript, told):
        apply_all(transcript, patch(meta={"a": 1}), patch(meta=told, meta_replaces=True))
        assert transcript.messages["agent", "m"].meta == told

    def test_that_of_a_chunk_belongs_to_the_chunk(self, transcript: Transcript):
        change = transcript.apply(piece("x", id="m", meta={"a": 1}))
        assert change.patch.meta == {"a": 1}
        assert transcript.messages["agent", "m"].meta is None

    def test_the_sender_may_go_on_using_the_object(self, transcript: Transcript):
        told = {"a": 1}
        transcript.apply(patch(meta=told, meta_replaces=True))
        told["a"] = 2
        assert transcript.messages["agent", "m"].meta == {"a": 1}
