"""The v2 draft: reads v1, the early draft and what v2 made of it; sends requests of v1 and updates of the draft.

Several agents repeat whatever version they are offered and speak v1. So as long as a peer has not sent a shape that v1
does not have, null in a tool call update changes nothing, as in v1; from then on it clears.
"""

from __future__ import annotations

from typing import ClassVar

from accord.dialects.dialect import RequestConverter, lazy_table
from accord.dialects.v2_draft.lifecycle import INITIALIZE
from accord.dialects.v2_draft.tool_calls import DraftDialect
from accord.schema import v2_draft as wire

__all__ = ["V2Draft"]


class V2Draft(DraftDialect):
    """The early draft of v2, and v1 spoken under the number 2."""

    name: ClassVar[str] = "v2 draft"
    version: ClassVar[int] = 2
    result_ends_turn: ClassVar[bool] = True
    reports_state: ClassVar[bool] = False
    echoes_prompt: ClassVar[bool] = True
    has_modes: ClassVar[bool] = True
    announces_tool_calls: ClassVar[bool] = False
    has_models: ClassVar[bool] = True
    initialize_may_repeat: ClassVar[bool] = False
    replay_may_follow_load: ClassVar[bool] = False
    refuses_other_servers: ClassVar[bool] = False
    odd_ids_allowed: ClassVar[bool] = True
    batches_allowed: ClassVar[bool] = True

    INITIALIZE = INITIALIZE
    INITIALIZE_METHOD = wire.METHODS["initialize"]
    TABLES = "accord.dialects.v2_draft.tables"
    LOGINS: ClassVar[list[RequestConverter]] = lazy_table()

    def _index_requests(self) -> dict[str, RequestConverter]:
        return {**super()._index_requests(), **{converter.method: converter for converter in self.LOGINS}}
