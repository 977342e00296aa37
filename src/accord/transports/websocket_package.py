"""What both ends of a WebSocket need of the package `websockets`: masks, and codes to close with.

This module needs the extra `http`.
"""

from __future__ import annotations

from typing import cast

from websockets.exceptions import PayloadTooBig, ProtocolError
from websockets.frames import CloseCode

from accord.transports.websocket_messages import Mask

try:
    from websockets.speedups import apply_mask as _apply_mask
except ImportError:  # no compiled part for this machine
    from websockets.utils import apply_mask as _apply_mask

__all__ = ["INVALID", "apply_mask", "close_code"]

INVALID = (PayloadTooBig, ProtocolError, UnicodeDecodeError)
"""What came is not allowed."""
apply_mask = cast("Mask", _apply_mask)


def close_code(invalid: Exception) -> CloseCode:
    """The code to close with."""
    if isinstance(invalid, PayloadTooBig):
        return CloseCode.MESSAGE_TOO_BIG
    return CloseCode.INVALID_DATA if isinstance(invalid, UnicodeDecodeError) else CloseCode.PROTOCOL_ERROR
