"""Bearer tokens of users, in a file: made, listed, revoked, and looked up by a server.

Law: the file has the hashes of tokens, never a token. A token has 256 random bits, so a fast hash is enough. A file that
can't be read lets nobody in.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from accord.local.files import SavedContent, SavedFile
from accord.transports.transport import Identity

log = logging.getLogger("accord.tokens")

_PREFIX = "accord"
_NAME_LIMIT = 200  # characters
_NO_HASH = hashlib.sha256(b"").hexdigest()


class TokenRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a token: all but the token itself. The times are in seconds since 1970."""

    id: str
    name: str
    user: str
    hash: str
    created_at: float
    expires_at: float | None = None

    def is_expired(self, now: float) -> bool:
        return self.expires_at is not None and now >= self.expires_at

    @property
    def expiry(self) -> str:
        """The day and time, or `never`."""
        if self.expires_at is None:
            return "never"
        return f"{datetime.fromtimestamp(self.expires_at, UTC):%Y-%m-%d %H:%M} UTC"


class _Saved(SavedContent):
    tokens: list[TokenRecord] = []


class TokenFile:
    """Tokens in a file that only its owner can read. Several programs may use it at once.

    A server sees changes with the next request. Changing calls raise ValueError for a file that can't be read.
    """

    def __init__(self, path: str | os.PathLike[str], clock: Callable[[], float] = time.time) -> None:
        self.path = Path(path)
        self._file = SavedFile(self.path, _Saved, "tokens")
        self._clock = clock
        self._seen: tuple[int, int, int] | None = None
        self._by_id: dict[str, TokenRecord] = {}
        self._problem = ""

    def create(self, name: str, user: str | None = None, seconds: float | None = None) -> str:
        """A new token, which can't be shown again. Without `user` the name is the user's; it is valid for so long."""
        user = name if user is None else user
        for text in (name, user):
            if not text.strip() or len(text) > _NAME_LIMIT or not text.isprintable():
                raise ValueError(f"invalid name {text!r}: expected up to {_NAME_LIMIT} printable characters")
        if seconds is not None and seconds <= 0:
            raise ValueError("a token must be valid for some time")
        id = secrets.token_hex(6)
        token = f"{_PREFIX}_{id}_{secrets.token_urlsafe(32)}"
        now = self._clock()
        with self._file.edit() as file:
            if any(each.name == name for each in file.tokens):
                raise ValueError(f"there is a token with the name {name!r} already: revoke it, or choose another name")
            record = TokenRecord(
                id=id,
                name=name,
                user=user,
                hash=_hash(token),
                created_at=now,
                expires_at=None if seconds is None else now + seconds,
            )
            file.tokens.append(record)
        return token

    def list(self) -> list[TokenRecord]:
        """All tokens, expired ones included, in the order in which they were made."""
        return self._file.read().tokens

    def revoke(self, name: str) -> bool:
        """Delete the token with this name or id; returns whether there was one."""
        with self._file.edit() as file:
            before = len(file.tokens)
            file.tokens = [each for each in file.tokens if name not in (each.name, each.id)]
            return len(file.tokens) < before

    def identify(self, token: str) -> Identity | None:
        """Whose token it is; None for one that is unknown, expired or revoked. Takes as long for each of them."""
        self._refresh()
        id = token.removeprefix(f"{_PREFIX}_").partition("_")[0]
        record = self._by_id.get(id)
        is_same = hmac.compare_digest(_hash(token), _NO_HASH if record is None else record.hash)
        if record is None or not is_same or record.is_expired(self._clock()):
            return None
        return Identity(record.user, record.id)

    def is_valid(self, identity: Identity) -> bool:
        """Whether a token that was accepted earlier would be accepted now."""
        self._refresh()
        record = self._by_id.get(identity.token or "")
        return record is not None and record.user == identity.user and not record.is_expired(self._clock())

    def check(self) -> None:
        """ValueError if no token of the file is valid, or it can't be read: nobody could get in."""
        if all(each.is_expired(self._clock()) for each in self.list()):
            raise ValueError(
                f"no valid token in {self.path}: make one with `accord token create NAME --file {self.path}`"
            )

    def _refresh(self) -> None:
        """Read the file again if it has changed."""
        try:
            status = self.path.stat()
            seen = (status.st_mtime_ns, status.st_ino, status.st_size)
            if seen == self._seen:
                return
            tokens = self._file.read().tokens
        except (OSError, ValueError) as error:
            self._seen, self._by_id = None, {}
            if str(error) != self._problem:
                self._problem = str(error)
                log.error("no token is accepted: %s", error)  # noqa: TRY400  # a trace would say no more
            return
        self._seen, self._problem = seen, ""
        self._by_id = {each.id: each for each in tokens}


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
