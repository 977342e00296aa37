"""What a client sees of the story."""

from __future__ import annotations

from accord.session.entities import PlanEntry
from tests.conversations.story import STORY

__all__ = ["PLAN_DONE"]

PLAN_DONE = [
    PlanEntry(content=entry["content"], priority=entry["priority"], status="completed") for entry in STORY["plan"]
]
