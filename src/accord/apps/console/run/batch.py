"""`accord run --batch`: several prompts in one session, a JSON object per line, and a result per line.

Law: each line gets its result, in order, as soon as it is known. After a line that is not valid or a prompt that failed the
next line follows; the batch stops when the agent has ended or wants a login, and when it is interrupted.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, BinaryIO, Literal

import msgspec

from accord.apps.console.attachments import MOST_BYTES
from accord.apps.console.errors import ConsoleFailed, ExitStatus, InvalidUsage, to_console_failed
from accord.apps.console.file_changes import ChangedFiles
from accord.apps.console.permission_flags import permission_summary
from accord.apps.console.run.event_types import FailureDetails, copy_members
from accord.apps.console.run.interrupts import Interrupts
from accord.apps.console.run.json_events import encode_line
from accord.apps.console.run.output_format import Outcome, Reporter, describe_stop
from accord.apps.console.run.output_stream import StandardStreams
from accord.apps.console.sanitizer import encodable, one_line, visible
from accord.client.permissions.writes_and_commands import allows
from accord.client.session import Session
from accord.local.paths import expand_path, file_kind
from accord.session import entities, updates
from accord.session.requests import InitializeResult, PermissionAnswer, PermissionRequest

_LAST = (ExitStatus.AGENT_GONE, ExitStatus.LOGIN_NEEDED, ExitStatus.NOT_EXECUTABLE, ExitStatus.NOT_FOUND)
"""After these no prompt can be answered any more."""


class BatchLine(msgspec.Struct, frozen=True):
    """A line of the batch: a prompt, or why it is none."""

    number: int
    id: Any = None
    prompt: str = ""
    error: str | None = None


class CallResult(msgspec.Struct, kw_only=True):
    """A tool call of a prompt, as it was at the end."""

    id: str
    title: str | None
    name: str | None
    kind: str
    status: str
    locations: list[entities.Location]
    content: list[entities.ToolCallItem]
    raw_input: Any
    raw_output: Any
    ended_without_result: bool


class BatchResult(msgspec.Struct, kw_only=True):
    """What came of a line. `exit` is the status that `accord run` would have ended with for this prompt alone."""

    line: int
    id: Any
    exit: int
    stop_reason: str | None = None
    text: str = ""
    tool_calls: list[CallResult] = []
    files_changed: list[str] = []
    usage: entities.Usage | None = None
    token_usage: entities.TokenUsage | None = None
    seconds: float = 0.0
    session_id: str | None = None
    error: FailureDetails | None = None


class BatchInput:
    """The lines of a file, or with `-` of stdin; InvalidUsage if it can't be read. Lines are read when they are needed."""

    def __init__(self, name: str) -> None:
        self.is_stdin = name == "-"
        self.name = "stdin" if self.is_stdin else name
        self._file = _stdin() if self.is_stdin else _open(name)

    async def lines(self) -> AsyncGenerator[BatchLine]:
        """Each line that is not empty."""
        number = 0
        while line := await asyncio.to_thread(self._file.readline, MOST_BYTES + 1):
            number += 1
            is_too_long = len(line) > MOST_BYTES
            while is_too_long and not line.endswith(b"\n") and line:
                line = await asyncio.to_thread(self._file.readline, MOST_BYTES)
            if is_too_long:
                yield BatchLine(number, error="longer than 16 MiB")
            elif line.strip():
                yield _parse(number, line)


def _stdin() -> BinaryIO:
    if sys.__stdin__ is None or sys.__stdin__.closed:
        raise InvalidUsage("--batch: stdin is closed", "Give the name of a file")
    return open(0, "rb", closefd=False)


def _open(name: str) -> BinaryIO:
    path = expand_path(name)
    if file_kind(path) == "directory":
        raise InvalidUsage(f"--batch: {path} is a directory")
    try:
        return path.open("rb")
    except OSError as error:
        raise InvalidUsage(f"--batch: {path} can't be read: {error.strerror or error}") from None


