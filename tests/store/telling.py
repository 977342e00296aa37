"""Short ways to fill a store and to look into it."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from accord.session import Transcript
from accord.session.updates import Patch
from accord.store import Claim, Owner, SessionRecord, Store
from tests.session.words import piece

OWNER = Owner.here()
_claims: WeakKeyDictionary[Any, dict[str, Claim]] = WeakKeyDictionary()


def kept(session_id: str = "s", cwd: str = "/repo", **rest: Any) -> SessionRecord:
    return SessionRecord(session_id, cwd, **rest)


def said(*texts: str, id: str | None = "m") -> list[Patch]:
    return [piece(text, id=id) for text in texts]


async def claimed(store: Store, session_id: str = "s") -> Claim:
    """The claim of somebody who has the session, each time the same; the store is asked only once."""
    claims = _claims.setdefault(store, {})
    if session_id not in claims:
        claims[session_id] = await store.claim(session_id, OWNER)
    return claims[session_id]


async def delete(store: Store, session_id: str = "s") -> None:
    """Delete a session, given back if it is `claimed`."""
    claim = _claims.get(store, {}).pop(session_id, None)
    if claim is not None:
        await store.release(claim)
    await store.delete(session_id)


async def read(store: Store, session_id: str = "s") -> list[Patch]:
    return [report async for page in store.read(session_id) for report in page]


async def transcript(store: Store, session_id: str = "s") -> Transcript:
    result = Transcript()
    for report in await read(store, session_id):
        result.apply(report)
    return result


async def text(store: Store, session_id: str = "s") -> str:
    return "".join([message.text for message in (await transcript(store, session_id)).messages.values()])


async def listed(store: Store, cwd: str | None = None) -> list[str]:
    return [each.session_id for each in (await store.list(cwd)).sessions]
