"""Text from agents made safe to show: nothing in it moves the cursor, sets a title or hides what it says.

Law: what comes out holds no control character but line ends and tabs, whatever the input was and however it was cut
into pieces. A control character becomes a visible sign, since a sequence is harmless once its first character is.

What is written to a terminal passes here once more on its last step, by `strip_controls` or `keep_colours`: whatever was forgotten
before, no sequence but our own is left in it.

What a decision rests on is shown by `exact`, which has a stricter law: each character that comes out can be seen, and
no terminal gives it more cells than `local.text.max_cells` says. So no tab, blank, filler, mark or flag can push the rest of a
command out of sight.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from accord.errors.escape_sequences import SEQUENCES
from accord.local.text import character_visibility

# The C0 and C1 controls and DEL; and the marks by which text can be shown in another order than it is read.
_HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_NOT_IN_A_LINE = re.compile(f"{_HARMFUL.pattern[:-1]}\u2028\u2029]")  # which some take for the end of a line
_LONE = re.compile("[\ud800-\udc7f\udd00-\udfff]")  # surrogates that stand for no byte of the system's
_BREAKS = re.compile("[\\s\u2028\u2029]+")
_UNUSUAL = re.compile("[^ -~\n]+")
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f]")
_NOT_OURS = re.compile("(\x1b\\[(?:0|2|3[123])m)|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_UNSEEN = "\u2426"


def visible(text: str) -> str:
    """The text with a sign in the place of each control character; line ends and tabs stay."""
    return _HARMFUL.sub(_sign, text.replace("\r\n", "\n"))


def exact(text: str, *, tab: str = "\u2409") -> str:
    """The text with a sign in the place of all that can't be seen or has no certain width; line ends stay."""
    return _UNUSUAL.sub(lambda found: "".join(_exact(found, tab)), text)


def exact_line(text: str, limit: int | None = None) -> str:
    """As `exact`, on a single line: for commands, paths and names. What is beyond the limit is cut, and that is seen."""
    line = exact(text).replace("\n", "\u240a")
    return line if limit is None or len(line) <= limit else f"{line[: limit - 1]}…"


def exact_in_place(text: str, *, tab: str = "\u2409") -> str:
    """The text with one sign of one cell for each character that can't be seen, so that it stays as long as it is.

    For what can be edited.
    """
    return _UNUSUAL.sub(lambda found: "".join(_in_place(found, tab)), text)


def one_line(text: str, limit: int = 200) -> str:
    """As `exact_line`, with a single blank for each stretch of white space: for what is only glanced at."""
    return exact_line(_BREAKS.sub(" ", text).strip(), limit)


def encodable(text: str) -> str:
    """What came from the system, as text that can be written down: bytes that are none are replaced."""
    return _LONE.sub("\ufffd", text).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def strip_sequences(text: str) -> str:
    """The output of a program without its colours and cursor movements; whatever is left of them is made visible."""
    return visible(re.sub(SEQUENCES, "", text))


def strip_controls(text: str) -> str:
    """A piece of a line that is drawn: its control characters have no cells, and are left out."""
    return _CONTROLS.sub("", text)


def keep_colours(text: str) -> str:
    """A text that is written to a terminal, with line ends, tabs and the colours that we write ourselves."""
    return _NOT_OURS.sub(lambda found: found[1] or _sign_of(found[0]), text)


def escape_json(line: bytes) -> bytes:
    """A line of JSON that says the same with escapes, where a terminal would obey what is in it."""
    if line.isascii() and b"\x7f" not in line:
        return line
    text = line.decode("utf-8", "replace")
    return _NOT_IN_A_LINE.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()


class Cleaner:
    """Makes a text visible that comes in pieces, as `visible` would have made the whole of it."""

    def __init__(self) -> None:
        self._held = ""

    def clean(self, piece: str) -> str:
        """The next piece; a carriage return at its end waits for what follows."""
        text = self._held + piece
        self._held = "\r" if text.endswith("\r") else ""
        return visible(text[: len(text) - len(self._held)])

    def finish(self) -> str:
        """What has waited."""
        held, self._held = self._held, ""
        return visible(held)


def _exact(found: re.Match[str], tab: str) -> Iterator[str]:
    before = found.string[found.start() - 1 : found.start()]
    for letter, is_seen in character_visibility(found[0], before):
        yield letter if is_seen else tab if letter == "\t" else _sign_of(letter)


def _in_place(found: re.Match[str], tab: str) -> Iterator[str]:
    before = found.string[found.start() - 1 : found.start()]
    for letter, is_seen in character_visibility(found[0], before):
        sign = _sign_of(letter)
        yield letter if is_seen else tab if letter == "\t" else sign if len(sign) == 1 else _UNSEEN


def _sign(found: re.Match[str]) -> str:
    return _sign_of(found[0])


def _sign_of(letter: str) -> str:
    code = ord(letter)
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"<U+{code:04X}>"
