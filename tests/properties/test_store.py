"""Whatever is reported, and whenever it is written, a store gives back what makes the same transcript."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from accord.session import Patch, Text, Transcript
from accord.session.updates import MessageAppend, ToolCallPatch
from accord.store import MemoryStore, Owner, SessionRecord, SqliteStore, Store
from accord.store.journal_compaction import folded, joined
from accord.store.row_formats import packed, read_back, together
from tests.properties.test_transcript import BEGIN_TURN, REPORTS, assert_same, told

COMMIT = "commit"
# A journal has no turns: a message that is told in two of them has an id.
WORDS = REPORTS.filter(lambda report: report != BEGIN_TURN)
FEW_IDS = st.builds(
    MessageAppend,
    role=st.just("agent"),
    id=st.sampled_from([None, "1"]),
    content=st.builds(Text, st.sampled_from(["a", "b"])),
)
HISTORIES = st.lists(st.one_of(WORDS, FEW_IDS, FEW_IDS), max_size=25)
JSON_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=8,
)


def copy(history: list[Any]) -> list[Any]:
    """What a reader owns: folding changes it."""
    return [read_back(form, together(form, [entry]))[0] for form, entry in map(packed, history)]


@given(HISTORIES)
@settings(max_examples=200)
def test_joined_reports_make_an_equal_transcript(history: list[Any]):
    assert_same(told(joined(history)), told(history))


@given(HISTORIES, HISTORIES)
@settings(max_examples=300)
def test_folded_reports_make_an_equal_transcript_whatever_comes_after(history: list[Any], rest: list[Any]):
    assert_same(told([*folded(copy(history)), *rest]), told([*history, *rest]))
    assert_same(told([*history, *joined(folded(copy(rest)))]), told([*history, *rest]))


@given(HISTORIES)
@settings(max_examples=100)
def test_every_report_is_read_as_it_was_written(history: list[Any]):
    assert copy(history) == history


@given(JSON_VALUES)
@settings(max_examples=200)
def test_every_json_value_is_read_as_it_was_written(value: Any):
    report = ToolCallPatch(id="c", raw_input=value)
    assert copy([report]) == [report]


async def kept_and_read(store: Store, history: list[Any]) -> Transcript:
    await store.create(SessionRecord("s", "/repo"))
    claim = await store.claim("s", Owner.here())
    for report in history:
        if report == COMMIT:
            await store.commit(claim)
        else:
            store.append(claim, [report])
    transcript = Transcript()
    async for page in store.read("s"):
        for report in page:
            transcript.apply(report)
    await store.aclose()
    return transcript


SAVED = st.lists(st.one_of(WORDS, FEW_IDS, st.just(COMMIT)), max_size=25)


@given(SAVED)
@settings(max_examples=50)
def test_a_memory_store_gives_back_an_equal_transcript(history: list[Any]):
    expected: list[Patch] = [report for report in history if report != COMMIT]
    assert_same(asyncio.run(kept_and_read(MemoryStore(), history)), told(expected))


@given(SAVED)
@settings(max_examples=25)
def test_a_sqlite_store_gives_back_an_equal_transcript(history: list[Any]):
    expected: list[Patch] = [report for report in history if report != COMMIT]
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "s.db")
        assert_same(asyncio.run(kept_and_read(store, history)), told(expected))
