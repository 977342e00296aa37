"""The loss table: what a version can't express, and what is sent instead. The table in docs/losses.md is made from it."""

from __future__ import annotations

from functools import cache

import msgspec


class Loss(msgspec.Struct, frozen=True, gc=False):
    """One occurrence: the row of the table, and what it was about (an id, never content)."""

    row: str
    what: str


class LossRow(msgspec.Struct, frozen=True, gc=False):
    """A row of the table."""

    id: str
    dialects: tuple[str, ...]
    lost: str
    instead: str


_TABLE = """
message-patch | v1 | a message that is rewritten, cleared, or given `_meta` later | text appended at its end; other text as a message of its own, when something else happens
prompt | v1, v2 draft, v2 | the id or the place that an agent gives to a prompt which was sent before, or that it was not accepted | nothing: the prompt stays as it was sent
tool-call-cancelled | v1, v2 draft | the tool call status `cancelled` | `failed`
tool-call-status | v1 | the status `paused`, or an unknown one | `in_progress`
ended-without-result | v1, v2 draft, v2 | that a tool call ended without a result | `failed`
tool-kind | v1 | a tool kind that v1 does not list | `other`
raw-cleared | v1 | the name, `rawInput` or `rawOutput` of a tool call cleared | nothing: the old one stays
meta-cleared | v1 | `_meta` of a tool call cleared | nothing: the old value stays
cancellable | v1 | that one tool call or terminal can be cancelled | nothing
display-terminal | v1, v2 draft | a display terminal; in v1, for a client that does not offer to display terminals | the end of its output as text in the tool call
terminal-details | v1 | the command and the size of a terminal that is sent in `_meta` | nothing: the tool call has the command
terminal-rewritten | v1 | output of such a terminal that replaces the output before | the new output, after the old one
terminal-bytes | v1 | output of such a terminal that is not UTF-8 | U+FFFD
client-terminal | v1, v2 draft | a terminal of another client, for a client that has none | a line of text with its id
diff-partial | v1, v2 draft | a diff known only as a patch | the lines in the patch
diff-operation | v1, v2 draft | a diff that moves or copies a file, or has no text | a line of text that describes it
diff-delete | v1, v2 draft | that a file is deleted, not emptied | the file with an empty text
diff-details | v1, v2 draft | the file type and media type of a changed file | nothing
plan-type | v1, v2 draft | a plan of an unknown type | nothing
several-plans | v1 | several plans side by side | one plan with the entries of all
plan-entry | v1, v2 draft | a cancelled plan entry | nothing
plan-status | v1, v2 draft | a plan entry with an unknown status | `in_progress`
plan-priority | v1 | a plan priority that v1 does not list | `medium`
icons | v1 | the icons of a resource link | nothing
audience | v1 | an audience that v1 does not list | the other audiences
content-type | v1 | a content block, or an item of a tool call, of a type that v1 does not list and that was not received in v1 | its type in brackets, as text
priority | v2 draft, v2 | a priority outside of 0 to 1 | 0 or 1
size | v1, v2 draft, v2 | the size of a resource link that is negative (v2) or too large | nothing
opened-commands | v1, v2 draft | the commands in the result that opens a session | nothing: an update has them
command-type | v1 | a command of an unknown type | nothing
option-kind | v1 | an option of an unknown type | nothing
boolean-option | v1 | a boolean option, for a client that does not support it | nothing
notice | v1, v2 draft | a notice, for a client that does not support it | nothing
compaction | v1, v2 draft | a compaction, for a client that does not support it | nothing
state | v1, v2 draft | that the session waits for the user, or an unknown state | nothing: the open prompt shows that it is busy
background | v1, v2 draft | the list of background work | nothing
stop-reason | v1 | a stop reason that v1 does not list | `end_turn`, with the reason in `_meta`
permission-subject | v1, v2 draft | permission for something other than a tool call | a tool call generated for the request
permission-text | v1 | title and description of a permission request about a tool call | the tool call's title
permission-outcome | v1 | an unknown outcome of a permission request | `cancelled`
permission-kind | v1 | a kind of permission option that v1 does not list | `reject_once`
form-format | v1, v2 draft | the format of a text field that v1 does not list | nothing
form-value | v1, v2 draft | a value in a form that no field of v1 can hold | nothing
terminal-login | v1, v2 draft, v2 | a login in a terminal, for a client that does not support it | nothing
auth-method | v1, v2 draft | an auth method of an unknown type | nothing
login-type | v2 | the type of a login that v1 does not list, and its members | a login that the agent performs
repeated-variable | v1 | several variables of one name, for a login in a terminal | the last of them
logout | v2 | that an agent with a login has no logout, or that one without a login has one | nothing: in v2 a login implies a logout
diff-texts | v2 | the whole text of a changed file | a patch
mode | v2 | the current mode, where no option can stand for it | nothing
empty-select | v2 | an option without choices or without a value | nothing
option-groups | v1, v2 draft, v2 | groups of choices beside choices without a group | all of them without groups
empty-group | v1, v2 draft, v2 | a group without choices: in v2 any, elsewhere one beside choices without a group | nothing
models | v2 | the list of models beside the options | nothing
update-type | v1, v2 draft, v2 | an unknown update with a name that this version has; in v1 also any other that was not received in v1 | nothing
client-resources | v2 | that the client offers its files and terminals | nothing
mcp-type | v1, v2 draft | an MCP server of a type that v1 does not list and that was not received in v1 | nothing
mcp-sse | v2 | that the agent connects to MCP servers over SSE | nothing
session-baseline | v2 | that an agent with sessions can't load, resume, list or close them | nothing: in v2 it must
"""


def _row(line: str) -> LossRow:
    id, dialects, lost, instead = line.split(" | ")
    return LossRow(id, tuple(dialects.split(", ")), lost, instead)


@cache
def loss_table() -> dict[str, LossRow]:
    """The rows by id; read when first asked for, which no agent does."""
    return {row.id: row for row in map(_row, _TABLE.strip().splitlines())}
