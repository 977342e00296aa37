"""`@` mentions of files in a prompt: their fuzzy completion, and the content that is sent for them."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

import msgspec

from accord.apps.console.attachments import guess_mime_type, read_attachment
from accord.apps.console.errors import InvalidUsage
from accord.apps.console.sanitizer import encodable, one_line
from accord.apps.console.screen.shutdown import BackgroundTasks
from accord.errors import UnusableRepository
from accord.local.git import GIT, escapes_tree, find_working_tree, git_environment
from accord.local.paths import Roots, expand_path, file_kind
from accord.local.processes import program_environment
from accord.session.capabilities import AgentCapabilities
from accord.session.content import Content, ResourceLink, Text

_MENTION = re.compile(r"""(?:(?<=\s)|^)@(?:"([^"\n]+)"|([^\s"]+))""")
_UNFINISHED = re.compile(r'(?:(?<=\s)|^)@(?:"([^"]*)|([^\s"]*))$')
_INCLUDED_BYTES = 256 * 1024


class Completion(msgspec.Struct, frozen=True):
    """A label with its meaning, and the text that replaces the last `length` characters."""

    label: str
    meaning: str
    text: str
    length: int


def best_matches(typed: str, paths: Sequence[str], most: int = 8) -> list[str]:
    """The paths that contain the typed characters in this order, the best match first."""
    characters = typed.casefold()
    if not characters:
        return sorted(paths, key=lambda path: (path.count("/"), path))[:most]
    scored = [(score, path) for path in paths if (score := match_score(characters, path)) is not None]
    scored.sort(key=lambda each: (-each[0], len(each[1]), each[1]))
    return [path for _, path in scored[:most]]


def match_score(characters: str, path: str) -> int | None:
    """Higher for adjacent characters, beginnings of words and the file's name; None if a character is missing."""
    text = path.casefold()
    name = text.rfind("/") + 1
    found = text.find(characters, name)
    if found >= 0:
        return 1000 - (found - name) + (200 if found == name else 0)
    found = text.find(characters)
    if found >= 0:
        return 700 - found
    score, index, last = 0, 0, -2
    for character in characters:
        index = text.find(character, index)
        if index < 0:
            return None
        score += 1
        if index == last + 1:
            score += 8
        if index == 0 or not text[index - 1].isalnum():
            score += 6
        if index >= name:
            score += 2
        last = index
        index += 1
    return score


def mention(path: str) -> str:
    """The mention of a path, quoted if necessary."""
    return f'@"{path}"' if any(character.isspace() for character in path) else f"@{path}"


def mention_completions(before: str, files: Sequence[str]) -> list[Completion] | None:
    """The files that match the mention before the cursor; None if there is no mention."""
    match = _UNFINISHED.search(before)
    if match is None:
        return None
    typed = match[1] if match[1] is not None else match[2]
    matches = best_matches(typed, files)
    return [Completion(one_line(path, 120), "", f"{mention(path)} ", len(match[0])) for path in matches]


def pasted_file(text: str) -> str | None:
    """The existing file that a pasted text names, as terminals paste a dropped file; None for any other text."""
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


def find_mentions(text: str, cwd: Path) -> list[Path]:
    """The existing files and directories that a prompt mentions, each once."""
    paths: dict[Path, None] = {}
    for match in _MENTION.finditer(text):
        name = match[1] or match[2]
        for candidate in (name, name.rstrip(".,;:!?)]}'\"")):
            path = cwd / expand_path(candidate)
            if candidate and file_kind(path) is not None:
                paths[path.resolve()] = None
                break
    return list(paths)


def prompt_content(text: str, cwd: Path, can: AgentCapabilities) -> list[Content]:
    """The text, and a content block for each file that it mentions. Blocks: it reads the files."""
    return [Text(text=text), *(_file_content(path, can) for path in find_mentions(text, cwd))]


