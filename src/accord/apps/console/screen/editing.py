"""Files and prompts in the user's own editor."""

from __future__ import annotations

import os
import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from accord.apps.console.failures import ConsoleFailed
from accord.apps.console.sanitising import one_line
from accord.client.commands import Command

if TYPE_CHECKING:
    from accord.apps.console.screen.app import Console

__all__ = ["Editing", "editor_command"]

_PLUS = (
    "vi",
    "vim",
    "nvim",
    "view",
    "gvim",
    "nano",
    "pico",
    "emacs",
    "emacsclient",
    "micro",
    "kak",
    "joe",
    "jed",
    "mg",
    "ne",
)
_GOTO = ("code", "code-insiders", "codium", "cursor", "windsurf")
_COLON = ("hx", "helix", "subl", "zed", "sublime_text")


def editor_command(editor: str, path: str, line: int | None) -> list[str]:
    """The command that opens a file, at its line where the editor is known to take one; ValueError for a broken quote."""
    words = shlex.split(editor)
    name = Path(words[0]).name.removesuffix(".exe")
    if line is None:
        return [*words, path]
    if name in _GOTO:
        return [*words, "--goto", f"{path}:{line}"]
    if name in _COLON:
        return [*words, f"{path}:{line}"]
    return [*words, f"+{line}", path] if name in _PLUS else [*words, path]


class Editing:
    """The editor of a screen's user: `$VISUAL`, else `$EDITOR`, else vi."""

    def __init__(self, app: Console) -> None:
        self._app = app

    async def prompt(self) -> None:
        """What is saved in the editor is the new prompt; what was typed on the way there stands behind it."""
        app = self._app
        before = app.prompt.text
        with tempfile.TemporaryDirectory(prefix="accord-") as directory:
            path = Path(directory) / "prompt.md"
            path.write_text(before, "utf-8")
            if not await self.file(str(path), None):
                return
            written = path.read_text("utf-8", "replace").rstrip("\n")
        meanwhile = app.prompt.text
        if meanwhile.startswith(before):
            app.prompt.take(written + meanwhile[len(before) :])
        else:
            app.prompting.take_back(written)

    async def file(self, path: str, line: int | None) -> bool:
        """Whether the editor was there and ended well; if not, the user is told."""
        app = self._app
        editor = (os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi").strip()
        try:
            code = await app.handing_over.run(Command(editor_command(editor, path, line), cwd=app.talk.cwd))
        except FileNotFoundError:
            app.tell(f"There is no program {one_line(editor, 80)!r}. Set $VISUAL or $EDITOR to your editor.", "error")
            return False
        except (OSError, ValueError, ConsoleFailed) as error:
            app.tell(f"{one_line(editor, 80)} can't be opened: {error}. $VISUAL or $EDITOR names the editor.", "error")
            return False
        if code != 0:
            app.tell(f"{one_line(editor, 80)} ended with exit code {code}; nothing was taken over.", "warning")
        return code == 0
