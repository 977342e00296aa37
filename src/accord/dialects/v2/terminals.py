"""Converts the display terminals of v2. Bytes are base64 on the wire, each chunk by itself."""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64

from accord.dialects.dialect import Dialect
from accord.dialects.struct_converter import StructConverter
from accord.dialects.unset_values import map_value
from accord.dialects.v2.tool_calls import can_cancel
from accord.errors import Malformed
from accord.schema import v2 as wire
from accord.schema.wire_values import UNSET, UnsetType
from accord.session.entities import Exit, TerminalSize
from accord.session.updates import Patch, TerminalAppend, TerminalPatch

_EXIT = StructConverter(Exit, wire.TerminalExitStatus, code="exit_code")
_SIZE = StructConverter(TerminalSize, wire.TerminalSize, columns="cols")


def patch_to_wire(patch: TerminalPatch) -> wire.TerminalUpdate:
    return wire.TerminalUpdate(
        terminal_id=patch.id,
        command=patch.command,
        cwd=patch.cwd,
        output=map_value(patch.output, _output),
        exit_status=map_value(patch.exit, _EXIT.to_wire),
        size=map_value(patch.size, _SIZE.to_wire),
        capabilities=map_value(patch.cancellable, _capabilities),
        meta=patch.meta,
    )


def patch_from_wire(dialect: Dialect, update: wire.TerminalUpdate) -> list[Patch]:
    return [
        TerminalPatch(
            id=update.terminal_id,
            command=update.command,
            cwd=update.cwd,
            output=map_value(update.output, lambda output: _decode(dialect, output.data, "output.data")),
            exit=map_value(update.exit_status, _EXIT.from_wire),
            size=map_value(update.size, _SIZE.from_wire),
            cancellable=map_value(update.capabilities, can_cancel),
            meta=update.meta,
        )
    ]


def _output(data: bytes) -> wire.TerminalOutput:
    return wire.TerminalOutput(data=_encode(data))


def _capabilities(cancellable: bool) -> wire.TerminalCapabilities:
    return wire.TerminalCapabilities(cancel=wire.TerminalCancelCapabilities() if cancellable else UNSET)


def append_to_wire(patch: TerminalAppend) -> wire.TerminalOutputChunk:
    return wire.TerminalOutputChunk(terminal_id=patch.id, data=_encode(patch.data), meta=patch.meta)


def append_from_wire(dialect: Dialect, update: wire.TerminalOutputChunk) -> list[Patch]:
    """No patch when the bytes can't be decoded."""
    data = _decode(dialect, update.data, "data")
    return [] if data is UNSET else [TerminalAppend(id=update.terminal_id, data=data, meta=update.meta)]


def _encode(data: bytes) -> str:
    return b2a_base64(data, newline=False).decode("ascii")


def _decode(dialect: Dialect, data: str, member: str) -> bytes | UnsetType:
    """The bytes; invalid base64 counts as missing, so that one bad chunk does not end the session."""
    try:
        return a2b_base64(data, strict_mode=True)
    except ValueError as error:
        if dialect.strict:
            raise Malformed(f"$.update.{member}", "not base64") from error
        dialect.notes.append(f"$.update.{member}: ignored, not base64")
        return UNSET
