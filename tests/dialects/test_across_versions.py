"""Whatever was reported in one version can be told in every other, in a form that its schema takes as it is."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from accord.dialects.dialect import Dialect
from accord.dialects.v1 import V1
from accord.dialects.v2 import V2
from accord.dialects.v2_draft import V2Draft
from accord.schema import v1, v2, v2_draft
from accord.schema.reading import Reader
from accord.session.transcript import Transcript
from accord.session.updates import UnknownReport
from tests.dialects.json_values import plain, raw
from tests.dialects.telling import ABLE, SESSION
from tests.properties.wire_values import encoded, values

DIALECTS: list[type[Dialect]] = [V1, V2, V2Draft]
UPDATES: dict[type[Dialect], Any] = {
    V1: v1.SessionUpdate,
    V2: v2.SessionUpdate,
    V2Draft: v2_draft.SessionUpdate,
}
BOUNDED = re.compile(r"(size|priority): ignored")
"""v2 has bounds for these where v1 has none, and leaves out what is beyond them."""


@pytest.mark.parametrize("heard_in", DIALECTS)
@pytest.mark.parametrize("told_in", DIALECTS)
@given(chosen=st.data())
@settings(max_examples=25)
def test_updates_of_one_version_are_told_in_another(
    heard_in: type[Dialect], told_in: type[Dialect], chosen: st.DataObject
):
    source, target, transcript = heard_in(client=ABLE), told_in(client=ABLE), Transcript()
    reader, notes = Reader(told_in.UPDATE_PARAMS), list[str]()
    for update in chosen.draw(st.lists(values(UPDATES[heard_in]), max_size=4)):
        params = heard_in.UPDATE_PARAMS(session_id=SESSION, update=update)
        for report in source.update_from_wire(Raw(encoded(params)))[1]:
            assert not isinstance(report, UnknownReport)
            for told in target.update_to_wire(SESSION, transcript.apply(report)):
                reader.decode(raw(plain(told)), notes)
                assert target.update_from_wire(raw(plain(told)))[0] == SESSION
    assert [note for note in notes if not BOUNDED.search(note)] == []
