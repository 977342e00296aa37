from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from accord.errors import Malformed
from accord.schema import v2
from accord.schema.reader import Reader
from accord.schema.wire_values import Unknown
from tests.properties.wire_values import JSON, MESSAGE_TYPES, encoded, has_open_places, open_places, put, values

READERS = {id(expected): (Reader(expected), Reader(expected, strict=True)) for expected in MESSAGE_TYPES}
OPEN_TYPES = [expected for expected in MESSAGE_TYPES if has_open_places(expected)]
TAG_FIELDS = ["type", "sessionUpdate", "mode", "action", "outcome", "operation"]

# A strategy is made per type, and some types check that their members go together.
PATIENT = settings(
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow, HealthCheck.data_too_large]
)

expected_types = st.sampled_from(MESSAGE_TYPES)


def readers(expected: Any) -> tuple[Reader[Any], Reader[Any]]:
    return READERS[id(expected)]


def read_or_malformed(reader: Reader[Any], raw: bytes) -> Any:
    try:
        return reader.decode(raw, notes=[])
    except Malformed:
        return None


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every member and element of a parsed JSON value, as the object that holds it and its key."""
    found: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        found = [(value, key) for key in value]
    elif isinstance(value, list):
        found = [(value, index) for index in range(len(value))]
    return found + [place for holder, key in list(found) for place in places(holder[key])]


@settings(PATIENT, max_examples=100)
@given(expected_types, JSON)
def test_any_json_is_read_or_malformed(expected: Any, value: Any):
    for reader in readers(expected):
        read_or_malformed(reader, msgspec.json.encode(value))


@settings(PATIENT, max_examples=100)
@given(expected_types, st.binary(max_size=60))
def test_any_bytes_are_read_or_malformed(expected: Any, raw: bytes):
    for reader in readers(expected):
        read_or_malformed(reader, raw)


@settings(PATIENT, max_examples=150)
@given(st.data())
def test_a_message_with_anything_changed_is_read_or_malformed(data: st.DataObject):
    expected = data.draw(expected_types)
    value = msgspec.json.decode(encoded(data.draw(values(expected))))
    for _ in range(data.draw(st.integers(1, 3))):
        found = places(value)
        assume(found)
        holder, key = data.draw(st.sampled_from(found))
        holder[key] = data.draw(JSON | st.just([{}]) | st.sampled_from([{field: "x"} for field in TAG_FIELDS]))
    tolerant, strict = readers(expected)
    read = read_or_malformed(tolerant, msgspec.json.encode(value))
    if read is not None:
        assert tolerant.decode(encoded(read)) == read, "what was read once is read again as the same"
    if read_or_malformed(strict, msgspec.json.encode(value)) is not None:
        assert read is not None, "strict mode takes nothing that the tolerant one refuses"


@settings(PATIENT, max_examples=150)
@given(st.data())
def test_a_message_with_any_part_cut_out_or_broken_is_read_or_malformed(data: st.DataObject):
    expected = data.draw(expected_types)
    raw = encoded(data.draw(values(expected)))
    start = data.draw(st.integers(0, len(raw)))
    end = data.draw(st.integers(start, min(len(raw), start + 4)))
    broken = raw[:start] + data.draw(st.sampled_from([b"", b"\xff", rb"\ud83d", b"null", b'"'])) + raw[end:]
    for reader in readers(expected):
        read_or_malformed(reader, broken)


@settings(PATIENT, max_examples=200)
@given(st.data())
def test_what_is_well_formed_comes_back_as_it_was_in_both_modes(data: st.DataObject):
    expected = data.draw(expected_types)
    value = data.draw(values(expected))
    notes: list[str] = []
    for reader in readers(expected):
        assert reader.decode(encoded(value), notes) == value
        assert reader.convert(msgspec.json.decode(encoded(value)), notes) == value
    assert notes == []


@settings(PATIENT, max_examples=200)
@given(st.data())
def test_an_unknown_variant_anywhere_leaves_everything_else_as_it_was(data: st.DataObject):
    expected = data.draw(st.sampled_from(OPEN_TYPES))
    value = copy.deepcopy(data.draw(values(expected)))
    found = list(open_places(value, expected))
    assume(found)
    holder, key = data.draw(st.sampled_from(found))
    there = getattr(holder, key) if isinstance(holder, msgspec.Struct) else holder[key]
    tag_field = there.__struct_config__.tag_field
    tag = data.draw(st.text(min_size=1, max_size=5).map(lambda text: "~" + text))
    put((holder, key), Unknown(tag, {tag_field: tag, **data.draw(st.dictionaries(st.just("extra"), JSON))}))
    tolerant, strict = readers(expected)
    notes: list[str] = []
    assert tolerant.decode(encoded(value), notes) == value
    assert notes == []
    with pytest.raises(Malformed):
        strict.decode(encoded(value))


def test_the_types_under_test_have_places_for_unknown_variants():
    state = v2.StateUpdate(state="idle", background=[v2.BackgroundTerminal(terminal_id="t")])
    message = v2.UpdateSessionNotification(session_id="s", update=state)
    assert list(open_places(message, v2.UpdateSessionNotification)) == [(message, "update"), (state.background, 0)]
