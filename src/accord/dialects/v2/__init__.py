"""v2: the result of a prompt begins the turn, states end it, everything is a patch by id, and nearly all enums are open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from accord.dialects.dialect import lazy_table
from accord.dialects.v2.lifecycle import INITIALIZE, INITIALIZE_METHOD, LENIENT_HANDSHAKE
from accord.dialects.v2.session_options import OptionsDialect

__all__ = ["V2"]


class V2(OptionsDialect):
    """ACP v2 as published. A few shapes of its draft are read too, unless strict."""

    name: ClassVar[str] = "v2"
    version: ClassVar[int] = 2
    result_ends_turn: ClassVar[bool] = False
    reports_state: ClassVar[bool] = True
    echoes_prompt: ClassVar[bool] = True
    has_modes: ClassVar[bool] = False
    announces_tool_calls: ClassVar[bool] = False
    has_models: ClassVar[bool] = False
    initialize_may_repeat: ClassVar[bool] = True
    replay_may_follow_load: ClassVar[bool] = False
    refuses_other_servers: ClassVar[bool] = True
    odd_ids_allowed: ClassVar[bool] = False
    batches_allowed: ClassVar[bool] = False

    INITIALIZE = INITIALIZE
    INITIALIZE_METHOD = INITIALIZE_METHOD
    TABLES = "accord.dialects.v2.tables"
    LENIENT_TYPES: ClassVar[Mapping[Any, Any]] = lazy_table()

    def _lenient_type(self, wire_type: Any) -> Any:
        if self.strict:
            return wire_type
        return LENIENT_HANDSHAKE.get(wire_type) or self.LENIENT_TYPES.get(wire_type, wire_type)
