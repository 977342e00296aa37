"""What every store does with what is reported in a session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from accord.errors import NotFound, Unencodable
from accord.session.content import Annotations, Image, Text
from accord.session.entities import ContentItem, Plan, PlanEntry
from accord.session.updates import MessageAppend, Patch, PlanPatch, TerminalAppend, ToolCallPatch, UnknownPatch
from accord.session.value import UNSET
from accord.store import Claim, Store, StoreClosed
from tests.session.words import piece, tool_piece
from tests.store.telling import OWNER, claimed, delete, kept, read, said, text

NEVER_GIVEN = Claim("s", OWNER, 1, "2026-01-02T03:04:05.000006Z")


async def test_a_new_session_has_an_empty_history(store: Store):
    await store.create(kept())
    assert await read(store) == []


async def test_what_was_appended_is_read_in_order(store: Store):
    await store.create(kept())
    reports: list[Patch] = [
        piece("Fix it", role="user", id="u"),
        ToolCallPatch(id="c", title="Look", raw_input={"path": "/a", "n": [1, 2.5, None]}),
        tool_piece("found"),
        TerminalAppend(id="t", data=b"\xff\x00"),
        PlanPatch(plan=Plan(id="p", entries=[PlanEntry("one")])),
        UnknownPatch(tag="_x", raw={"sessionUpdate": "_x", "deep": {"a": []}}),
        piece("Done", id="m"),
    ]
    store.append(await claimed(store), reports[:3])
    store.append(await claimed(store), reports[3:])
    assert await read(store) == reports


async def test_a_history_can_be_read_before_anybody_commits(store: Store):
    await store.create(kept())
    store.append(await claimed(store), said("a"))
    assert await text(store) == "a"
    store.append(await claimed(store), said("b"))
    assert await text(store) == "ab"


async def test_what_is_appended_while_reading_is_left_for_the_next_time(store: Store):
    await store.create(kept())
    store.append(await claimed(store), [tool_piece("before")])
    seen: list[Patch] = []
    async for page in store.read("s"):
        seen += page
        store.append(await claimed(store), [tool_piece("meanwhile")])
    assert seen == [tool_piece("before")]
    assert await read(store) == [tool_piece("before"), tool_piece("meanwhile")]


async def test_a_session_that_is_not_there_cannot_be_read_or_committed(store: Store):
    store.append(NEVER_GIVEN, said("lost"))
    with pytest.raises(NotFound) as missing:
        await store.commit(NEVER_GIVEN)
    assert missing.value.session_id == "s"
    with pytest.raises(NotFound):
        await read(store)
    await store.commit()


async def test_what_was_reported_before_a_session_was_created_is_not_its_own(store: Store):
    store.append(NEVER_GIVEN, said("lost"))
    await store.create(kept())
    assert await read(store) == []


async def test_reports_of_one_session_stay_out_of_another(store: Store):
    for name in "ab":
        await store.create(kept(name))
    for number in range(5):
        store.append(await claimed(store, "a"), said(f"a{number} "))
        store.append(await claimed(store, "b"), said(f"b{number} "))
    await store.commit(await claimed(store, "a"))
    assert await text(store, "a") == "a0 a1 a2 a3 a4 "
    assert await text(store, "b") == "b0 b1 b2 b3 b4 "


async def test_pieces_of_a_text_are_read_joined_whenever_they_were_committed(store: Store):
    await store.create(kept())
    for number in range(100):
        store.append(await claimed(store), said(f"{number} "))
        if number % 7 == 0:
            await store.commit(await claimed(store))
    assert await read(store) == said("".join([f"{number} " for number in range(100)]))


async def test_a_text_of_which_more_is_said_joins_with_nothing(store: Store):
    await store.create(kept())
    reports = [
        piece("a"),
        piece("b", meta={"traceparent": "00"}),
        piece(Text("c", annotations=Annotations(priority=1.0))),
        piece(Text("d", meta={"x": 1})),
        piece("e"),
    ]
    store.append(await claimed(store), reports)
    assert await read(store) == reports


async def test_a_long_history_comes_a_bounded_amount_at_a_time(store: Store):
    await store.create(kept())
    picture = Image(data="x" * 200_000, mime_type="image/png")
    for _ in range(10):
        store.append(await claimed(store), [piece(picture)])
    sizes = [len(page) async for page in store.read("s")]
    assert sum(sizes) == 10
    assert max(sizes) <= 2


async def test_a_history_deleted_while_it_is_read_is_not_taken_for_complete(store: Store):
    await store.create(kept())
    for _ in range(4):
        store.append(await claimed(store), [piece(Image(data="x" * 300_000, mime_type="image/png"))])
    pages = store.read("s")
    await anext(pages)
    await delete(store)
    await store.create(kept())
    with pytest.raises(NotFound):
        await anext(pages)


async def test_reading_ends_when_the_store_is_closed(store: Store):
    await store.create(kept())
    for _ in range(4):
        store.append(await claimed(store), [piece(Image(data="x" * 300_000, mime_type="image/png"))])
    pages = store.read("s")
    await anext(pages)
    await store.aclose()
    with pytest.raises(StoreClosed):
        await anext(pages)


async def test_words_are_taken_as_they_are_at_that_moment(store: Store):
    await store.create(kept())
    raw: dict[str, Any] = {"step": 1}
    call = ToolCallPatch(id="c", raw_input=raw)
    store.append(await claimed(store), [call])
    raw["step"] = 2
    call.title = "changed"
    assert await read(store) == [ToolCallPatch(id="c", raw_input={"step": 1})]


class Wired:
    def __wire__(self) -> dict[str, int]:
        return {"wired": 1}

    def __repr__(self) -> str:
        return "Wired()"  # names a test, which must have the same name in every process


class Exploding:
    def __wire__(self) -> None:
        raise RuntimeError("boom")


def endless() -> dict[str, Any]:
    circle: dict[str, Any] = {}
    circle["again"] = circle
    return circle


WRONG: Any = 5
UNWRITABLE: list[Patch] = [
    ToolCallPatch(id="c", raw_input=object()),
    ToolCallPatch(id="c", raw_input={"deep": [1j]}),
    ToolCallPatch(id="c", raw_output=Exploding()),
    ToolCallPatch(id="c", raw_output=endless()),
    ToolCallPatch(id="c", title=WRONG),
    MessageAppend(role="agent", id="m", content=Text(WRONG)),
    MessageAppend(role="agent", id=WRONG, content=Text("x")),
    MessageAppend(role="agent", id="m", content=WRONG),
    TerminalAppend(id="t", data=WRONG),
    PlanPatch(plan=WRONG),
]


@pytest.mark.parametrize("report", UNWRITABLE, ids=lambda report: type(report).__name__)
async def test_what_could_not_be_read_back_is_refused_and_nothing_of_its_batch_is_kept(store: Store, report: Patch):
    await store.create(kept())
    with pytest.raises(Unencodable, match=type(report).__name__):
        store.append(await claimed(store), [piece("with it"), report])
    store.append(await claimed(store), said("after"))
    assert await read(store) == said("after")


async def test_a_batch_that_breaks_off_is_not_kept(store: Store):
    def broken() -> Iterator[Patch]:
        yield piece("x")
        raise RuntimeError("boom")

    await store.create(kept())
    with pytest.raises(RuntimeError):
        store.append(await claimed(store), broken())
    assert await read(store) == []


@pytest.mark.parametrize(
    ("raw", "back"),
    [
        (2**70, 2**70),
        ({"n": -(2**90), "s": "a\ud83d"}, {"n": -(2**90), "s": "a\ufffd"}),
        ({"s": ["\ude00", {"\ud83d": 1}]}, {"s": ["\ufffd", {"\ufffd": 1}]}),
        ({1: 2}, {1: 2}),
        ((1, 2), [1, 2]),
        (Wired(), {"wired": 1}),
        (1e308, 1e308),
    ],
    ids=str,
)
async def test_odd_values_are_read_back_as_what_they_are_on_the_wire(store: Store, raw: Any, back: Any):
    await store.create(kept())
    store.append(await claimed(store), [*said("a"), ToolCallPatch(id="c", raw_output=raw), *said("b")])
    assert await read(store) == [*said("a"), ToolCallPatch(id="c", raw_output=back), *said("b")]


async def test_a_meta_whose_keys_are_no_text_is_read_back_with_keys_that_are(store: Store):
    await store.create(kept())
    numbered: Any = {1: "x"}
    store.append(await claimed(store), [ToolCallPatch(id="c", meta=numbered)])
    assert await read(store) == [ToolCallPatch(id="c", meta={"1": "x"})]


async def test_a_number_that_json_does_not_have_is_none_and_does_not_harm_the_rest(store: Store):
    await store.create(kept())
    store.append(await claimed(store), [ToolCallPatch(id="c", raw_output={"mean": float("nan"), "most": 2.5})])
    assert await read(store) == [ToolCallPatch(id="c", raw_output={"mean": None, "most": 2.5})]


async def test_halves_of_a_character_that_meet_become_it(store: Store):
    await store.create(kept())
    store.append(await claimed(store), said("a\ud83d", "\ude00b"))
    await store.commit(await claimed(store))
    assert await text(store) == "a😀b"
    store.append(await claimed(store), said("\ud83d"))
    assert await text(store) == "a😀b\ufffd"


async def test_absent_cleared_and_set_are_three_things(store: Store):
    await store.create(kept())
    patches: list[Patch] = [
        ToolCallPatch(id="a", title=UNSET, kind=None, status="failed"),
        ToolCallPatch(id="b", content=[], locations=None, meta=None),
        ToolCallPatch(id="c", content=[ContentItem(Text(""))], meta={}, meta_replaces=True, creates=True),
    ]
    store.append(await claimed(store), patches)
    assert await read(store) == patches


async def test_nothing_can_be_appended(store: Store):
    await store.create(kept())
    store.append(await claimed(store), [])
    await store.commit(await claimed(store))
    assert await read(store) == []
