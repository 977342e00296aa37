"""`accord run`: one prompt without a screen, for scripts, CI and evaluation."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from accord.apps.console.attachments import read_attachment, read_text_file
from accord.apps.console.errors import InvalidUsage
from accord.apps.console.known_agents import Environment, LoadEnvironment, find_agent
from accord.apps.console.permission_flags import PERMISSIONS
from accord.apps.console.run.batch import BatchInput
from accord.apps.console.run.one_prompt import OutputFormat, RunOptions
from accord.apps.console.run.program import run
from accord.apps.console.sanitizer import encodable
from accord.local.paths import expand_path, file_kind


def add_arguments(parser: ArgumentParser) -> None:
    parser.description = (
        "Gives an agent one prompt and prints its answer to stdout; what it does meanwhile goes to stderr. Without a "
        "PROMPT, or with -, the prompt is read from stdin. `accord help run` explains the events and the exit statuses."
    )
    parser.add_argument("prompt", metavar="PROMPT", nargs="*", help="what to say; several words are joined by blanks")
    add_agent_arguments(parser)
    parser.add_argument("--prompt-file", metavar="FILE", help="read the prompt from this file")
    parser.add_argument("--file", metavar="FILE", action="append", help="attach a file; may be given several times")
    parser.add_argument("--image", metavar="FILE", action="append", help="attach an image")
    parser.add_argument("--audio", metavar="FILE", action="append", help="attach a sound")
    add_session_arguments(parser)
    parser.add_argument("--timeout", metavar="SECONDS", type=_seconds, help="end the run after this time")
    parser.add_argument(
        "--batch",
        metavar="FILE",
        help='send several prompts in one session, {"prompt": "..."} on each line; - is stdin',
    )
    parser.add_argument("--json", action="store_true", help="print one event per line, as JSON")
    parser.add_argument("--format", choices=("v1", "v2"), help="print the protocol's own updates, of this version")
    parser.add_argument(
        "--output", metavar="FILE", help="write what would go to stdout to this file, in one step at the end"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="nothing on stderr but failures and questions")


def add_agent_arguments(parser: ArgumentParser, cwd: str = "the directory to work in (default: this one)") -> None:
    """The arguments that say which agent is meant, and where; `cwd` is what the directory is for."""
    parser.add_argument("--agent", metavar="NAME", help="the agent, by its name (default: the built-in one)")
    parser.add_argument("--cwd", metavar="DIR", help=cwd)
    add_start_timeout(parser)


def add_start_timeout(parser: ArgumentParser) -> None:
    """How long the agent may take to start."""
    parser.add_argument(
        "--start-timeout",
        metavar="SECONDS",
        type=_seconds,
        help="how long the agent may take to answer at its start (ACCORD_START_TIMEOUT, `start_timeout` in config.toml; "
        "default: 60)",
    )


def start_timeout(args: Mapping[str, Any], environment: Environment) -> float:
    """In seconds: what `add_start_timeout` describes, or else what is set."""
    return args.get("start_timeout") or environment.start_timeout


def add_session_arguments(parser: ArgumentParser) -> None:
    """The arguments that say which session is meant, and how the agent should work in it."""
    parser.add_argument("--model", metavar="MODEL", help="the model to use")
    parser.add_argument("--mode", metavar="MODE", help="the mode to work in")
    parser.add_argument("--session", "--resume", metavar="ID", dest="session", help="go on with this session")
    parser.add_argument("--continue", action="store_true", dest="continues", help="go on with the last session here")
    parser.add_argument(
        "--permissions",
        choices=PERMISSIONS,
        help="what the agent may do (default: ask at a terminal, reject without one)",
    )
    parser.add_argument("--login", metavar="ID", help="log in by this way of the agent's, if it wants a login")


def main(args: Mapping[str, Any], load_environment: LoadEnvironment) -> int:
    return run(_options(args, load_environment))


def _options(args: Mapping[str, Any], load_environment: LoadEnvironment) -> RunOptions:
    cwd = working_directory(args)
    environment = load_environment(cwd)
    _check_batch(args)
    if args.get("json") and args.get("format"):
        raise InvalidUsage("--json and --format can't both be had", "Give one of them")
    attachments = [
        read_attachment(kind, expand_path(path)) for kind in ("file", "image", "audio") for path in args.get(kind) or ()
    ]
    return RunOptions(
        agent=find_agent(args.get("agent"), args.get("command"), environment),
        environment=environment,
        cwd=cwd,
        prompt="" if "batch" in args else _prompt(args, is_alone=not attachments),
        batch=BatchInput(args["batch"]) if "batch" in args else None,
        attachments=attachments,
        timeout=args.get("timeout"),
        start_timeout=start_timeout(args, environment),
        **session_options(args),
        output_format=_output_format(args),
        output=None if args.get("output", "-") == "-" else expand_path(args["output"]),
        is_quiet=args.get("quiet", False),
    )


def _check_batch(args: Mapping[str, Any]) -> None:
    """What a batch says itself, or prints in its own way, can't be given beside it."""
    others = {"prompt": "a PROMPT", "prompt_file": "--prompt-file"}
    others |= {name: f"--{name}" for name in ("file", "image", "audio", "json", "format")}
    given = [words for name, words in others.items() if args.get(name)]
    if "batch" in args and given:
        raise InvalidUsage(
            f"--batch and {given[0]} are mutually exclusive",
            "A batch has its prompts in its lines, and prints JSON lines",
        )


def _output_format(args: Mapping[str, Any]) -> OutputFormat:
    if "batch" in args:
        return "batch"
    return "json" if args.get("json") else args.get("format") or "text"


def session_options(args: Mapping[str, Any]) -> dict[str, Any]:
    """What `add_session_arguments` describes, as `RunOptions` has it."""
    session_id = args.get("session")
    if session_id is not None and not session_id.strip():
        raise InvalidUsage("--session needs the ID of a session", "`accord sessions` lists them")
    if session_id is not None and args.get("continues"):
        raise InvalidUsage("--session and --continue can't both be had", "Give one of them")
    return {
        "model": args.get("model"),
        "mode": args.get("mode"),
        "session_id": session_id,
        "continues": args.get("continues", False),
        "permissions": args.get("permissions"),
        "login": args.get("login"),
    }


def working_directory(args: Mapping[str, Any]) -> Path:
    """Where to work; InvalidUsage if that is no directory."""
    directory = expand_path(args.get("cwd") or ".").absolute()
    if file_kind(directory) != "directory":
        raise InvalidUsage(f"--cwd: {directory} is no directory")
    if encodable(str(directory)) != str(directory):
        raise InvalidUsage(
            f"{directory} can't be told to an agent: its name is no UTF-8", "Rename it, or work elsewhere"
        )
    return directory


def _prompt(args: Mapping[str, Any], *, is_alone: bool) -> str | None:
    """The text; None where it is to be read from stdin. A terminal is nothing to read it from: nobody would know."""
    words, file = " ".join(args.get("prompt") or ()), args.get("prompt_file")
    if file and words:
        raise InvalidUsage("there are two prompts: an argument and --prompt-file", "Give one, and attach the other")
    if file:
        return read_text_file(expand_path(file))
    if words and words != "-":
        return encodable(words)
    if sys.__stdin__ is not None and not sys.__stdin__.closed and not sys.__stdin__.isatty():
        return None
    if is_alone or words:
        raise InvalidUsage("there is no prompt", 'Give one: `accord run "What does this project do?"`')
    return ""


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 0 < seconds < float("inf"):
        raise ArgumentTypeError(f"{text!r} is no time: give it in seconds, more than 0")
    return seconds
