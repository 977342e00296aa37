"""What a version cannot express: each row is what is lost, and what is said instead. The docs' table is this one."""

from __future__ import annotations

import msgspec

__all__ = ["LOSSES", "Loss", "LossRow"]


class Loss(msgspec.Struct, frozen=True, gc=False):
    """One thing that could not be said: the row of the table, and what it was about (an id, never content)."""

    row: str
    what: str


class LossRow(msgspec.Struct, frozen=True, gc=False):
    """A row of the table."""

    id: str
    dialects: tuple[str, ...]
    lost: str
    instead: str


_V1 = ("v1",)
_BOTH = ("v1", "v2 draft")
_V2 = ("v2",)
_ALL = (*_BOTH, *_V2)

LOSSES: dict[str, LossRow] = {
    row.id: row
    for row in (
        LossRow(
            "message-patch",
            _V1,
            "a message changed, cleared, or given `_meta` later",
            "what is added at its end; other text once it is settled, as a message of its own",
        ),
        LossRow(
            "prompt",
            _ALL,
            "the id or the place that an agent gives to a prompt which was told before, or that it did not accept it",
            "nothing: the prompt stays as it was told",
        ),
        LossRow("tool-call-cancelled", _BOTH, "the tool call status `cancelled`", "`failed`"),
        LossRow("tool-call-status", _V1, "the status `paused`, or one that is not known", "`in_progress`"),
        LossRow("ended-without-result", _ALL, "that a tool call ended without a result", "`failed`"),
        LossRow("tool-kind", _V1, "a tool kind that v1 does not list", "`other`"),
        LossRow(
            "raw-cleared",
            _V1,
            "the name, `rawInput` or `rawOutput` of a tool call cleared",
            "nothing: the old one stays",
        ),
        LossRow("meta-cleared", _V1, "`_meta` of a tool call cleared", "nothing: the old value stays"),
        LossRow("cancellable", _V1, "that one tool call or terminal can be cancelled", "nothing"),
        LossRow(
            "display-terminal",
            _BOTH,
            "a terminal that the agent shows; in v1, for a client that does not say that it shows such terminals",
            "the end of its output as text in the tool call",
        ),
        LossRow(
            "terminal-details",
            _V1,
            "the command and the size of a terminal that is told in `_meta`",
            "nothing: the tool call says what is run",
        ),
        LossRow(
            "terminal-rewritten",
            _V1,
            "output of such a terminal that takes the place of what was told",
            "the new output, after the old one",
        ),
        LossRow("terminal-bytes", _V1, "output of such a terminal that is not UTF-8", "U+FFFD in its place"),
        LossRow(
            "client-terminal",
            _BOTH,
            "a terminal of another client, for a client that offers none",
            "a line of text that names it",
        ),
        LossRow("diff-partial", _BOTH, "a diff known only as a patch", "the lines that the patch shows"),
        LossRow("diff-operation", _BOTH, "a diff that moves, copies, or has no text", "a line of text that says so"),
        LossRow("diff-delete", _BOTH, "that a file is deleted and not emptied", "the file with an empty text"),
        LossRow("diff-details", _BOTH, "the file type and media type of a changed file", "nothing"),
        LossRow("plan-type", _BOTH, "a plan of a type that is not known", "nothing"),
        LossRow("several-plans", _V1, "several plans side by side", "one plan with the entries of all"),
        LossRow("plan-entry", _BOTH, "a plan entry that is cancelled", "the entry is left out"),
        LossRow("plan-status", _BOTH, "a plan entry of a status that is not known", "`in_progress`"),
        LossRow("plan-priority", _V1, "a plan priority that v1 does not list", "`medium`"),
        LossRow("icons", _V1, "the icons of a resource link", "nothing"),
        LossRow("audience", _V1, "an audience of an annotation that v1 does not list", "nothing"),
        LossRow(
            "content-type",
            _V1,
            "a content block, or an item of a tool call, of a type that v1 does not list and that was not read in v1",
            "its type in brackets, as text",
        ),
        LossRow("audience", _V1, "an audience that v1 does not list", "the others"),
        LossRow("priority", ("v2 draft", "v2"), "the priority of a block outside of 0 to 1", "the nearest of the two"),
        LossRow("size", _ALL, "the size of a resource link that is negative (v2), or too large", "nothing"),
        LossRow(
            "opened-commands",
            _BOTH,
            "the commands in the answer that opens a session",
            "nothing: an update tells them",
        ),
        LossRow("command-type", _V1, "a command of a type that is not known", "nothing"),
        LossRow("option-kind", _V1, "an option of a type that is not known", "nothing"),
        LossRow("boolean-option", _V1, "a switch, for a client that cannot show one", "nothing"),
        LossRow("notice", _BOTH, "a notice, for a client that cannot show one", "nothing"),
        LossRow("compaction", _BOTH, "a compaction, for a client that cannot show one", "nothing"),
        LossRow(
            "state",
            _BOTH,
            "that the session waits for the user, or an unknown state",
            "nothing: the open prompt says that it is busy",
        ),
        LossRow("background", _BOTH, "the list of work in the background", "nothing"),
        LossRow("stop-reason", _V1, "a stop reason that v1 does not list", "`end_turn`, with the reason in `_meta`"),
        LossRow(
            "permission-subject",
            _BOTH,
            "permission for something that is not a tool call",
            "a tool call made for the question",
        ),
        LossRow(
            "permission-text",
            _V1,
            "title and description of a question about a tool call",
            "the tool call's title",
        ),
        LossRow("permission-outcome", _V1, "an answer to a permission request that is not known", "`cancelled`"),
        LossRow("permission-kind", _V1, "a kind of permission option that v1 does not list", "`reject_once`"),
        LossRow("form-format", _BOTH, "the format of a field for text that v1 does not list", "nothing"),
        LossRow("form-value", _BOTH, "a value in a form that no field of v1 can hold", "nothing"),
        LossRow("terminal-login", _ALL, "a login in a terminal, for a client that cannot open one", "nothing"),
        LossRow("auth-method", _BOTH, "an authentication method of an unknown type", "nothing"),
        LossRow(
            "login-type", _V2, "the type of a login that v1 does not list, and its members", "a login of the agent's"
        ),
        LossRow(
            "repeated-variable", _V1, "several variables of one name, for a login in a terminal", "the last of them"
        ),
        LossRow(
            "logout",
            _V2,
            "that an agent with a login has no logout, or that one without a login has one",
            "nothing: in v2 a login has a logout",
        ),
        LossRow("diff-texts", _V2, "the whole text of a changed file", "a patch that shows what differs"),
        LossRow("mode", _V2, "the mode in force, where no option can stand for it", "nothing"),
        LossRow("empty-select", _V2, "an option without choices or without a value", "nothing"),
        LossRow("option-groups", _ALL, "groups of choices beside choices in no group", "all of them in no group"),
        LossRow(
            "empty-group",
            _ALL,
            "a group without choices: in v2 any, elsewhere one beside choices in no group",
            "nothing",
        ),
        LossRow("models", _V2, "the list of models beside the options", "nothing"),
        LossRow(
            "update-type",
            _ALL,
            "an unknown update by a name that this version has a meaning for; in v1 also any other that was not read in v1",
            "nothing",
        ),
        LossRow("client-resources", _V2, "that the client offers its files and terminals", "nothing"),
        LossRow(
            "mcp-type", _BOTH, "an MCP server of a type that v1 does not list and that was not read in v1", "nothing"
        ),
        LossRow("mcp-sse", _V2, "that the agent connects to MCP servers over SSE", "nothing"),
        LossRow(
            "session-baseline",
            _V2,
            "that an agent with sessions cannot load, resume, list or close them",
            "nothing: in v2 it must",
        ),
    )
}
