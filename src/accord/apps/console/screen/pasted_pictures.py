"""Pictures pasted from the clipboard. A placeholder in the prompt stands for each; deleting it removes the picture."""

from __future__ import annotations

import re
from collections.abc import Callable

from accord.apps.console.attachments import MOST_BYTES
from accord.apps.console.clipboard import Picture, read_clipboard_picture
from accord.apps.console.screen.background_tasks import Notify
from accord.apps.console.screen.session import SessionTab
from accord.session.content import Content

__all__ = ["PastedPictures", "placeholder_at_end"]

_PLACEHOLDER = re.compile(r"\[picture [0-9]+, [0-9]+ kB\]")
_MOST_STORED = 4 * MOST_BYTES


def placeholder_at_end(text: str) -> int:
    """The length of the placeholder at the end of a text, or 0."""
    matches = [match for match in _PLACEHOLDER.finditer(text) if match.end() == len(text)]
    return len(matches[0][0]) if matches else 0


class PastedPictures:
    """The pictures pasted into this screen; if there are very many, the last ones."""

    def __init__(
        self,
        *,
        current: Callable[[], SessionTab],
        insert: Callable[[str], object],
        clipboard: Callable[[], str],
        accepts_images: Callable[[], bool],
        notify: Notify,
    ) -> None:
        self._current = current
        self._insert = insert
        self._clipboard = clipboard
        self._accepts_images = accepts_images
        self._notify = notify
        self._pictures: dict[str, Picture] = {}
        self._count = 0
        self._is_reading = False

    def contents(self, text: str) -> list[Content]:
        """The pictures whose placeholders are in a text, each once and in their order."""
        placeholders = dict.fromkeys(_PLACEHOLDER.findall(text))
        return [self._pictures[each].block() for each in placeholders if each in self._pictures]

    async def paste(self) -> None:
        """Insert the picture in the clipboard, or else the text that was copied on this screen."""
        tab = self._current()
        if self._is_reading:
            return
        self._is_reading = True
        try:
            picture = await read_clipboard_picture(tab.cwd)
        finally:
            self._is_reading = False
        if picture is None:
            self._paste_text()
        elif not self._accepts_images():
            self._notify("This agent does not accept images.", "warning")
        elif tab is self._current():
            self._insert(f"{self._store(picture)} ")
        else:
            tab.draft += f"{self._store(picture)} "

    def _paste_text(self) -> None:
        if text := self._clipboard():
            self._insert(text)
        else:
            self._notify("There is no picture in the clipboard. Terminals paste text, often with Ctrl+Shift+V.")

    def _store(self, picture: Picture) -> str:
        self._count += 1
        placeholder = f"[picture {self._count}, {max(1, len(picture.content) // 1000)} kB]"
        self._pictures[placeholder] = picture
        while sum(len(each.content) for each in self._pictures.values()) > _MOST_STORED:
            del self._pictures[next(iter(self._pictures))]
        return placeholder
