"""Pictures pasted from the clipboard. A placeholder in the prompt stands for each; deleting it removes the picture."""

from __future__ import annotations

from accord.apps.console.attachments import MOST_BYTES
from accord.apps.console.clipboard import Picture, read_clipboard_picture
from accord.apps.console.screen.agent import ScreenAgent
from accord.apps.console.screen.context import ScreenContext
from accord.apps.console.screen.widgets.prompt_editor import PLACEHOLDER
from accord.session.content import Content

__all__ = ["PastedPictures"]

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
            self._screen.main.prompt.insert(text)
        else:
            self._screen.tell("There is no picture in the clipboard. Terminals paste text, often with Ctrl+Shift+V.")

    def _store(self, picture: Picture) -> str:
        self._count += 1
        placeholder = f"[picture {self._count}, {max(1, len(picture.content) // 1000)} kB]"
        self._pictures[placeholder] = picture
        while sum(len(each.content) for each in self._pictures.values()) > _MOST_STORED:
            del self._pictures[next(iter(self._pictures))]
        return placeholder
