"""`@` mentions: the files that are offered for completion, and how a mentioned file is sent."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from accord.apps.console.attachments import mime_type_of, read_attachment
from accord.apps.console.errors import UsageWrong
from accord.apps.console.sanitizer import encodable
from accord.errors import UnusableRepository
from accord.local.git import GIT, escapes_tree, find_working_tree, git_environment
from accord.local.paths import Roots, expand_path, file_kind
from accord.local.processes import program_environment
from accord.session.capabilities import AgentCapabilities
from accord.session.content import Content, ResourceLink, Text

__all__ = ["best_matches", "content_of", "list_files", "match_score", "mentioned", "pasted_file", "quoted"]

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
    return line if line.startswith(("/", "~")) and file_kind(expand_path(line)) == "file" else None


def mentioned(text: str, cwd: Path) -> list[Path]:
    """The files and directories that are named and are there, each once."""
    paths: dict[Path, None] = {}
    for found in _MENTION.finditer(text):
        name = found[1] or found[2]
        for candidate in (name, name.rstrip(".,;:!?)]}'\"")):
            path = cwd / expand_path(candidate)
            if candidate and file_kind(path) is not None:
                paths[path.resolve()] = None
                break
    return list(paths)


def content_of(text: str, cwd: Path, can: AgentCapabilities) -> list[Content]:
    """The text as it was written, and a block for each file that it names, which is read now: this call blocks."""
    return [Text(text=text), *(_block(path, can) for path in mentioned(text, cwd))]


def _block(path: Path, can: AgentCapabilities) -> Content:
    link = ResourceLink(uri=path.as_uri(), name=encodable(path.name), mime_type=mime_type_of(path))
    kind = _kind(path)
    if file_kind(path) != "file":
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


MOST_FILES = 50_000
_MOST_BYTES = 16 * 1024 * 1024
_PATIENCE = 5.0
_SKIPPED = frozenset({".git", ".hg", ".svn", "__pycache__", "node_modules", ".venv", "venv", ".tox", ".mypy_cache"})


async def list_files(cwd: str) -> list[str]:
    """Paths relative to the directory; what .gitignore names is left out where Git can be asked."""
    listed = await _of_git(cwd)
    if listed is None:
        listed = await asyncio.to_thread(_walked, cwd)
    return sorted(listed[:MOST_FILES])


async def _of_git(cwd: str) -> list[str] | None:
    """None where Git can't be asked, also because looking could run programs that the repository names."""
    try:
        program, tree, environment = await asyncio.to_thread(_git, cwd)
        process = await asyncio.create_subprocess_exec(
            *(program, *GIT[1:], "-C", cwd, "ls-files", "-z", "--cached", "--others", "--exclude-standard"),
            cwd=tree,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except (OSError, UnusableRepository):
        return None
    try:
        async with asyncio.timeout(_PATIENCE):
            return await _paths(process)
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _git(cwd: str) -> tuple[str, Path, dict[str, str]]:
    """The program, the working tree, and the environment in which it runs nothing else."""
    ours = program_environment(Roots([os.path.realpath(cwd)]), os.environ)
    program = shutil.which("git", path=ours["PATH"])
    if program is None:
        raise FileNotFoundError("git")
    tree = find_working_tree(cwd)
    return program, tree, git_environment(tree, ours)


async def _paths(process: asyncio.subprocess.Process) -> list[str] | None:
    """The first of those that it lists; None when it fails."""
    received, found, stream = bytearray(), 0, process.stdout
    while stream is not None and (piece := await stream.read(1 << 16)):
        received += piece
        found += piece.count(b"\0")
        if found >= MOST_FILES or len(received) > _MOST_BYTES:
            received = received[: received.rfind(b"\0") + 1]
            break
    else:
        if await process.wait() != 0:
            return None
    names = [os.fsdecode(bytes(path)) for path in received.split(b"\0") if path]
    return [
        name for name in names if not escapes_tree(name.removesuffix("/"))
    ]  # an index may name any file of the user's


def _walked(cwd: str) -> list[str]:
    found: list[str] = []
    for directory, directories, names in os.walk(cwd):
        directories[:] = sorted(name for name in directories if name not in _SKIPPED and not name.startswith("."))
        found += [os.path.relpath(Path(directory) / name, cwd) for name in sorted(names)]
        if len(found) >= MOST_FILES:
            break
    return found


def best_matches(wanted: str, paths: Sequence[str], most: int = 8) -> list[str]:
    """The paths that have these letters in this order, the likeliest first."""
    letters = wanted.casefold()
    if not letters:
        return sorted(paths, key=lambda path: (path.count("/"), path))[:most]
    scored = [(score, path) for path in paths if (score := match_score(letters, path)) is not None]
    scored.sort(key=lambda each: (-each[0], len(each[1]), each[1]))
    return [path for _, path in scored[:most]]


def match_score(letters: str, path: str) -> int | None:
    """More for letters together, at the beginning of a word and in the file's name; None if one is missing."""
    text = path.casefold()
    name = text.rfind("/") + 1
    whole = text.find(letters, name)
    if whole >= 0:
        return 1000 - (whole - name) + (200 if whole == name else 0)
    whole = text.find(letters)
    if whole >= 0:
        return 700 - whole
    score, place, last = 0, 0, -2
    for letter in letters:
        place = text.find(letter, place)
        if place < 0:
            return None
        score += 1
        if place == last + 1:
            score += 8
        if place == 0 or not text[place - 1].isalnum():
            score += 6
        if place >= name:
            score += 2
        last = place
        place += 1
    return score
