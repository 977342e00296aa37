"""Asks the dialog at the terminal line by line: questions, forms and logins.

Law: what was typed before a question was shown is no answer to it, and what is typed answers the one that was shown last.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from accord.apps.console.forms import Field, fields_of, read_field
from accord.apps.console.run.output_stream import OutputStream
from accord.apps.console.sanitizer import exact, exact_line, one_line
from accord.client.agent_requests import OnElicitation
from accord.client.login import ChooseLogin
from accord.local.text import max_cells
from accord.session.capabilities import AuthMethod, TerminalLogin, VariableLogin
from accord.session.requests import ElicitationAnswer, ElicitationRequest
from accord.session.value import Unknown

_MORE = "-- page {} of {}, Enter for more, n for no: "


def is_terminal_attached() -> bool:
    """Whether somebody can be asked: they see stderr and type into stdin."""
    streams = (sys.__stdin__, sys.__stderr__)
    return all(stream is not None and not stream.closed and stream.isatty() for stream in streams)


class TerminalDialog:
    """Hears one asker at a time. A question may be withdrawn, by cancelling who waits for its answer."""

    def __init__(self, output: OutputStream) -> None:
        self._output = output
        self._turns = asyncio.Lock()
        self._wanted = 0
        self._is_wanted = asyncio.Event()
        self._reading: asyncio.Future[str | None] | None = None

    @asynccontextmanager
    async def attention(self) -> AsyncGenerator[None]:
        """Inside nobody else asks: what belongs to a question is told in here, too."""
        self._wanted += 1
        self._is_wanted.set()
        try:
            async with self._turns:
                yield
        finally:
            self._wanted -= 1
            if not self._wanted:
                self._is_wanted.clear()

    def tell(self, text: str) -> None:
        """Show something, inside `attention`."""
        self._fresh_line()
        self._output.write(text)

    async def reads(self, lines: Sequence[str]) -> bool:
        """Show what is to be decided, inside `attention`, at most a screen of it at once; False for one who stops reading."""
        pages = list(_pages(lines, self._output.size()))
        for place, page in enumerate(pages, start=1):
            self.tell(page)
            if place < len(pages):
                typed = await self.ask(_MORE.format(place, len(pages)))
                if typed is None or typed.strip():
                    return False
        return True

    async def ask(self, question: str) -> str | None:
        """The line that was typed, without its end, inside `attention`; None when there is nobody any more."""
        assert self._turns.locked()
        reading = self._shown(question)
        try:
            return await asyncio.shield(reading)
        finally:
            self._over(reading)

    async def prompted(self, question: str) -> str | None:
        """As `ask`, for what has time: whoever wants attention meanwhile goes first, then this is asked again."""
        while True:
            async with self._turns:
                reading = self._shown(question)
                wanted = asyncio.create_task(self._is_wanted.wait(), name="accord wanted")
                try:
                    await asyncio.wait((reading, wanted), return_when=asyncio.FIRST_COMPLETED)
                finally:
                    wanted.cancel()
                    self._over(reading)
                if reading.done():
                    return reading.result()

    def interrupt(self, text: str, question: str) -> None:
        """Say something between a prompt and its answer, and show the prompt again."""
        self._fresh_line()
        self._output.write(f"{text}\n{question}")

    def _shown(self, question: str) -> asyncio.Future[str | None]:
        _forget_what_was_typed()
        if self._reading is None or self._reading.done():
            self._reading = _line_in_thread()
        self._fresh_line()
        self._output.write(question)
        return self._reading

    def _over(self, reading: asyncio.Future[str | None]) -> None:
        if reading.done():
            self._output.at_line_start = True  # the terminal has shown the line end that was typed
        else:
            self._fresh_line()

    def _fresh_line(self) -> None:
        if not self._output.at_line_start:
            self._output.write("\n")


def _pages(lines: Sequence[str], size: tuple[int, int] | None) -> Iterator[str]:
    """Texts that fit on a terminal of so many columns and lines, above the question; one, where that is unknown."""
    if size is None:
        yield "".join(f"{line}\n" for line in lines)
        return
    columns, height = size
    room = max(1, height - 1 - len(_MORE) // columns)
    rows = [row for line in lines for row in _rows(line, columns)]
    for begin in range(0, len(rows), room):
        yield "".join(rows[begin : begin + room])


def _rows(line: str, columns: int) -> Iterator[str]:
    """What of it stands in each row; only the last one has an end: the terminal goes on in the next by itself."""
    begin = cells = 0
    for place, letter in enumerate(line):
        cells += max_cells(letter)
        if cells > columns:
            yield line[begin:place]
            begin, cells = place, max_cells(letter)
    yield f"{line[begin:]}\n"


def _forget_what_was_typed() -> None:
    if sys.platform != "win32":
        import termios  # noqa: PLC0415  # exists only there

        with suppress(OSError, termios.error):
            termios.tcflush(0, termios.TCIFLUSH)


def _line_in_thread() -> asyncio.Future[str | None]:
    # A thread of its own: the end of the program waits for asyncio's, and somebody may never press a key.
    loop = asyncio.get_running_loop()
    read: asyncio.Future[str | None] = loop.create_future()

    def settle(line: str | None) -> None:
        if not read.done():
            read.set_result(line)

    def run() -> None:
        try:
            line = os.read(0, 64 * 1024)
        except OSError:
            line = b""
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, line.decode("utf-8", "replace").rstrip("\r\n") if line else None)

    threading.Thread(target=run, name="accord question", daemon=True).start()
    return read


_SHORT_DEFAULT = 40
_HINTS = {
    "boolean": "y or n",
    "integer": "a whole number",
    "number": "a number",
    "choice": "a number",
    "choices": "numbers, with commas",
}
_DECLINED = ElicitationAnswer(action="decline")


def elicitation_handler(dialog: TerminalDialog, on_asked: Callable[[], None]) -> OnElicitation:
    """Who answers elicitations: a form is asked field by field, a link is shown and confirmed. `on_asked` hears of each."""

    async def answer(request: ElicitationRequest) -> ElicitationAnswer:
        on_asked()
        async with dialog.attention():
            lines = f"The agent asks: {exact(request.message, tab='    ')}".splitlines()
            lines += [f"  {exact_line(request.url or '')}"] if request.mode == "url" else []
            if not await dialog.reads(lines):
                return _DECLINED
            if request.mode == "url":
                typed = await dialog.ask("Open it yourself, then press Enter; n declines: ")
                return _DECLINED if typed is None or typed.strip().lower() in ("n", "no") else _accepted(None)
            return await _form(dialog, request.schema or {})

    return answer


async def _form(dialog: TerminalDialog, schema: Mapping[str, Any]) -> ElicitationAnswer:
    fields = fields_of(schema)
    if not fields:
        typed = await dialog.ask("Enter accepts, n declines: ")
        return _DECLINED if typed is None or typed.strip().lower() in ("n", "no") else _accepted({})
    dialog.tell("Enter leaves a field out or takes its default; a single . declines.\n")
    values: dict[str, Any] = {}
    for field in fields:
        if not await dialog.reads(_about(field)):
            return _DECLINED
        while True:
            typed = await dialog.ask(_question(field))
            if typed is None or typed.strip() == ".":
                return _DECLINED
            try:
                value = _value(field, typed.strip())
            except ValueError as error:
                dialog.tell(f"  {exact_line(str(error))}\n")
                continue
            if value is not None:
                values[field.name] = value
            break
    return _accepted(values)


def _accepted(content: dict[str, Any] | None) -> ElicitationAnswer:
    return ElicitationAnswer(action="accept", content=content)


def _has_default(field: Field) -> bool:
    """A secret default is not shown, so it is not taken either."""
    return field.default is not None and not field.is_secret


def _about(field: Field) -> list[str]:
    about = f": {exact_line(field.description)}" if field.description else ""
    lines = [f"{exact_line(field.title)}{about}{' (required)' if field.is_required else ''}"]
    lines += [f"  {number}  {exact_line(name)}" for number, (_, name) in enumerate(field.choices, start=1)]
    default = exact_line(str(field.default)) if _has_default(field) else ""
    return [*lines, f"  by default: {default}"] if len(default) > _SHORT_DEFAULT else lines


def _question(field: Field) -> str:
    default = f" [{exact_line(str(field.default), _SHORT_DEFAULT)}]" if _has_default(field) else ""
    return f"{_HINTS.get(field.kind, '')}{default}> "


def _value(field: Field, typed: str) -> Any:
    """None to leave the field out; ValueError says what is expected."""
    if not typed and _has_default(field):
        return field.default
    if not typed and not field.is_required:
        return None
    if not typed:
        raise ValueError("required")
    match field.kind:
        case "boolean":
            if typed.lower() not in ("y", "yes", "true", "n", "no", "false"):
                raise ValueError("y or n?")
            return typed.lower() in ("y", "yes", "true")
        case "choices":
            parts = [part.strip() for part in typed.split(",") if part.strip()]
            return read_field(field, [_choice(part, field.choices) for part in parts])
        case "choice":
            return _choice(typed, field.choices)
        case _:
            return read_field(field, typed)


def _choice(typed: str, choices: Sequence[tuple[str, str]]) -> str:
    if typed.isdecimal() and 1 <= int(typed) <= len(choices):
        return choices[int(typed) - 1][0]
    for value, name in choices:
        if typed in (value, name):
            return value
    raise ValueError(f"a number from 1 to {len(choices)}")


def login_chooser(named: str | None, dialog: TerminalDialog | None) -> ChooseLogin | None:
    """The method that was named; without one, the person's choice; None where nobody can choose."""
    if named is not None or dialog is None:
        return named

    async def choose(methods: Sequence[AuthMethod]) -> str | None:
        known = [method for method in methods if not isinstance(method, Unknown)]
        if not known:
            return None
        lines = ["The agent wants a login first:"]
        lines += [f"  {number}  {login_method_text(method)}" for number, method in enumerate(known, start=1)]
        async with dialog.attention():
            dialog.tell("\n".join([*lines, ""]))
            typed = await dialog.ask(f"1-{len(known)}, or Enter for none: ")
        if typed and typed.strip().isdecimal() and 1 <= int(typed) <= len(known):
            return known[int(typed) - 1].id
        return None

    return choose


def login_method_text(method: AuthMethod) -> str:
    """A method in a few safe words."""
    if isinstance(method, Unknown):
        name = method.raw.get("name")
        return f"{one_line(name, 80) if isinstance(name, str) else 'A way'} (not by accord: {one_line(method.tag, 40)})"
    about = f": {one_line(method.description)}" if method.description else ""
    how = ", in the terminal" if isinstance(method, TerminalLogin) else ""
    if isinstance(method, VariableLogin) and method.variables:
        how = f", by {', '.join(one_line(variable.name, 80) for variable in method.variables)} in the environment"
    return f"{one_line(method.name, 80)} ({one_line(method.id, 80)}{how}){about}"


def unsupported_login_advice(method: Unknown) -> str:
    """What the user can do about a login that accord can't carry out."""
    description = method.raw.get("description")
    told = f" {one_line(description).rstrip('.')}." if isinstance(description, str) and description.strip() else ""
    return f"this login is of a kind that accord can't carry out ({one_line(method.tag, 40)}).{told}"
