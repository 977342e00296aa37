"""A process that has a session; started by `test_owners`. It claims it, and then says something for each line it reads."""

from __future__ import annotations

import asyncio
import os
import sys

from accord.errors import Fenced, SessionInUse
from accord.store import Owner, SqliteStore
from tests.store.telling import said


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def main(path: str, end: str) -> None:
    store = SqliteStore(path)
    try:
        claim = await store.claim("s", Owner.here())
    except SessionInUse as refused:
        tell(f"refused {refused.pid}")
        return
    tell("ready")
    while line := await asyncio.to_thread(sys.stdin.readline):
        try:
            store.append(claim, said(line.removesuffix("\n")))
            await store.commit(claim)
            tell("kept")
        except Fenced as fenced:
            tell(fenced.message)
    if end == "closes":
        await store.aclose()
    elif end == "breaks off":
        os._exit(3)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
