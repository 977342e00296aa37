"""The text of a web page.

Law: the work is in proportion to the page, whatever is in it. No piece is looked at twice; where an end is missing, the
rest of the page belongs to what it should have ended. No tree is built: the rules by which browsers mend wrong nesting
are quadratic.
"""

from __future__ import annotations

import re
from html import unescape

__all__ = ["text_of_page"]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,30}")
_CHARACTER = re.compile(r"&(?:#[0-9]{1,7}(?![0-9])|#[xX][0-9A-Fa-f]{1,6}(?![0-9A-Fa-f])|[A-Za-z][A-Za-z0-9]{1,31});?")
_VALUE_OR_END = re.compile("""=[ \\t\\n\\r\\f]*(["'])|>""")
_NO_TEXT = {
    name: re.compile(f"</{name}", re.IGNORECASE)
    for name in ("script", "style", "noscript", "svg", "template", "iframe")
}
_ON_A_LINE = frozenset(
    ("address", "article", "aside", "blockquote", "body", "br", "dd", "div", "dl", "dt", "figure", "footer", "form", "h1",
     "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "option", "p", "pre", "section", "table",
     "td", "th", "title", "tr", "ul")
)  # fmt: skip


def text_of_page(page: str) -> str:
    """What a reader sees of a page, roughly: its text, a block on a line."""
    pieces: list[str] = []
    place = 0
    while (tag := page.find("<", place)) >= 0:
        pieces.append(_CHARACTER.sub(_character, page[place:tag]))
        place = _after(page, tag, pieces)
    pieces.append(_CHARACTER.sub(_character, page[place:]))
    lines = (" ".join(line.split()) for line in "".join(pieces).splitlines())
    return "\n".join(line for line in lines if line)


def _character(found: re.Match[str]) -> str:
    return unescape(found[0])


def _after(page: str, tag: int, pieces: list[str]) -> int:
    """Where the text goes on behind a `<`."""
    if page.startswith("<!--", tag):
        return _end(page, "-->", tag + 2)  # `<!-->` is a whole comment
    if page.startswith(("<!", "<?"), tag):
        return _end(page, ">", tag + 2)
    is_end = page.startswith("</", tag)
    named = _NAME.match(page, tag + 1 + is_end)
    if named is None:  # just a character
        pieces.append("<")
        return tag + 1
    name = named[0].lower()
    if name in _ON_A_LINE:
        pieces.append("\n")
    behind = _end_of_tag(page, named.end())
    if is_end or name not in _NO_TEXT:
        return behind
    end = _NO_TEXT[name].search(page, behind)
    return len(page) if end is None else _end_of_tag(page, end.end())


def _end_of_tag(page: str, place: int) -> int:
    """Behind its `>`; one in a quoted value does not count."""
    while (found := _VALUE_OR_END.search(page, place)) is not None:
        if found[1] is None:
            return found.end()
        place = _end(page, found[1], found.end())
    return len(page)


def _end(page: str, mark: str, place: int) -> int:
    found = page.find(mark, place)
    return len(page) if found < 0 else found + len(mark)
