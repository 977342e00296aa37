"""A picture is asked of whatever program the platform has for its clipboard. The programs here are small scripts."""

from __future__ import annotations

import stat
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from accord.apps.console.errors import ConsoleFailed
from accord.apps.console.screen import pasted_pictures
from accord.apps.console.screen.pasted_pictures import Picture, read_clipboard_picture

if sys.platform == "win32":
    pytest.skip("scripts as programs", allow_module_level=True)

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put a program on the path; nothing else is there."""
    directory = tmp_path / "programs"
    directory.mkdir()
    monkeypatch.setenv("PATH", str(directory))
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"):
        monkeypatch.delenv(name, raising=False)

    def put(name: str, code: str) -> None:
        path = directory / name
        path.write_text(f"#!{sys.executable}\nimport sys, time\nout = sys.stdout.buffer\n{code}")
        path.chmod(path.stat().st_mode | stat.S_IEXEC)

    return put


def offering(**kinds: bytes) -> str:
    """A program that lists what there is, and gives what is asked for."""
    held = {f"image/{kind}" if kind != "text" else "text/plain": content for kind, content in kinds.items()}
    return f"""
held = {held!r}
asked = sys.argv[-1]
if asked in ("TARGETS", "--list-types"):
    out.write("\\n".join(["TIMESTAMP", *held]).encode())
elif asked in held:
    out.write(held[asked])
else:
    sys.exit(1)
"""


@pytest.mark.parametrize(("program", "variable"), [("xclip", "DISPLAY"), ("wl-paste", "WAYLAND_DISPLAY")])
async def test_the_best_format_of_a_picture_is_taken(programs, monkeypatch, program, variable):
    monkeypatch.setenv(variable, ":0")
    programs(program, offering(gif=b"GIF89a...", png=PNG, text=b"a picture"))
    assert await read_clipboard_picture() == Picture("image/png", PNG)
    programs(program, offering(jpeg=b"\xff\xd8\xff\xe0 and so on"))
    picture = await read_clipboard_picture()
    assert picture is not None
    assert (picture.mime_type, picture.block().mime_type) == ("image/jpeg", "image/jpeg")


@pytest.mark.parametrize("code", [offering(text=b"words"), offering(png=b"no picture at all"), "sys.exit(1)"])
async def test_whatever_is_no_picture_is_none(programs, monkeypatch, code):
    monkeypatch.setenv("DISPLAY", ":0")
    programs("xclip", code)
    assert await read_clipboard_picture() is None


@pytest.mark.parametrize(
    ("variables", "missing"),
    [
        (["DISPLAY"], "without xclip (the package xclip)"),
        (["WAYLAND_DISPLAY", "DISPLAY"], "without wl-paste (the package wl-clipboard) or xclip (the package xclip)"),
        (["WSL_DISTRO_NAME"], "without powershell.exe"),
        ([], "neither WAYLAND_DISPLAY nor DISPLAY is set"),
    ],
)
async def test_what_is_missing_is_told(programs, monkeypatch, variables, missing):
    for name in variables:
        monkeypatch.setenv(name, ":0")
    with pytest.raises(ConsoleFailed) as failed:
        await read_clipboard_picture()
    assert missing in str(failed.value)
    assert failed.value.advice


async def test_a_picture_that_is_too_large_is_not_taken(programs, monkeypatch):
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(pasted_pictures, "MOST_BYTES", 1000)
    programs("xclip", offering(png=PNG))
    with pytest.raises(ConsoleFailed, match="larger than 16 MiB"):
        await read_clipboard_picture()
    endless = 'out.write(b"image/png") if sys.argv[-1] == "TARGETS" else [out.write(bytes(9999)) for _ in iter(int, 1)]'
    programs("xclip", endless)
    with pytest.raises(ConsoleFailed, match="larger than 16 MiB"):
        await read_clipboard_picture()


async def test_a_program_that_hangs_is_given_up(programs, monkeypatch):
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(pasted_pictures, "_PATIENCE", 0.05)
    programs("xclip", "time.sleep(60)")
    with pytest.raises(ConsoleFailed, match="xclip was given up"):
        await read_clipboard_picture()


@pytest.mark.parametrize(
    ("platform", "program", "said"),
    [
        ("darwin", "pngpaste", PNG),
        ("darwin", "osascript", b"\xc2\xabdata PNGf" + PNG.hex().upper().encode() + b"\xc2\xbb\n"),
        ("linux", "powershell.exe", b64encode(PNG) + b"\r\n"),
    ],
)
async def test_other_platforms_say_it_in_their_own_ways(programs, monkeypatch, platform, program, said):
    monkeypatch.setenv("WSL_DISTRO_NAME", "Debian")
    with monkeypatch.context() as patch:
        patch.setattr(pasted_pictures.sys, "platform", platform)
        programs(program, f"out.write({said!r})")
        assert await read_clipboard_picture() == Picture("image/png", PNG)
        programs(program, "")
        assert await read_clipboard_picture() is None
