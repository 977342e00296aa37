"""A command as a file, for clients that join the words of a command with blanks and give that to a shell (FN-72).

What no shell would take for anything else is sent as it is. The rest is written into a file of ours, and the command that
is sent is a shell with that file: the same two words to those who join and to those who don't.

The file's first act is to remove itself, and it ends if it can't. So a file that is still there was never run: the
client does not see our disk, and the words may be sent after all.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from contextlib import suppress
from pathlib import Path

from accord.agent.ran import Line
from accord.local.written_paths import kind_of

__all__ = ["Script", "is_inert", "written"]


def is_inert(words: list[str]) -> bool:
    """Whether a shell that is given the words joined by blanks makes the same words of them."""
    return all(shlex.quote(word) == word and word[0] != "=" for word in words) and "=" not in words[0]


def written(line: Line) -> Script | None:
    """The command as a file; None where the client can't see one: its directory is not on our disk, or there is no sh."""
    if sys.platform == "win32" or kind_of(Path(line.cwd)) != "directory":
        return None
    import tempfile  # noqa: PLC0415  # loads much, which an agent that only starts need not wait for

    name = re.sub(r"[^A-Za-z0-9]+", "-", line.shown).strip("-")[:32]  # so that a user recognises it
    descriptor, path = tempfile.mkstemp(prefix=f"accord-{name}-")
    with open(descriptor, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123  # a descriptor has no path
        command = line.shown if line.is_for_shell else f"exec {line.shown}"
        file.write(f"rm -- {path} || exit 126\n{command}\n")
    script = Script(path)
    if is_inert(script.words):
        return script
    script.remove()
    return None


class Script:
    """A file that runs a command once."""

    def __init__(self, path: str) -> None:
        self.words = ["/bin/sh", path]
        self._path = path

    @property
    def was_begun(self) -> bool:
        return not os.path.lexists(self._path)

    def remove(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._path)  # noqa: PTH108
