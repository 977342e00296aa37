"""v1: the result of a prompt ends the turn, the client has files and terminals, enums are closed."""

from __future__ import annotations

from typing import Any, ClassVar

import accord.schema.v1.lifecycle as wire
from accord.dialects.v1.lifecycle import INITIALIZE
from accord.dialects.v1.rewrites import RewriteDialect
from accord.session.updates import Update

__all__ = ["V1"]


class V1(RewriteDialect):
    """ACP v1 as published, which includes v1 as first documented."""

    name: ClassVar[str] = "v1"
    version: ClassVar[int] = 1
    result_ends_turn: ClassVar[bool] = True
    reports_state: ClassVar[bool] = False
    echoes_prompt: ClassVar[bool] = False
    has_modes: ClassVar[bool] = True
    announces_tool_calls: ClassVar[bool] = True
    has_models: ClassVar[bool] = True
    initialize_may_repeat: ClassVar[bool] = False
    replay_may_follow_load: ClassVar[bool] = True
    refuses_other_servers: ClassVar[bool] = False
    odd_ids_allowed: ClassVar[bool] = True
    batches_allowed: ClassVar[bool] = True

    INITIALIZE = INITIALIZE
    INITIALIZE_METHOD = wire.INITIALIZE
    TABLES = "accord.dialects.v1.tables"

    def update_to_wire(self, session_id: str, update: Update) -> list[Any]:
        """The params that express an update, and before it, rewritten messages that it finishes."""
        finished = self.rewrites[session_id].finished_before(update)
        if not finished:
            return super().update_to_wire(session_id, update)
        from accord.dialects.v1.updates import rewrite_to_wire  # noqa: PLC0415  # not loaded when an agent starts

        before = [
            self.UPDATE_PARAMS(session_id=session_id, update=chunk)
            for rewrite in finished
            for chunk in rewrite_to_wire(self, session_id, rewrite)
        ]
        return [*before, *super().update_to_wire(session_id, update)]
