"""Files that a prompt names with `@`: sent along as the agent can take them, included or linked."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from accord.apps.console.attachments import mime_type_of, read_attachment
from accord.apps.console.failures import UsageWrong
from accord.apps.console.sanitising import encodable
from accord.local.written_paths import kind_of, path_of
from accord.session.capabilities import AgentCapabilities
from accord.session.content import Content, ResourceLink, Text

__all__ = ["content_of", "mentioned", "pasted_file", "quoted"]

_MENTION = re.compile(r"""(?:(?<=\s)|^)@(?:"([^"\n]+)"|([^\s"]+))""")
_INCLUDED_BYTES = 256 * 1024


def quoted(path: str) -> str:
    """As it stands in a prompt."""
    return f'@"{path}"' if any(letter.isspace() for letter in path) else f"@{path}"


def pasted_file(text: str) -> str | None:
    """The file that a pasted text names, as terminals paste what is dropped onto them; None for any other text."""
    line = text.strip()
    if len(line) > 4096 or "\n" in line:
        return None
    if line.startswith("file://"):
        line = unquote(line[7:])
    elif len(line) > 1 and line[0] == line[-1] and line[0] in "'\"":
        line = line[1:-1]
    else:
        line = line.replace("\\ ", " ")
    return line if line.startswith(("/", "~")) and kind_of(path_of(line)) == "file" else None


def mentioned(text: str, cwd: Path) -> list[Path]:
    """The files and directories that are named and are there, each once."""
    paths: dict[Path, None] = {}
    for found in _MENTION.finditer(text):
        name = found[1] or found[2]
        for candidate in (name, name.rstrip(".,;:!?)]}'\"")):
            path = cwd / path_of(candidate)
            if candidate and kind_of(path) is not None:
                paths[path.resolve()] = None
                break
    return list(paths)


def content_of(text: str, cwd: Path, can: AgentCapabilities) -> list[Content]:
    """The text as it was written, and a block for each file that it names, which is read now: this call blocks."""
    return [Text(text=text), *(_block(path, can) for path in mentioned(text, cwd))]


def _block(path: Path, can: AgentCapabilities) -> Content:
    link = ResourceLink(uri=path.as_uri(), name=encodable(path.name), mime_type=mime_type_of(path))
    kind = _kind(path)
    if kind_of(path) != "file":
        return link  # to open a pipe or a device may last for ever, and take what another was to read
    if (kind == "image" and not can.image) or (kind == "audio" and not can.audio):
        return link
    try:
        if kind == "file" and path.stat().st_size > _INCLUDED_BYTES:
            return link
        return read_attachment(kind, path).block(can)
    except (UsageWrong, OSError):
        return link


def _kind(path: Path) -> Literal["file", "image", "audio"]:
    mime_type = mime_type_of(path) or ""
    if mime_type in ("image/png", "image/jpeg", "image/gif", "image/webp"):
        return "image"
    return "audio" if mime_type.startswith("audio/") else "file"
