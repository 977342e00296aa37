"""Tool calls in a transcript: upserts with defaults, pieces, and copies that stay as they were."""

from __future__ import annotations

import pytest

from accord.session import Location, Message, ToolCall, ToolCallChanged, Transcript
from accord.session.updates import ToolCallPatch
from tests.session.words import apply_all, item, piece, texts, tool_piece


@pytest.fixture
def transcript() -> Transcript:
    return Transcript()


@pytest.mark.requirement("UPDATE-36", "UPDATE-38", "TOOL-07", "TOOL-08")
def test_an_unseen_id_creates_a_call_with_the_defaults(transcript: Transcript):
    change = transcript.apply(ToolCallPatch(id="c"))
    assert isinstance(change, ToolCallChanged)
    assert change.created
    call = transcript.tool_calls["c"]
    assert (call.title, call.name, call.kind, call.status) == (None, None, "other", "pending")
    assert (list(call.content), call.locations, call.raw_input, call.raw_output) == ([], [], None, None)
    assert not call.cancellable
    assert not call.finished


@pytest.mark.requirement("UPDATE-36", "UPDATE-37", "UPDATE-40", "TOOL-31")
def test_a_known_id_is_patched_and_what_was_left_out_stays(transcript: Transcript):
    apply_all(
        transcript,
        ToolCallPatch(id="c", title="Read a", kind="read", raw_input={"path": "/a"}, locations=[Location(path="/a")]),
        ToolCallPatch(id="c", status="in_progress"),
        ToolCallPatch(id="c", status="completed", raw_output=[1, 2]),
    )
    expected = ToolCall(
        id="c",
        title="Read a",
        kind="read",
        status="completed",
        locations=[Location(path="/a")],
        raw_input={"path": "/a"},
        raw_output=[1, 2],
    )
    assert transcript.tool_calls == {"c": expected}
    assert transcript.tool_calls["c"].finished


@pytest.mark.requirement("UPDATE-37", "AMB-50")
def test_null_returns_a_field_to_its_default(transcript: Transcript):
    apply_all(
        transcript,
        ToolCallPatch(
            id="c",
            title="t",
            name="n",
            kind="edit",
            status="failed",
            content=[item("x")],
            locations=[Location(path="/a", line=1)],
            raw_input=1,
            raw_output=2,
            cancellable=True,
            meta={"a": 1},
        ),
        ToolCallPatch(
            id="c",
            title=None,
            name=None,
            kind=None,
            status=None,
            content=None,
            locations=None,
            raw_input=None,
            raw_output=None,
            cancellable=None,
            meta=None,
        ),
    )
    assert transcript.tool_calls == {"c": ToolCall(id="c")}


@pytest.mark.requirement("UPDATE-39", "TOOL-32", "UPDATE-07")
def test_arrays_take_the_place_of_the_former_ones(transcript: Transcript):
    apply_all(
        transcript,
        ToolCallPatch(id="c", content=[item("a"), item("b")], locations=[Location(path="/a"), Location(path="/b")]),
        ToolCallPatch(id="c", content=[item("c")], locations=[Location(path="/c")]),
    )
    call = transcript.tool_calls["c"]
    assert texts(call.content) == ["c"]
    assert call.locations == [Location(path="/c")]
    transcript.apply(ToolCallPatch(id="c", content=[], locations=[]))
    assert (list(transcript.tool_calls["c"].content), transcript.tool_calls["c"].locations) == ([], [])


@pytest.mark.requirement("UPDATE-43", "UPDATE-44", "UPDATE-46", "TOOL-42")
def test_pieces_are_appended_to_what_is_there_and_replaced_with_it(transcript: Transcript):
    apply_all(transcript, ToolCallPatch(id="c", content=[item("a")]), tool_piece("b"), tool_piece("c"))
    assert texts(transcript.tool_calls["c"].content) == ["a", "b", "c"]
    apply_all(transcript, ToolCallPatch(id="c", content=[item("d")]), tool_piece("e"))
    assert texts(transcript.tool_calls["c"].content) == ["d", "e"]


@pytest.mark.requirement("UPDATE-45")
@pytest.mark.parametrize("nothing", [None, []])
def test_null_and_an_empty_array_clear_the_pieces_too(transcript: Transcript, nothing):
    apply_all(transcript, tool_piece("a"), ToolCallPatch(id="c", content=nothing), tool_piece("b"))
    assert texts(transcript.tool_calls["c"].content) == ["b"]


@pytest.mark.requirement("AMB-54")
def test_a_piece_for_an_unknown_call_creates_it(transcript: Transcript):
    """FN-06: a tool call that was never announced is shown all the same."""
    change = transcript.apply(tool_piece("a"))
    assert change.created
    assert transcript.tool_calls["c"].status == "pending"


