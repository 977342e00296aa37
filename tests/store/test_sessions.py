"""What every store does with sessions."""

from __future__ import annotations

from base64 import urlsafe_b64encode

import pytest

from accord.errors import InvalidParams, NotFound, Unencodable
from accord.store import SessionExists, SessionRecord, Store, StoreClosed
from tests.store.telling import claimed, delete, kept, listed, read, said, text

TIME = "2026-01-02T03:04:05.000006Z"


def at(second: int) -> str:
    return f"2026-01-01T00:00:{second:02}.000000Z"


async def test_a_session_is_found_as_it_was_created(store: Store):
    session = kept(
        additional_directories=["/lib"], title="Tidy up", created_at=TIME, updated_at=TIME, meta={"colour": [1, None]}
    )
    assert await store.create(session) == session
    assert await store.find("s") == session


async def test_a_session_that_is_not_there_is_not_found(store: Store):
    assert await store.find("s") is None


async def test_times_that_are_left_out_are_those_of_the_moment(store: Store):
    created = await store.create(kept())
    assert created.created_at is not None
    assert created.created_at == created.updated_at
    assert await store.find("s") == created


async def test_times_are_told_in_utc_whatever_the_zone_they_came_in(store: Store):
    created = await store.create(kept(created_at="2026-01-02T04:04:05.000006+01:00", updated_at="2026-01-02T03:04:06"))
    assert (created.created_at, created.updated_at) == (TIME, "2026-01-02T03:04:06.000000Z")


async def test_creating_a_session_twice_leaves_the_first_as_it_was(store: Store):
    first = await store.create(kept(title="First"))
    with pytest.raises(SessionExists, match="'s'"):
        await store.create(kept(title="Second"))
    assert await store.find("s") == first


async def test_an_update_replaces_what_is_kept_and_leaves_when_it_was_created(store: Store):
    await store.create(kept(title="Old", created_at=at(0), additional_directories=["/lib"]))
    changed = await store.update(
        await claimed(store), kept(title="New", cwd="/elsewhere", updated_at=at(9), meta={"a": 1})
    )
    assert changed == kept(title="New", cwd="/elsewhere", created_at=at(0), updated_at=at(9), meta={"a": 1})
    assert await store.find("s") == changed


async def test_an_update_never_turns_back_the_time(store: Store):
    await store.create(kept(created_at=at(0), updated_at=at(5)))
    assert (await store.update(await claimed(store), kept(updated_at=at(3)))).updated_at == at(5)


async def test_an_update_without_a_time_is_one_of_this_moment(store: Store):
    await store.create(kept(created_at=at(0)))
    assert ((await store.update(await claimed(store), kept())).updated_at or "") > at(0)


async def test_a_session_that_is_not_there_cannot_be_updated(store: Store):
    with pytest.raises(NotFound):
        await store.update(await claimed(store), kept())


async def test_what_is_kept_does_not_change_with_what_was_given_or_returned(store: Store):
    session = kept(additional_directories=["/lib"], meta={"a": 1})
    returned = await store.create(session)
    session.additional_directories.append("/b")
    assert returned.meta is not None
    returned.meta["b"] = 2
    found = await store.find("s")
    assert found is not None
    assert found.meta is not None
    assert (found.additional_directories, found.meta) == (["/lib"], {"a": 1})
    found.meta["c"] = 3
    (line,) = (await store.list()).sessions
    assert line.meta == {"a": 1}


async def test_what_cannot_be_written_about_a_session_is_refused(store: Store):
    with pytest.raises(Unencodable, match="SessionRecord"):
        await store.create(kept(meta={"a": object()}))
    assert await listed(store) == []


async def test_half_a_character_in_a_title_becomes_a_replacement(store: Store):
    assert (await store.create(kept(title="a\ud83d"))).title == "a\ufffd"
    (line,) = (await store.list()).sessions
    assert line.title == "a\ufffd"


async def test_sessions_are_listed_by_last_use(store: Store):
    for name, second in (("a", 1), ("b", 3), ("c", 2)):
        await store.create(kept(name, created_at=at(second)))
    assert await listed(store) == ["b", "c", "a"]
    store.append(await claimed(store, "a"), said("x"))
    assert await listed(store) == ["a", "b", "c"]


async def test_sessions_of_one_moment_are_listed_last_created_first(store: Store):
    for name in "abc":
        await store.create(kept(name, created_at=TIME))
    assert await listed(store) == ["c", "b", "a"]


async def test_a_list_can_be_of_one_directory(store: Store):
    for name, cwd in (("a", "/x"), ("b", "/x/y"), ("c", "/x")):
        await store.create(kept(name, cwd))
    assert await listed(store, "/x") == ["c", "a"]
    assert await listed(store, "/") == []


