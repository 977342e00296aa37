"""What every store does about claims: one owner of a session at a time."""

from __future__ import annotations

import pytest

from accord.errors import Fenced, NotFound, SessionInUse
from accord.store import Claim, Owner, Store
from tests.store.telling import kept, read, said, text

ONE = Owner.here()
OTHER = Owner("other", 4711, "elsewhere", ONE.boot)


async def tell(store: Store, claim: Claim) -> None:
    """Where a store does not know at once that the claim is over, the commit says so."""
    store.append(claim, said("lost"))
    await store.commit(claim)


async def test_a_claim_says_whose_it_is_and_since_when(store: Store):
    await store.create(kept())
    claim = await store.claim("s", ONE)
    assert (claim.session_id, claim.owner) == ("s", ONE)
    assert claim.epoch > 0
    assert claim.since.endswith("Z")


async def test_a_session_that_is_not_there_cannot_be_claimed(store: Store):
    with pytest.raises(NotFound):
        await store.claim("s", ONE)


async def test_an_owner_that_claims_again_has_the_same_claim(store: Store):
    await store.create(kept())
    assert await store.claim("s", ONE) == await store.claim("s", ONE)
    assert await store.claim("s", ONE) == await store.claim("s", ONE, take_over=True)


async def test_the_second_owner_is_told_who_has_it(store: Store):
    await store.create(kept())
    claim = await store.claim("s", ONE)
    with pytest.raises(SessionInUse, match=f"pid {ONE.pid} on {ONE.host}, since {claim.since}") as refused:
        await store.claim("s", OTHER)
    error = refused.value
    assert (error.session_id, error.pid, error.host, error.since) == ("s", ONE.pid, ONE.host, claim.since)
    store.append(claim, said("still mine"))
    await store.commit(claim)


async def test_two_sessions_can_have_two_owners(store: Store):
    for name, owner in (("a", ONE), ("b", OTHER)):
        await store.create(kept(name))
        store.append(await store.claim(name, owner), said(name))
    assert (await text(store, "a"), await text(store, "b")) == ("a", "b")


async def test_a_claim_that_was_released_can_be_had_by_another(store: Store):
    await store.create(kept())
    first = await store.claim("s", ONE)
    store.append(first, said("one "))
    await store.release(first)
    second = await store.claim("s", OTHER)
    assert second.epoch > first.epoch
    store.append(second, said("other"))
    await store.commit(second)
    await store.release(first)  # it is over, and nobody else's
    store.append(second, said("!"))
    assert await text(store) == "one other!"


async def test_what_was_appended_before_it_was_taken_over_is_kept_and_nothing_after(store: Store):
    await store.create(kept())
    old = await store.claim("s", ONE)
    store.append(old, said("before "))
    new = await store.claim("s", OTHER, take_over=True)
    store.append(new, said("new"))
    with pytest.raises(Fenced, match="pid 4711 on elsewhere") as refused:
        await tell(store, old)
    assert refused.value.session_id == "s"
    for _ in range(2):
        with pytest.raises(Fenced):
            store.append(old, said("lost"))
        with pytest.raises(Fenced):
            await store.commit(old)
    await store.commit(new)
    assert await text(store) == "before new"


async def test_a_commit_of_nothing_says_that_the_claim_is_over(store: Store):
    await store.create(kept())
    old = await store.claim("s", ONE)
    await store.claim("s", OTHER, take_over=True)
    with pytest.raises(Fenced):
        await store.commit(old)
    with pytest.raises(Fenced):
        store.append(old, said("lost"))


async def test_renewing_and_updating_need_the_claim(store: Store):
    await store.create(kept(title="Old"))
    old = await store.claim("s", ONE)
    await store.renew(old)
    new = await store.claim("s", OTHER, take_over=True)
    with pytest.raises(Fenced):
        await store.renew(old)
    with pytest.raises(Fenced):
        await store.update(old, kept(title="Lost"))
    await store.renew(new)
    assert (await store.update(new, kept(title="New"))).title == "New"


async def test_one_that_was_taken_over_can_take_it_back(store: Store):
    await store.create(kept())
    epochs: list[int] = []
    for owner in (ONE, OTHER, ONE):
        claim = await store.claim("s", owner, take_over=True)
        store.append(claim, said(f"{len(epochs)} "))
        epochs.append(claim.epoch)
    assert await text(store) == "0 1 2 "
    assert epochs == sorted({*epochs})


async def test_a_claimed_session_cannot_be_deleted(store: Store):
    await store.create(kept())
    claim = await store.claim("s", ONE)
    store.append(claim, said("x"))
    with pytest.raises(SessionInUse, match=f"pid {ONE.pid}"):
        await store.delete("s")
    assert await text(store) == "x"
    await store.release(claim)
    await store.delete("s")
    assert await store.find("s") is None


async def test_reading_listing_and_forking_need_no_claim(store: Store):
    await store.create(kept())
    claim = await store.claim("s", ONE)
    store.append(claim, said("x"))
    assert await text(store) == "x"
    assert [each.session_id for each in (await store.list()).sessions] == ["s"]
    await store.fork("s", kept("f"))
    forked = await store.claim("f", OTHER)
    store.append(forked, said("y"))
    assert (await text(store, "s"), await text(store, "f")) == ("x", "xy")


async def test_a_claim_of_a_session_that_was_deleted_is_none_of_one_with_its_id(store: Store):
    await store.create(kept())
    old = await store.claim("s", ONE)
    await store.release(old)
    await store.delete("s")
    await store.create(kept())
    new = await store.claim("s", ONE)
    assert new.epoch > old.epoch
    store.append(new, said("new"))
    with pytest.raises(Fenced):
        await tell(store, old)
    assert await text(store) == "new"


async def test_one_claim_that_is_over_costs_the_others_nothing(store: Store):
    claims: dict[str, Claim] = {}
    for name in "ab":
        await store.create(kept(name))
        claims[name] = await store.claim(name, ONE)
    await store.claim("a", OTHER, take_over=True)
    for name in "ab":
        try:
            store.append(claims[name], said(name))
        except Fenced:
            assert name == "a"
    await store.commit(claims["b"])
    assert await read(store, "a") == []
    assert await text(store, "b") == "b"