def _parse(number: int, line: bytes) -> BatchLine:
    try:
        given = msgspec.json.decode(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return BatchLine(number, error=f"not JSON: {error}")
    if not isinstance(given, dict):
        return BatchLine(number, error='not a JSON object such as {"prompt": "..."}')
    id, prompt = given.get("id"), given.get("prompt")  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    if not isinstance(prompt, str) or not prompt.strip():
        return BatchLine(number, id, error='no "prompt": it must be a text that is not empty')
    return BatchLine(number, id, encodable(prompt))


class BatchPrinter(Reporter):
    """Gathers what happens in each prompt and writes it as one line; progress goes to stderr unless `is_quiet`."""

    def __init__(self, outputs: StandardStreams, *, is_quiet: bool) -> None:
        self._outputs = outputs
        self._is_quiet = is_quiet
        self._line: BatchLine | None = None
        self._session: Session | None = None
        self._messages: dict[int, entities.Message] = {}
        self._calls: dict[str, None] = {}
        self._files = ChangedFiles()
        self._usage: entities.Usage | None = None
        self._tokens: entities.TokenUsage | None = None
        self._begun = 0.0
        self._done = self._failed = 0

    @property
    def exit(self) -> ExitStatus:
        """Of the whole batch, unless something stops it."""
        return ExitStatus.FAILED if self._failed else ExitStatus.END_TURN

    @property
    def is_empty(self) -> bool:
        return not self._done and not self._failed

    def started(self, agent: InitializeResult, session: Session, *, resumed: bool) -> None:
        self._session = session

    def begin(self, line: BatchLine, session: Session) -> None:
        """From here on, what happens belongs to this line."""
        self._line, self._session = line, session
        self._messages, self._calls, self._files, self._tokens = {}, {}, ChangedFiles(), None
        self._begun = asyncio.get_running_loop().time()

    def changed(self, change: updates.Update) -> None:
        self._files.tell(change)
        match change:
            case updates.MessageChunk(message=message) | updates.MessageChanged(message=message):
                if message.role == entities.AGENT:
                    self._messages[id(message)] = message
            case updates.ToolCallChanged(call=call):
                self._calls[call.id] = None
            case updates.UsageChanged(usage=usage):
                self._usage = usage
            case updates.StateChanged(state=state):
                self._tokens = state.token_usage or self._tokens
            case updates.NoticeShown(notice=notice):
                self.noted(notice.title, notice.severity)
            case _:
                pass

    def decided(self, request: PermissionRequest, answer: PermissionAnswer, by: Literal["rule", "person"]) -> None:
        self.noted(f"{'allowed' if allows(request, answer) else 'rejected'}: {permission_summary(request)}")

    def wrote(self, path: str, size: int) -> None:
        self._files.wrote(path)

    def noted(self, text: str, severity: str = "info") -> None:
        if not self._is_quiet:
            where = "" if self._line is None else f"line {self._line.number}: "
            self._outputs.err.write(f"{where}{one_line(text, 500)}\n")

    def invalid(self, line: BatchLine) -> None:
        """The result of a line that has no prompt."""
        failure = ConsoleFailed(f"line {line.number}: {line.error}", status=ExitStatus.USAGE)
        self._write(BatchResult(line=line.number, id=line.id, exit=ExitStatus.USAGE), failure)

    def end(self, outcome: Outcome) -> None:
        """The result of the prompt that was begun."""
        line, session = self._line, self._session
        assert line is not None
        assert session is not None
        result = BatchResult(
            line=line.number,
            id=line.id,
            exit=outcome.exit,
            stop_reason=outcome.stop_reason,
            text=_joined(message.text for message in self._messages.values()),
            tool_calls=[
                copy_members(call, CallResult, content=list(call.content))
                for call in (session.transcript.tool_calls.get(id) for id in self._calls)
                if call is not None
            ],
            files_changed=self._files.paths(session.cwd),
            usage=self._usage,
            token_usage=self._tokens,
            seconds=round(asyncio.get_running_loop().time() - self._begun, 3),
            session_id=session.id,
        )
        if outcome.failure is None:
            self.noted(describe_stop(outcome) or "done")
        self._line = None
        self._write(result, outcome.failure)

    def ended(self, outcome: Outcome) -> None:
        if not self._is_quiet:
            total = self._done + self._failed
            self._outputs.err.write(f"{total} line{'' if total == 1 else 's'}, {self._failed} failed\n")

    def _write(self, result: BatchResult, failure: ConsoleFailed | None) -> None:
        if failure is not None:
            members = {name: getattr(failure, name) for name in FailureDetails.__struct_fields__}
            result.error = FailureDetails(**members)
            where = "" if failure.status is ExitStatus.USAGE else f"line {result.line}: "
            self._outputs.err.write(f"{where}{visible(failure.reason)}\n")
        if result.exit == ExitStatus.END_TURN:
            self._done += 1
        else:
            self._failed += 1
        self._outputs.out.write_bytes(encode_line(result))


def _joined(texts: Any) -> str:
    """Several messages are separate lines."""
    joined = ""
    for text in texts:
        joined += text if not joined or joined.endswith("\n") else f"\n{text}"
    return joined


async def run_batch(
    batch: BatchInput,
    printer: BatchPrinter,
    send: Callable[[BatchLine], Awaitable[Outcome]],
    stopping: Interrupts,
) -> Outcome:
    """Send each prompt and write each result; the outcome of the batch."""
    async for line in batch.lines():
        if line.error is not None:
            printer.invalid(line)
            continue
        try:
            outcome = await send(line)
        except asyncio.CancelledError:
            printer.end(Outcome(exit=stopping.status or ExitStatus.INTERRUPTED))
            raise
        except Exception as error:  # noqa: BLE001  # whatever it is, it is the result of this line
            failed = to_console_failed(error)
            outcome = Outcome(exit=failed.status, failure=failed)
        if stopping.status is not None:
            outcome = Outcome(exit=stopping.status, stop_reason=outcome.stop_reason, failure=outcome.failure)
        printer.end(outcome)
        if stopping.status is not None or outcome.exit in _LAST:
            return Outcome(exit=outcome.exit, failure=outcome.failure)
    if printer.is_empty:
        raise InvalidUsage(f"there is no prompt in {batch.name}", 'Give one on each line: {"prompt": "..."}')
    return Outcome(exit=printer.exit)
