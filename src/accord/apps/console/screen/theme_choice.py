"""The choice of a colour theme: the page that shows each one, and the file that keeps the choice for the next start.

Law: the latest choice counts. One made on the screen holds until the setting (`theme` in config.toml, or ACCORD_THEME)
changes; `--theme` is for one start and changes neither.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from textual import on
from textual.css.stylesheet import Stylesheet
from textual.widgets import OptionList

from accord.apps.console.screen.context import ScreenContext
from accord.apps.console.screen.pages.choice_page import ChoicePage, Entry
from accord.apps.console.screen.themes import default_theme, theme_names
from accord.local.files import SavedContent, SavedFile

_DEFAULT = ""
"""The id of the entry that removes the choice."""


class StyleSheet(Stylesheet):
    """A style sheet that is read again only when a variable has changed: Textual asks for it at each start."""

    _is_outdated = False

    def set_variables(self, variables: dict[str, str]) -> None:
        if variables != self._variables:
            super().set_variables(variables)
            self._is_outdated = True

    def parse(self) -> None:
        super().parse()
        self._is_outdated = False

    def reparse(self) -> None:
        if self._is_outdated:
            super().reparse()
            self._is_outdated = False


class _SavedTheme(SavedContent):
    theme: str | None = None
    setting: str | None = None
    """The setting at the time of the choice."""


class ThemePage(ChoicePage):
    """A page to choose a theme. `preview` is called with the theme that is selected.

    Returns the name of a theme, an empty text for the default, or None.
    """

    hint = "↑↓ try · Enter choose · Esc back"

    def __init__(self, current: str, default: Entry, preview: Callable[[str], None]) -> None:
        super().__init__("Theme", [default, *(Entry(name, name) for name in theme_names())], current=current)
        self.add_class("preview")
        self._preview = preview

    @on(OptionList.OptionHighlighted)
    def preview(self) -> None:
        if self.selected is not None:
            self._preview(self.selected.id)


class ThemeController:
    """Chooses the theme: at the start, while the user tries themes, and for good. `show` sets it on the screen."""

    def __init__(self, screen: ScreenContext, show: Callable[[str], None]) -> None:
        self._screen = screen
        self._options = options = screen.options
        self._show = show
        self._file = None if options.state is None else SavedFile(options.state / "theme.json", _SavedTheme, "theme")
        self.current = options.theme or self._saved() or self._default
        """The theme to start with; later the one that was chosen."""

    @property
    def _default(self) -> str:
        """The theme without a choice."""
        return self._options.theme_setting or default_theme(os.environ)

    def _saved(self) -> str | None:
        """The theme of the last choice, if it still counts. A file that can't be read is as if there were none."""
        try:
            saved = _SavedTheme() if self._file is None else self._file.read()
        except ValueError:
            return None
        is_latest = saved.setting == self._options.theme_setting
        return saved.theme if is_latest and saved.theme in theme_names() else None

    async def choose(self) -> None:
        """`/theme`: let the user try the themes and choose one."""
        page = ThemePage(self.current, self._default_entry(), self._preview)
        chosen = await self._screen.ask_page(page)
        if chosen is not None:
            self.current = chosen or self._default
            self._save(chosen or None)
        self._show(self.current)

    def _default_entry(self) -> Entry:
        return Entry(_DEFAULT, "default", self._default)

    def _preview(self, name: str) -> None:
        self._show(name or self._default)

    def _save(self, name: str | None) -> None:
        if self._file is None:
            return
        try:
            with self._file.edit() as saved:
                saved.theme, saved.setting = name, self._options.theme_setting
        except (OSError, ValueError) as error:
            self._screen.tell(f"Used until you quit, and not saved: {error}", "warning")
            return
        what = f"{name} is saved for the next start" if name else f"No choice is saved: {self._default} is the default"
        self._screen.tell(f"{what}.")
