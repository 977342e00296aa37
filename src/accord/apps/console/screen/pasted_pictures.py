"""Pictures pasted from the clipboard. A placeholder in the prompt stands for each; deleting it removes the picture.

Terminals do not pass pictures on: a program of the platform reads the clipboard. Nothing is written to disk, and both the
time and the size are limited.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TypeAlias

from msgspec import Struct

from accord.apps.console.attachments import MOST_BYTES
from accord.apps.console.errors import ConsoleFailed
from accord.apps.console.screen.agent import ScreenAgent
from accord.apps.console.screen.context import ScreenContext
from accord.apps.console.screen.widgets.prompt_editor import PLACEHOLDER
from accord.local.paths import Roots
from accord.local.processes import program_environment
from accord.session.content import Content, Image

_MOST_STORED = 4 * MOST_BYTES


class PastedPictures:
    """The pictures pasted into this screen; if there are very many, the last ones."""

    def __init__(self, screen: ScreenContext, agent: ScreenAgent) -> None:
        self._screen = screen
        self._agent = agent
        self._pictures: dict[str, Picture] = {}
        self._count = 0
        self._is_reading = False

    def contents(self, text: str) -> list[Content]:
        """The pictures whose placeholders are in a text, each once and in their order."""
        placeholders = dict.fromkeys(PLACEHOLDER.findall(text))
        return [self._pictures[each].block() for each in placeholders if each in self._pictures]

    async def paste(self) -> None:
        """Insert the picture in the clipboard, or else the text that was copied on this screen."""
        screen, agent, tab = self._screen, self._agent, self._screen.tab
        if self._is_reading:
            return
        self._is_reading = True
        try:
            picture = await read_clipboard_picture(tab.cwd)
        finally:
            self._is_reading = False
        if picture is None:
            self._paste_text()
        elif agent.state == "ready" and not agent.client.agent.capabilities.image:
            screen.tell("This agent does not accept images.", "warning")
        elif tab is screen.tab:
            screen.main.prompt.insert(f"{self._store(picture)} ")
        else:
            tab.draft += f"{self._store(picture)} "

    def _paste_text(self) -> None:
        if text := self._screen.clipboard:
            self._screen.main.prompt.insert_pasted(text)
        else:
            self._screen.tell("There is no picture in the clipboard. Terminals paste text, often with Ctrl+Shift+V.")

    def _store(self, picture: Picture) -> str:
        self._count += 1
        placeholder = f"[picture {self._count}, {max(1, len(picture.content) // 1000)} kB]"
        self._pictures[placeholder] = picture
        while sum(len(each.content) for each in self._pictures.values()) > _MOST_STORED:
            del self._pictures[next(iter(self._pictures))]
        return placeholder


_PATIENCE = 10.0
_FORMATS = {
    "image/png": (b"\x89PNG\r\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/webp": (b"RIFF",),
    "image/gif": (b"GIF8",),
}
"""The formats that agents take, the best first, each with how it begins."""
_HEXADECIMAL = re.compile(rb"data [A-Za-z]{4}([0-9A-F]+)")
_POWERSHELL = (
    "Add-Type -AssemblyName System.Windows.Forms; $i = [Windows.Forms.Clipboard]::GetImage(); if ($i) {"
    " $m = New-Object IO.MemoryStream; $i.Save($m, [Drawing.Imaging.ImageFormat]::Png);"
    " [Convert]::ToBase64String($m.ToArray()) }"
)


_Program: TypeAlias = Callable[..., Awaitable[bytes]]
"""Called with its arguments, it gives what a program writes."""
_Ask: TypeAlias = "Callable[[_Program], Awaitable[Picture | None]]"


class Picture(Struct, frozen=True):
    """As it was in the clipboard."""

    mime_type: str
    content: bytes

    def block(self) -> Image:
        return Image(data=b64encode(self.content).decode(), mime_type=self.mime_type)


async def read_clipboard_picture(cwd: str = ".") -> Picture | None:
    """None if something else is there; ConsoleFailed where it can't be asked, with what to install.

    No program is taken from this directory: what lies in a project is not to be run because somebody pastes.
    """
    environment = await asyncio.to_thread(_environment, cwd)
    for program, ask, _ in _ways():
        found = await asyncio.to_thread(shutil.which, program, path=environment["PATH"])
        if found is not None:
            try:
                async with asyncio.timeout(_PATIENCE):
                    return await ask(partial(_output, environment, found))
            except TimeoutError:
                raise ConsoleFailed(f"the clipboard did not answer: {program} was given up") from None
    missing = [f"{program} ({package})" for program, _, package in _ways()]
    if not missing:
        raise ConsoleFailed(
            "there is no clipboard here: neither WAYLAND_DISPLAY nor DISPLAY is set",
            "Save the picture to a file and write @ and its path.",
        )
    raise ConsoleFailed(f"a picture can't be pasted without {' or '.join(missing)}", "Install it, then try again.")


def _environment(cwd: str) -> dict[str, str]:
    return program_environment(Roots([os.path.realpath(cwd)]), os.environ)


def _ways() -> list[tuple[str, _Ask, str]]:
    """Each with its program and where that comes from."""
    if sys.platform == "darwin":
        return [("pngpaste", _by_pngpaste, "brew install pngpaste"), ("osascript", _by_osascript, "part of macOS")]
    if sys.platform == "win32" or os.environ.get("WSL_DISTRO_NAME"):
        return [("powershell.exe", _by_powershell, "part of Windows")]
    ways: list[tuple[str, _Ask, str]] = []
    if os.environ.get("WAYLAND_DISPLAY"):
        ways.append(("wl-paste", _by_wl_paste, "the package wl-clipboard"))
    if os.environ.get("DISPLAY"):
        ways.append(("xclip", _by_xclip, "the package xclip"))
    return ways


async def _by_wl_paste(program: _Program) -> Picture | None:
    offered = await program("--list-types")
    return await _taken(offered, lambda kind: program("--no-newline", "--type", kind))


async def _by_xclip(program: _Program) -> Picture | None:
    ask = ("-selection", "clipboard", "-out", "-target")
    return await _taken(await program(*ask, "TARGETS"), lambda kind: program(*ask, kind))


async def _taken(offered: bytes, get: Callable[[str], Awaitable[bytes]]) -> Picture | None:
    kinds = offered.decode("utf-8", "replace").split()
    for kind in _FORMATS:
        if kind in kinds:
            return _picture(await get(kind))
    return None


async def _by_pngpaste(program: _Program) -> Picture | None:
    return _picture(await program("-"))


async def _by_osascript(program: _Program) -> Picture | None:
    said = await program("-e", "get the clipboard as «class PNGf»")
    found = _HEXADECIMAL.search(said)
    return None if found is None else _picture(bytes.fromhex(found[1].decode()))


async def _by_powershell(program: _Program) -> Picture | None:
    said = await program("-NoProfile", "-STA", "-Command", _POWERSHELL)
    with suppress(NotBase64):
        return _picture(b64decode(said))
    return None


def _picture(content: bytes) -> Picture | None:
    """By how it begins, whatever it is called."""
    if len(content) > MOST_BYTES:
        raise ConsoleFailed("the picture in the clipboard is larger than 16 MiB, which is too much for a prompt")
    for mime_type, beginnings in _FORMATS.items():
        if content.startswith(beginnings):
            return Picture(mime_type, content)
    return None


async def _output(environment: Mapping[str, str], *command: str) -> bytes:
    """What a program writes; nothing if it fails, which these do when there is nothing of the kind."""
    process = await asyncio.create_subprocess_exec(
        *command,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    received = bytearray()
    try:
        while len(received) <= 2 * MOST_BYTES and (
            piece := await process.stdout.read(1 << 16)
        ):  # twice: it may be text
            received += piece
        if len(received) <= 2 * MOST_BYTES and await process.wait() != 0:
            return b""
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    return bytes(received)