@pytest.mark.requirement("AMB-54")
def test_a_second_creation_with_the_same_id_is_an_update(transcript: Transcript):
    apply_all(
        transcript,
        ToolCallPatch(id="c", title="a", kind="read", creates=True),
        ToolCallPatch(id="c", title="b", creates=True),
    )
    call = transcript.tool_calls["c"]
    assert (call.title, call.kind) == ("b", "read")
    assert len(transcript.timeline) == 1


@pytest.mark.requirement("TOOL-29")
def test_a_call_may_start_in_progress(transcript: Transcript):
    transcript.apply(ToolCallPatch(id="c", status="in_progress"))
    assert transcript.tool_calls["c"].status == "in_progress"


@pytest.mark.requirement("AMB-55", "TOOL-30")
def test_what_the_agent_says_after_the_end_of_a_call_is_applied(transcript: Transcript):
    apply_all(transcript, ToolCallPatch(id="c", status="completed"), tool_piece("late"))
    assert texts(transcript.tool_calls["c"].content) == ["late"]
    transcript.apply(ToolCallPatch(id="c", status="in_progress"))
    assert transcript.tool_calls["c"].status == "in_progress"


@pytest.mark.requirement("AMB-37")
def test_a_later_status_of_the_agent_wins_over_our_own_cancelled(transcript: Transcript):
    apply_all(transcript, ToolCallPatch(id="c", status="in_progress"), ToolCallPatch(id="c", status="cancelled"))
    assert transcript.tool_calls["c"].finished
    transcript.apply(ToolCallPatch(id="c", status="completed"))
    assert transcript.tool_calls["c"].status == "completed"


@pytest.mark.requirement("AMB-56")
@pytest.mark.parametrize("value", [{}, [], "", 0, False, "text", [{"a": None}], 2**70, "\ud83d", 1.5])
def test_raw_fields_hold_any_json_value(transcript: Transcript, value: object):
    transcript.apply(ToolCallPatch(id="c", raw_input=value, raw_output=value))
    call = transcript.tool_calls["c"]
    assert (call.raw_input, call.raw_output) == (value, value)


def test_unknown_kinds_and_statuses_are_kept(transcript: Transcript):
    """FN-50: an unknown enum value is kept as it is; a call with an unknown status still runs."""
    transcript.apply(ToolCallPatch(id="c", kind="_acme", status="napping"))
    call = transcript.tool_calls["c"]
    assert (call.kind, call.status, call.finished) == ("_acme", "napping", False)


def test_every_change_shows_the_call_as_it_was_then(transcript: Transcript):
    changes = apply_all(
        transcript,
        ToolCallPatch(id="c", title="one"),
        tool_piece("a"),
        ToolCallPatch(id="c", status="in_progress", meta={"n": 1}),
        tool_piece("b"),
        ToolCallPatch(id="c", title="two", status="completed", content=[item("z")], meta={"n": 2}),
        tool_piece("y"),
    )
    shown = [(change.call.title, change.call.status, "".join(texts(change.call.content))) for change in changes]
    assert shown == [
        ("one", "pending", ""),
        ("one", "pending", "a"),
        ("one", "in_progress", "a"),
        ("one", "in_progress", "ab"),
        ("two", "completed", "z"),
        ("two", "completed", "zy"),
    ]
    assert [change.call.meta for change in changes][2:5] == [{"n": 1}, {"n": 1}, {"n": 2}]


def test_the_sender_may_go_on_using_its_lists(transcript: Transcript):
    content, locations = [item("a")], [Location(path="/a")]
    transcript.apply(ToolCallPatch(id="c", content=content, locations=locations))
    content.append(item("b"))
    locations.clear()
    call = transcript.tool_calls["c"]
    assert (texts(call.content), len(call.locations)) == (["a"], 1)


def test_pieces_share_one_storage_however_many_they_are(transcript: Transcript):
    """Every change shows its own items, and yet there is one list: that is why pieces cost the same from first to last."""
    changes = apply_all(transcript, *(tool_piece(str(n)) for n in range(1000)))
    assert [len(change.call.content) for change in changes] == list(range(1, 1001))
    assert len({id(change.call.content._storage) for change in changes}) == 1


def test_calls_stand_in_the_timeline_where_they_first_appeared(transcript: Transcript):
    apply_all(
        transcript,
        piece("a"),
        ToolCallPatch(id="c"),
        piece("b"),
        ToolCallPatch(id="d"),
        ToolCallPatch(id="c", title="x"),
    )
    shown = [place.text if isinstance(place, Message) else getattr(place, "id", None) for place in transcript.timeline]
    assert shown == ["a", "c", "b", "d"]
    assert transcript.timeline[1] is transcript.tool_calls["c"]