def _file_content(path: Path, can: AgentCapabilities) -> Content:
    link = ResourceLink(uri=path.as_uri(), name=encodable(path.name), mime_type=guess_mime_type(path))
    kind = _kind(path)
    if file_kind(path) != "file":
        return link  # opening a pipe or a device may block for ever, or steal data from another reader
    if (kind == "image" and not can.image) or (kind == "audio" and not can.audio):
        return link
    try:
        if kind == "file" and path.stat().st_size > _INCLUDED_BYTES:
            return link
        return read_attachment(kind, path).block(can)
    except (InvalidUsage, OSError):
        return link


def _kind(path: Path) -> Literal["file", "image", "audio"]:
    mime_type = guess_mime_type(path) or ""
    if mime_type in ("image/png", "image/jpeg", "image/gif", "image/webp"):
        return "image"
    return "audio" if mime_type.startswith("audio/") else "file"


MOST_FILES = 50_000
_MOST_BYTES = 16 * 1024 * 1024
_GIT_TIMEOUT = 5.0
_FRESH_SECONDS = 10.0
_SKIPPED = frozenset({".git", ".hg", ".svn", "__pycache__", "node_modules", ".venv", "venv", ".tox", ".mypy_cache"})


class MentionFiles:
    """The files to complete mentions with, by directory. `on_listed` is called when a directory has been listed."""

    def __init__(self, tasks: BackgroundTasks, on_listed: Callable[[], None]) -> None:
        self._tasks = tasks
        self._on_listed = on_listed
        self._files: dict[str, tuple[float, list[str]]] = {}
        """For each directory, the time when it was listed, and its files."""
        self._is_listing = False

    def files(self, cwd: str) -> list[str]:
        """The files known now."""
        return self._files.get(cwd, (0.0, []))[1]

    def refresh(self, cwd: str) -> None:
        """List the directory in the background, unless that was done a few seconds ago."""
        listed = self._files.get(cwd)
        is_fresh = listed is not None and time.monotonic() - listed[0] < _FRESH_SECONDS
        if not is_fresh and not self._is_listing:
            self._is_listing = True
            self._tasks.start(self._list(cwd))

    async def _list(self, cwd: str) -> None:
        files: list[str] = []
        try:
            files = await list_files(cwd)
        finally:
            self._is_listing = False
            self._files[cwd] = (time.monotonic(), files)
        self._on_listed()


async def list_files(cwd: str) -> list[str]:
    """Paths relative to the directory, without those that .gitignore excludes in a Git repository."""
    files = await _list_with_git(cwd)
    if files is None:
        files = await asyncio.to_thread(_walk, cwd)
    return sorted(files[:MOST_FILES])


async def _list_with_git(cwd: str) -> list[str] | None:
    """None if Git cannot be used, or if it could run programs that the repository names."""
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
        async with asyncio.timeout(_GIT_TIMEOUT):
            return await _read_paths(process)
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _git(cwd: str) -> tuple[str, Path, dict[str, str]]:
    """The program, the working tree, and an environment in which Git runs no other program."""
    ours = program_environment(Roots([os.path.realpath(cwd)]), os.environ)
    program = shutil.which("git", path=ours["PATH"])
    if program is None:
        raise FileNotFoundError("git")
    tree = find_working_tree(cwd)
    return program, tree, git_environment(tree, ours)


async def _read_paths(process: asyncio.subprocess.Process) -> list[str] | None:
    """The paths that it lists, up to the limit; None if it fails."""
    received, count, stream = bytearray(), 0, process.stdout
    while stream is not None and (data := await stream.read(1 << 16)):
        received += data
        count += data.count(b"\0")
        if count >= MOST_FILES or len(received) > _MOST_BYTES:
            received = received[: received.rfind(b"\0") + 1]
            break
    else:
        if await process.wait() != 0:
            return None
    names = [os.fsdecode(bytes(path)) for path in received.split(b"\0") if path]
    return [name for name in names if not escapes_tree(name.removesuffix("/"))]  # an index may name files outside


def _walk(cwd: str) -> list[str]:
    found: list[str] = []
    for directory, directories, names in os.walk(cwd):
        directories[:] = sorted(name for name in directories if name not in _SKIPPED and not name.startswith("."))
        found += [os.path.relpath(Path(directory) / name, cwd) for name in sorted(names)]
        if len(found) >= MOST_FILES:
            break
    return found
