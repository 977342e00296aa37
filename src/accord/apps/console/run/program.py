"""`accord run` from its options to the exit status: where it writes, what ends it early, how it is said to have ended."""

from __future__ import annotations

import asyncio

from accord.apps.console.error_messages import killed_message
from accord.apps.console.errors import ConsoleFailed, ExitStatus, to_console_failed
from accord.apps.console.run.batch import BatchPrinter
from accord.apps.console.run.interrupts import Interrupts
from accord.apps.console.run.json_events import JsonEventPrinter
from accord.apps.console.run.one_prompt import PromptRun, RunOptions
from accord.apps.console.run.output_format import Outcome, Reporter
from accord.apps.console.run.output_stream import OutputFile, OutputStream, StandardStreams
from accord.apps.console.run.raw_updates import RawUpdatePrinter
from accord.apps.console.run.text_printer import TextPrinter
from accord.peer.event_loop import run as in_loop

_UNREAD_SECONDS = 1.0


def run(options: RunOptions) -> int:
    """The exit status."""
    if options.output is None:
        return in_loop(_run(options))
    with OutputFile(options.output) as file:
        return in_loop(_run(options, file))


async def _run(options: RunOptions, file: OutputFile | None = None) -> int:
    outputs = StandardStreams(file)
    reporter = _reporter(options, outputs)
    running = PromptRun(options, outputs, reporter)
    work: asyncio.Task[Outcome] = asyncio.create_task(running.work(), name="accord run")
    stopping = running.stopping = Interrupts(work, lambda _: reporter.noted("stopping… (Ctrl-C again ends it)"))
    outputs.out.broken.add_done_callback(
        lambda _: stopping.end(ExitStatus.FAILED if outputs.out.failure else ExitStatus.UNREAD)
    )
    with stopping.listening(None if options.batch else options.timeout):  # a batch has it for each prompt
        try:
            outcome = await work
        except asyncio.CancelledError:
            if stopping.is_unheeded:
                reporter.noted(killed_message(running.agent), "warning")
            outcome = Outcome(exit=stopping.status or ExitStatus.INTERRUPTED, session_id=running.session_id)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is told
            failed = to_console_failed(error)
            outcome = Outcome(exit=failed.status, session_id=running.session_id, failure=failed)
        if stopping.status is not None:
            outcome = running.as_stopped(outcome, stopping.status)
        reporter.ended(outcome)
        if not outputs.err.at_line_start:
            outputs.err.write("\n")
        if outcome.failure is not None:
            outputs.err.write(f"accord: {outcome.failure}\n")
    # Whoever ends a run does not want to wait for a reader that does not read.
    grace = None if stopping.status is None else _UNREAD_SECONDS
    await _finished(outputs.out, grace)
    unwritten = _unwritten(outputs.out.failure, file) or _keep(file, options, outcome)
    if unwritten is not None:
        outputs.err.write(f"accord: {unwritten}\n")
    await _finished(outputs.err, grace)
    outputs.close()
    return outcome.exit if unwritten is None else outcome.exit or ExitStatus.FAILED


async def _finished(output: OutputStream, grace: float | None) -> None:
    finishing = asyncio.create_task(output.finish(), name="accord finish")
    with Interrupts(finishing, lambda _: None).listening(None):
        await asyncio.wait((finishing,), timeout=grace)


def _unwritten(error: OSError | None, file: OutputFile | None) -> ConsoleFailed | None:
    if error is None:
        return None
    where = "stdout" if file is None else file.path
    missing = "Something of the answer is missing there" if file is None or file.is_stream else "It is as it was before"
    return ConsoleFailed(f"{where} can't be written: {error.strerror or error}", missing)


def _keep(file: OutputFile | None, options: RunOptions, outcome: Outcome) -> ConsoleFailed | None:
    """Write the file: with an answer if that is whole, with events in any case, since they tell how it ended."""
    if file is None:
        return None
    is_whole = outcome.failure is None and outcome.stop_reason is not None and outcome.exit < ExitStatus.TIMEOUT
    if options.output_format == "text" and not is_whole and not file.is_stream:
        advice = "What the agent said until then is on stdout" if file.print() else ""
        return ConsoleFailed(f"{file.path} was not written: there is no whole answer", advice)
    try:
        file.replace()
    except ConsoleFailed as error:
        file.print()
        return error
    return None


def _reporter(options: RunOptions, outputs: StandardStreams) -> Reporter:
    match options.output_format:
        case "json":
            return JsonEventPrinter(outputs)
        case "v1" | "v2":
            return RawUpdatePrinter(outputs, options.output_format)
        case "batch":
            return BatchPrinter(outputs, is_quiet=options.is_quiet)
        case "text":
            return TextPrinter(
                outputs, is_quiet=options.is_quiet, is_transcript=options.is_transcript, cwd=str(options.cwd)
            )
