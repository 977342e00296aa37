"""What a prompt is made of: its text, wherever that comes from, and the files that go with it."""

from __future__ import annotations

import asyncio
import sys
from base64 import b64encode
from mimetypes import guess_type
from pathlib import Path
from typing import Literal

from msgspec import Struct

from accord.apps.console.errors import InvalidUsage
from accord.apps.console.sanitizer import encodable
from accord.local.files import read_file
from accord.local.paths import file_kind
from accord.session.capabilities import AgentCapabilities
from accord.session.content import Audio, Content, Image, Resource, ResourceLink
from accord.transports.stdio import shared_reader

MOST_BYTES = 16 * 1024 * 1024
"""More is too much for a prompt."""

# Python knows these by itself in no version or not in all; a table of the system's, which would, is not everywhere.
_MIME_TYPES = {
    ".flac": "audio/flac",
    ".m4a": "audio/mp4",
    ".oga": "audio/ogg",
    ".ogg": "audio/ogg",
    ".opus": "audio/ogg",
    ".webp": "image/webp",
}


class Attachment(Struct, frozen=True, kw_only=True):
    """A file as it was when the prompt was given."""

    kind: Literal["file", "image", "audio"]
    path: Path
    mime_type: str | None
    content: bytes

    def block(self, can: AgentCapabilities) -> Content:
        """As the agent can take it: a file that can't be included is linked; InvalidUsage for what it takes in no way."""
        uri = self.path.as_uri()
        if self.kind == "file" and not can.embedded_context:
            name = encodable(self.path.name)
            return ResourceLink(uri=uri, name=name, mime_type=self.mime_type, size=len(self.content))
        if self.kind == "file":
            try:
                return Resource(uri=uri, text=self.content.decode(), mime_type=self.mime_type)
            except UnicodeDecodeError:
                return Resource(uri=uri, blob=self._encoded, mime_type=self.mime_type)
        if not (can.image if self.kind == "image" else can.audio):
            what = "images" if self.kind == "image" else "audio"
            raise InvalidUsage(f"the agent takes no {what}", f"Attach {self.path.name} with --file, or leave it out")
        if self.kind == "image":
            return Image(data=self._encoded, mime_type=self.mime_type or "", uri=uri)
        return Audio(data=self._encoded, mime_type=self.mime_type or "")

    @property
    def _encoded(self) -> str:
        return b64encode(self.content).decode()


def guess_mime_type(path: Path) -> str | None:
    """By its name, the same on every machine for what agents mostly take."""
    return _MIME_TYPES.get(path.suffix.lower()) or guess_type(path.name)[0]


def read_attachment(kind: Literal["file", "image", "audio"], path: Path) -> Attachment:
    """The file; InvalidUsage when it can't be read, or is not what it is called."""
    mime_type = guess_mime_type(path)
    if kind != "file" and not (mime_type or "").startswith(f"{kind}/"):
        what = "an image" if kind == "image" else "a sound"
        raise InvalidUsage(f"{path} does not look like {what} by its name", "Give it a name that ends in its format")
    return Attachment(kind=kind, path=path.absolute(), mime_type=mime_type, content=_bytes_of(path))


def read_text_file(path: Path) -> str:
    """A prompt that stands in a file."""
    try:
        return _bytes_of(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidUsage(f"{path} is not written in UTF-8") from None


async def read_stdin(patience: float | None = None) -> str:
    """All of stdin; nothing if not even its first byte comes within `patience` seconds."""
    if sys.__stdin__ is None or sys.__stdin__.closed:
        return ""
    loop = asyncio.get_running_loop()
    begun: asyncio.Future[None] = loop.create_future()
    ended: asyncio.Future[None] = loop.create_future()
    received = bytearray()

    def arrived(piece: bytes) -> None:
        received.extend(piece)
        _settle(begun)
        if len(received) > MOST_BYTES:
            _settle(ended)

    def finished(error: OSError | None) -> None:
        _settle(begun)
        _settle(ended)

    reader = shared_reader(0, arrived, finished)
    try:
        await asyncio.wait((begun,), timeout=patience)
        if begun.done():
            await ended
    finally:
        reader.close()
    if len(received) > MOST_BYTES:
        raise InvalidUsage(
            "the prompt on stdin is longer than 16 MiB", "Write it to a file, and name that in the prompt"
        )
    return received.decode("utf-8", "replace")


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _bytes_of(path: Path) -> bytes:
    try:
        return read_file(path, MOST_BYTES)
    except OSError as error:
        advice = "A prompt that comes through a pipe is read from stdin" if file_kind(path) == "other" else ""
        raise InvalidUsage(f"{path} can't be read: {error.strerror or error}", advice) from None
