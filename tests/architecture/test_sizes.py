"""A module or function that grows past these bounds holds two ideas; too many small modules hide one idea."""

from __future__ import annotations

import ast
import statistics
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "accord"
LONGEST_MODULE = 450
LONGEST_FUNCTION = 60
SHORTEST_MEDIAN = 125
MOST_MODULES = 424
"""The number of modules in src: lower it after a merge. A new module needs a concept of its own, and a reason here.

peer/required_await: a forgotten `await` must not mean yes, in agents and clients. Fourteen are the remote transports: frame
delivery, messages, event streams, both ends of HTTP and WebSocket, their resumption, the web server. Three are their users:
the tokens, the command for them, the audit log. Four are other programs over the network: the relay, the settings of servers,
`accord serve`, `accord connect`. transports: the bytes of WebSocket messages and of HTTP responses, and the fast clients of both. relay/status: what a status page shows.
transports/tap and trace_context, and six in telemetry: traffic, messages, metrics, logs, traces, the status page.
agent/user_questions: questions to several clients.
apps/console/slash_commands and line_commands: the commands of the program itself, and what they do line by line.
apps/console/screen: vim's keys for the prompt.
Five are the checkpoints: git in a repository of our own, ignore rules, one directory, a session's files, its turns.
apps/console/run: the batch, and the program around a run. apps/console/screen: when checkpoints are made, the undo page, and the search.
cli/completion_values: what Tab offers that changes. cli: topics of help, Markdown as text, man pages.
transports/installation: the commands that messages tell their readers to type, for the transports and for all programs.
apps/coder/models/offline_remarks: what newcomers say, and the answers.
apps/console/screen: the choice of a theme, which is saved; the page of all keys.
dialects: the tables of each version, the state of sessions at clients and of options, all apart from the handshake; schema: the
types of the handshake; session/paths: so that validation is not loaded for it.
apps/console/permission_details: the details of a question, for the screen and for lines.
apps/console: the checkpoints of a session's files, for the screen and for lines; undo in lines.
apps/console/screen: the choice of a theme, which is saved; the page of all keys.
transports: one WebSocket of a web server, apart from the connection that outlives it; the sockets of Hypercorn."""


def test_modules_are_short():
    lengths = {file: file.read_text(encoding="utf-8").count("\n") for file in SOURCE.rglob("*.py")}
    assert {str(file.relative_to(SOURCE)): size for file, size in lengths.items() if size > LONGEST_MODULE} == {}


def test_modules_are_few_and_worth_opening():
    modules = [file for file in SOURCE.rglob("*.py") if file.name != "__init__.py"]
    assert len(modules) <= MOST_MODULES
    assert statistics.median(file.read_text(encoding="utf-8").count("\n") for file in modules) >= SHORTEST_MEDIAN


def test_functions_are_short():
    too_long: dict[str, int] = {}
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
                size = node.end_lineno - node.lineno + 1
                if size >= LONGEST_FUNCTION:
                    too_long[f"{file.relative_to(SOURCE)}:{node.lineno} {node.name}"] = size
    assert too_long == {}
