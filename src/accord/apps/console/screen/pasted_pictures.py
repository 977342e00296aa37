"""Pictures that were pasted: a few words stand for each in the prompt, and take it out of there when they are deleted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from accord.apps.console.attachments import MOST_BYTES
from accord.apps.console.clipboard import Picture, picture_in_clipboard

if TYPE_CHECKING:
    from accord.apps.console.screen.app import Console

__all__ = ["Pictures", "token_at_end"]

_TOKEN = re.compile(r"\[picture [0-9]+, [0-9]+ kB\]")
_KEPT_BYTES = 4 * MOST_BYTES


def token_at_end(text: str) -> int:
    """How many characters at the end of a text stand for a picture."""
    found = [each for each in _TOKEN.finditer(text) if each.end() == len(text)]
    return len(found[0][0]) if found else 0


class Pictures:
    """Those that were pasted into a screen; of very many, the last ones."""

    def __init__(self, app: Console) -> None:
        self._app = app
        self._kept: dict[str, Picture] = {}
        self._count = 0
        self._is_asking = False

    def named_in(self, text: str) -> list[Picture]:
        """The pictures whose words stand in a text, each once and in their order."""
        named = dict.fromkeys(_TOKEN.findall(text))
        return [self._kept[token] for token in named if token in self._kept]

    async def paste(self) -> None:
        """The picture that is in the clipboard; else the text that was copied here."""
        app, talk = self._app, self._app.talk
        if self._is_asking:
            return
        self._is_asking = True
        try:
            picture = await picture_in_clipboard(talk.cwd)
        finally:
            self._is_asking = False
        if picture is None:
            self._paste_text()
        elif app.agent.state == "ready" and not app.agent.client.agent.capabilities.image:
            app.tell("This agent takes no pictures.", "warning")
        elif talk is app.talk:
            app.prompt.insert(f"{self._keep(picture)} ")
        else:
            talk.draft += f"{self._keep(picture)} "

    def _paste_text(self) -> None:
        app = self._app
        if app.clipboard:
            app.prompt.insert(app.clipboard)
        else:
            app.tell("There is no picture in the clipboard. Text is pasted by the terminal, often with Ctrl+Shift+V.")

    def _keep(self, picture: Picture) -> str:
        self._count += 1
        token = f"[picture {self._count}, {max(1, len(picture.content) // 1000)} kB]"
        self._kept[token] = picture
        while sum(len(kept.content) for kept in self._kept.values()) > _KEPT_BYTES:
            del self._kept[next(iter(self._kept))]
        return token
