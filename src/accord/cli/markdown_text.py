"""Markdown pages as plain text for a terminal: wrapped, with tables that fit, and links that lead somewhere.

Only what the pages of the documentation use: headings, paragraphs, lists, tables, code, links, emphasis.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator

LinkText = Callable[[str, str], str]
"""What to write for a link, from its text and its target."""

_HEADING = re.compile(r"(#+) (.*)")
_ITEM = re.compile(r"( *)([-*]|\d+\.) (.*)")
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
_EMPHASIS = re.compile(r"(?<![\w*`])(\*\*?)(\S(?:.*?\S)?)\1(?![\w*])")
_FENCE = "```"


def render_page(markdown: str, width: int, link_text: LinkText) -> str:
    """The page; no line of prose is longer than `width`."""
    lines = re.sub(r"<!--.*?-->\n?", "", markdown, flags=re.DOTALL).splitlines()
    blocks = [_render(block, width, link_text) for block in _blocks(lines)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def sections(markdown: str) -> dict[str, str]:
    """The parts of a page by their headings; what stands below lower headings belongs to the higher one, too."""
    found: dict[str, list[str]] = {}
    open_at: list[tuple[int, str]] = []
    is_code = False
    for line in markdown.splitlines():
        is_code ^= line.startswith(_FENCE)
        heading = None if is_code else _HEADING.fullmatch(line)
        if heading is not None:
            depth, title = len(heading[1]), _inline(heading[2], lambda text, _: text)
            open_at = [*((above, name) for above, name in open_at if above < depth), (depth, title)]
            found[title] = []
        for _, name in open_at:
            found[name].append(line)
    return {name: "\n".join(lines) for name, lines in found.items()}


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    """Lines that belong together: what stands between empty lines, and code however many it has."""
    block: list[str] = []
    is_code = False
    for line in lines:
        if line.startswith(_FENCE):
            if not is_code and block:
                yield block
                block = []
            is_code = not is_code
            block.append(line)
            if not is_code:
                yield block
                block = []
        elif is_code or line.strip():
            block.append(line)
        elif block:
            yield block
            block = []
    if block:
        yield block


def _render(block: list[str], width: int, link_text: LinkText) -> str:
    first = block[0]
    if first.startswith(_FENCE):
        return textwrap.indent("\n".join(block[1:-1]), "    ")
    heading = _HEADING.fullmatch(first)
    if heading is not None:
        title = _inline(heading[2], link_text)
        below = _render(block[1:], width, link_text) if block[1:] else ""
        return "\n\n".join(part for part in (title.upper() if len(heading[1]) < 3 else title, below) if part)
    if first.startswith("|"):
        return _table(block, width, link_text)
    if _ITEM.match(first):
        return _list(block, width, link_text)
    return _wrapped(_inline(" ".join(line.strip() for line in block), link_text), width)


def _list(block: list[str], width: int, link_text: LinkText) -> str:
    items: list[tuple[str, list[str]]] = []
    for line in block:
        item = _ITEM.match(line)
        if item is not None:
            items.append((f"{item[1]}{item[2]} ", [item[3]]))
        else:
            items[-1][1].append(line.strip())
    return "\n".join(_wrapped(_inline(" ".join(text), link_text), width, mark, " " * len(mark)) for mark, text in items)


def _table(block: list[str], width: int, link_text: LinkText) -> str:
    """In columns where they fit, the last one wrapped if need be; else the first cell of a row, and the others below it."""
    cells = [
        [_inline(cell.strip().replace("\\|", "|"), link_text) for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])]
        for line in block
    ]
    has_heads = len(block) > 1 and re.fullmatch(r"[|\s:-]+", block[1]) is not None
    heads, rows = (cells[0], cells[2:]) if has_heads else ([], cells)
    shown = [heads, *rows] if any(heads) else rows
    sizes = [max(len(row[column]) for row in shown if column < len(row)) for column in range(max(map(len, shown)))]
    if sum(sizes) + 2 * len(sizes) <= width:
        return "\n".join(
            "  ".join(cell.ljust(size) for cell, size in zip(row, sizes, strict=False)).rstrip() for row in shown
        )
    if len(sizes) == 2 and sizes[0] <= width // 3:
        indent = " " * (sizes[0] + 2)
        return "\n".join(_wrapped(row[1], width, row[0].ljust(len(indent)), indent) for row in shown)
    return "\n".join(_row(row, heads, width) for row in rows)


def _row(row: list[str], heads: list[str], width: int) -> str:
    lines = [_wrapped(row[0], width)]
    for place, cell in enumerate(row[1:], 1):
        head = heads[place] if len(row) > 2 and place < len(heads) and heads[place] else ""
        if cell:
            lines.append(_wrapped(f"{head}: {cell}" if head else cell, width, "    ", "    "))
    return "\n".join(lines)


def _inline(text: str, link_text: LinkText) -> str:
    """Without the signs of emphasis and links; code keeps its own."""
    parts = re.split(r"(`+[^`]*`+)", _LINK.sub(lambda link: "" if link[1] else link_text(link[2], link[3]), text))
    return "".join(part if part.startswith("`") else _EMPHASIS.sub(r"\2", part) for part in parts)


def _wrapped(text: str, width: int, first: str = "", other: str = "") -> str:
    if not text:
        return first.rstrip()
    return textwrap.fill(
        text, width, initial_indent=first, subsequent_indent=other, break_long_words=False, break_on_hyphens=False
    )
