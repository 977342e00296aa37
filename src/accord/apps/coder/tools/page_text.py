"""The text of a web page.

Law: the time is linear in the size of the page, whatever is in it. No piece is scanned twice; if an end tag is missing, the
rest of the page belongs to the element. No tree is built: the rules by which browsers repair wrong nesting are quadratic.
"""

from __future__ import annotations

import re
from html import unescape

__all__ = ["text_of_page"]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,30}")
_CHARACTER = re.compile(r"&(?:#[0-9]{1,7}(?![0-9])|#[xX][0-9A-Fa-f]{1,6}(?![0-9A-Fa-f])|[A-Za-z][A-Za-z0-9]{1,31});?")
_VALUE_OR_END = re.compile("""=[ \\t\\n\\r\\f]*(["'])|>""")
_WITHOUT_TEXT = {
    name: re.compile(f"</{name}", re.IGNORECASE)
    for name in ("script", "style", "noscript", "svg", "template", "iframe")
}
_BLOCKS = frozenset(
    ("address", "article", "aside", "blockquote", "body", "br", "dd", "div", "dl", "dt", "figure", "footer", "form", "h1",
     "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "option", "p", "pre", "section", "table",
     "td", "th", "title", "tr", "ul")
)  # fmt: skip


def text_of_page(page: str) -> str:
    """The visible text of a page, roughly, with one block per line."""
    pieces: list[str] = []
    position = 0
    while (tag := page.find("<", position)) >= 0:
        pieces.append(_CHARACTER.sub(_character, page[position:tag]))
        position = _after(page, tag, pieces)
    pieces.append(_CHARACTER.sub(_character, page[position:]))
    lines = (" ".join(line.split()) for line in "".join(pieces).splitlines())
    return "\n".join(line for line in lines if line)


def _character(match: re.Match[str]) -> str:
    return unescape(match[0])


def _after(page: str, tag: int, pieces: list[str]) -> int:
    """The position after the tag or comment that starts here."""
    if page.startswith("<!--", tag):
        return _end(page, "-->", tag + 2)  # `<!-->` is a whole comment
    if page.startswith(("<!", "<?"), tag):
        return _end(page, ">", tag + 2)
    is_end = page.startswith("</", tag)
    name_match = _NAME.match(page, tag + 1 + is_end)
    if name_match is None:  # only a character
        pieces.append("<")
        return tag + 1
    name = name_match[0].lower()
    if name in _BLOCKS:
        pieces.append("\n")
    after = _end_of_tag(page, name_match.end())
    if is_end or name not in _WITHOUT_TEXT:
        return after
    end = _WITHOUT_TEXT[name].search(page, after)
    return len(page) if end is None else _end_of_tag(page, end.end())


def _end_of_tag(page: str, position: int) -> int:
    """The position after its `>`; one in a quoted value does not count."""
    while (match := _VALUE_OR_END.search(page, position)) is not None:
        if match[1] is None:
            return match.end()
        position = _end(page, match[1], match.end())
    return len(page)


def _end(page: str, mark: str, position: int) -> int:
    start = page.find(mark, position)
    return len(page) if start < 0 else start + len(mark)
