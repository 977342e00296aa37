"""Syntax highlighting. Pygments is loaded with the first code, or by `load_lexers`, not with the screen."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.color import Color
from textual.strip import Strip

from accord.apps.console.screen.drawing.palette import Canvas, Palette, fold_text, readable_color

if TYPE_CHECKING:
    from pygments.lexer import Lexer


def draw_code(code: str, language: str, canvas: Canvas) -> list[Strip]:
    """Draw the lines on their own background; long lines are folded at the last cell."""
    ground = Style() if canvas.palette.code_background == "default" else Style(bgcolor=canvas.palette.code_background)
    edge = Segment(" ", ground)
    width = canvas.width - 2
    strips: list[Strip] = []
    for parts in _lines(code, language, canvas.palette):
        segments = [Segment(text, ground + style) for text, style in parts]
        cells = sum(cell_len(segment.text) for segment in segments)
        if cells <= width:
            strips.append(Strip([edge, *segments, Segment(" " * (width - cells + 1), ground)], width + 2))
            continue
        for part in fold_text(Text.assemble(*parts), width):
            strip = canvas.strip(part).apply_style(ground).adjust_cell_length(width, ground)
            strips.append(Strip([edge, *strip, edge], width + 2))
    return strips


def coloured_lines(code: str, language: str, palette: Palette) -> list[Text]:
    """One highlighted text for each line, without a background."""
    return [Text.assemble(*parts, no_wrap=True) for parts in _lines(code, language, palette)]


def load_lexers() -> None:
    """Load the lexers of common languages, so that the first code block does not wait for them."""
    for language in ("python", "bash", "json", "diff", "javascript"):
        _lexer(language)


@lru_cache(maxsize=256)
def language_of(path: str) -> str:
    """Guess the language of a file from its name."""
    from rich.syntax import Syntax  # noqa: PLC0415  # as all of Pygments

    return Syntax.guess_lexer(path)


def _lines(code: str, language: str, palette: Palette) -> list[list[tuple[str, Style]]]:
    code = code.expandtabs(4)
    lexer = _lexer(language)
    if lexer is None:
        from pygments.token import Token  # noqa: PLC0415

        plain = _style(palette, Token.Text)
        return [[(line, plain)] if line else [] for line in code.split("\n")]
    lines: list[list[tuple[str, Style]]] = [[]]
    for kind, text in lexer.get_tokens(code):
        style = _style(palette, kind)
        first, *others = text.split("\n")
        if first:
            lines[-1].append((first, style))
        lines += [[(part, style)] if part else [] for part in others]
    del lines[code.count("\n") + 1 :]  # the lexer appends a line
    return lines


@lru_cache(maxsize=128)
def _lexer(language: str) -> Lexer | None:
    from pygments.lexers import (  # noqa: PLC0415
        get_lexer_by_name,  # pyright: ignore[reportUnknownVariableType]  # its options
    )
    from pygments.util import ClassNotFound  # noqa: PLC0415

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=True)
    except ClassNotFound:
        return None


@lru_cache(maxsize=2048)
def _style(palette: Palette, kind: Any) -> Style:
    from rich.syntax import Syntax  # noqa: PLC0415

    style = Syntax.get_theme(palette.syntax).get_style_for_token(kind)
    color = style.color
    if color is not None and color.name == "yellow" and palette.syntax == "ansi_light":
        color = Style(color="magenta").color  # yellow can't be read on white in any terminal
    if color is not None and palette.grounds:
        color = readable_color(Color.from_rich_color(color), palette.grounds).rich_color
    return Style(color=color, bold=style.bold or None, italic=style.italic or None, dim=style.dim or None)
