"""Display terminals, between v2 and words: bytes are base64 on the wire, each piece by itself."""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64

from accord.dialects.dialect import Dialect
from accord.dialects.unset_values import map_value, none_if_unset, unset_if_none
from accord.dialects.v2.tool_calls import can_cancel
from accord.errors import Malformed
from accord.schema import v2 as wire
from accord.schema.wire_values import UNSET, UnsetType
from accord.session.entities import Exit, TerminalSize
from accord.session.updates import TerminalAppend, TerminalPatch

__all__ = ["patch_from_wire", "patch_to_wire", "piece_from_wire", "piece_to_wire"]


def patch_to_wire(patch: TerminalPatch) -> wire.TerminalUpdate:
    return wire.TerminalUpdate(
        terminal_id=patch.id,
        command=patch.command,
        cwd=patch.cwd,
        output=map_value(patch.output, _output),
        exit_status=map_value(patch.exit, _exit_to_wire),
        size=map_value(patch.size, _size_to_wire),
        capabilities=map_value(patch.cancellable, _capabilities),
        meta=patch.meta,
    )


def patch_from_wire(dialect: Dialect, update: wire.TerminalUpdate) -> TerminalPatch:
    return TerminalPatch(
        id=update.terminal_id,
        command=update.command,
        cwd=update.cwd,
        output=map_value(update.output, lambda output: _decoded(dialect, output.data, "output.data")),
        exit=map_value(update.exit_status, _exit_from_wire),
        size=map_value(update.size, _size_from_wire),
        cancellable=map_value(update.capabilities, can_cancel),
        meta=update.meta,
    )


def _output(data: bytes) -> wire.TerminalOutput:
    return wire.TerminalOutput(data=_encoded(data))


def _exit_to_wire(ended: Exit) -> wire.TerminalExitStatus:
    return wire.TerminalExitStatus(
        exit_code=unset_if_none(ended.code), signal=unset_if_none(ended.signal), meta=unset_if_none(ended.meta)
    )


def _exit_from_wire(status: wire.TerminalExitStatus) -> Exit:
    return Exit(
        code=none_if_unset(status.exit_code), signal=none_if_unset(status.signal), meta=none_if_unset(status.meta)
    )


def _size_to_wire(size: TerminalSize) -> wire.TerminalSize:
    return wire.TerminalSize(cols=size.columns, rows=size.rows, meta=unset_if_none(size.meta))


def _size_from_wire(size: wire.TerminalSize) -> TerminalSize:
    return TerminalSize(columns=size.cols, rows=size.rows, meta=none_if_unset(size.meta))


def _capabilities(cancellable: bool) -> wire.TerminalCapabilities:
    return wire.TerminalCapabilities(cancel=wire.TerminalCancelCapabilities() if cancellable else UNSET)


def piece_to_wire(piece: TerminalAppend) -> wire.TerminalOutputChunk:
    return wire.TerminalOutputChunk(terminal_id=piece.id, data=_encoded(piece.data), meta=piece.meta)


def piece_from_wire(dialect: Dialect, update: wire.TerminalOutputChunk) -> TerminalAppend | None:
    """The bytes, or None when they cannot be made out."""
    data = _decoded(dialect, update.data, "data")
    return TerminalAppend(id=update.terminal_id, data=data, meta=update.meta) if isinstance(data, bytes) else None


def _encoded(data: bytes) -> str:
    return b2a_base64(data, newline=False).decode("ascii")


def _decoded(dialect: Dialect, data: str, member: str) -> bytes | UnsetType:
    """The bytes; what is not base64 counts as absent, so that one bad piece does not cost the session."""
    try:
        return a2b_base64(data, strict_mode=True)
    except ValueError as error:
        if dialect.strict:
            raise Malformed(f"$.update.{member}", "not base64") from error
        dialect.notes.append(f"$.update.{member}: ignored, not base64")
        return UNSET