async def test_a_line_of_a_list_is_all_that_is_kept(store: Store):
    created = await store.create(kept(title="T", additional_directories=["/lib"], meta={"a": 1}))
    page = await store.list()
    assert page.sessions == [created]
    assert isinstance(page.sessions[0], SessionRecord)
    assert page.next_cursor is None


@pytest.mark.parametrize("cwd", [None, "/repo"])
async def test_pages_meet_every_session_once(store: Store, cwd: str | None):
    names = [f"s{number}" for number in range(7)]
    for number, name in enumerate(names):
        await store.create(kept(name, created_at=at(number // 3)))  # some of one moment
    seen: list[str] = []
    cursor = None
    sizes: list[int] = []
    while True:
        page = await store.list(cwd, cursor, limit=3)
        seen += [each.session_id for each in page.sessions]
        sizes.append(len(page.sessions))
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == names[::-1]
    assert sizes == [3, 3, 1]


async def test_a_session_used_or_deleted_meanwhile_disturbs_no_page(store: Store):
    for number, name in enumerate("abcde"):
        await store.create(kept(name, created_at=at(number)))
    first = await store.list(limit=2)
    await delete(store, "c")
    store.append(await claimed(store, "e"), said("x"))
    second = await store.list(cursor=first.next_cursor, limit=2)
    assert [each.session_id for each in first.sessions + second.sessions] == ["e", "d", "b", "a"]


async def test_a_page_that_is_exactly_full_is_the_last(store: Store):
    await store.create(kept("a"))
    await store.create(kept("b"))
    assert (await store.list(limit=2)).next_cursor is None


def encoded(text: str) -> str:
    return urlsafe_b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "x",
        "é",
        "a" * 10_000,
        *map(encoded, ["none", "[]", "null", '["a", "b"]', f'["a", {2**64}]', '["\\ud800", 1]']),
    ],
)
async def test_a_cursor_that_was_never_given_is_refused(store: Store, cursor: str):
    with pytest.raises(InvalidParams) as refused:
        await store.list(cursor=cursor)
    assert refused.value.field == "cursor"


async def test_a_page_has_room_for_one_session_at_least(store: Store):
    with pytest.raises(ValueError, match="limit"):
        await store.list(limit=0)


async def test_a_deleted_session_is_gone_with_its_history(store: Store):
    await store.create(kept())
    await store.create(kept("other"))
    store.append(await claimed(store), said("secret"))
    store.append(await claimed(store, "other"), said("kept"))
    await delete(store)
    assert await store.find("s") is None
    assert await listed(store) == ["other"]
    with pytest.raises(NotFound):
        await read(store)
    assert await text(store, "other") == "kept"


async def test_deleting_is_safe_to_do_twice(store: Store):
    await store.create(kept())
    await delete(store)
    await delete(store)
    await store.delete("never there")


async def test_a_session_created_again_begins_with_an_empty_history(store: Store):
    await store.create(kept())
    store.append(await claimed(store), said("old"))
    await delete(store)
    await store.create(kept())
    store.append(await claimed(store), said("new"))
    assert await text(store) == "new"


async def test_a_fork_has_the_history_and_goes_its_own_way(store: Store):
    await store.create(kept())
    store.append(await claimed(store), said("both "))
    forked = await store.fork("s", kept("f", "/elsewhere", title="Aside"))
    store.append(await claimed(store), said("first"))
    store.append(await claimed(store, "f"), said("second"))
    assert await store.find("f") is not None
    assert (forked.cwd, forked.title) == ("/elsewhere", "Aside")
    assert await text(store, "s") == "both first"
    assert await text(store, "f") == "both second"
    await delete(store)
    assert await text(store, "f") == "both second"


async def test_a_session_that_is_not_there_cannot_be_forked(store: Store):
    with pytest.raises(NotFound):
        await store.fork("s", kept("f"))
    assert await store.find("f") is None


async def test_a_fork_takes_no_other_sessions_place(store: Store):
    await store.create(kept())
    await store.create(kept("f"))
    with pytest.raises(SessionExists):
        await store.fork("s", kept("f"))


async def test_a_closed_store_refuses_everything(store: Store):
    await store.create(kept())
    claim = await claimed(store)
    await store.aclose()
    await store.aclose()
    with pytest.raises(StoreClosed):
        store.append(claim, said("x"))
    for call in (
        store.create(kept("t")),
        store.find("s"),
        store.claim("s", claim.owner),
        store.renew(claim),
        store.release(claim),
        store.update(claim, kept()),
        store.list(),
        store.commit(),
        store.commit(claim),
        store.fork("s", kept("f")),
        store.delete("s"),
        read(store),
    ):
        with pytest.raises(StoreClosed):
            await call


async def test_a_store_that_was_never_used_can_be_closed(store: Store):
    await store.aclose()
