"""What a client sees of the story, line by line (see `seen`)."""

from __future__ import annotations

from accord.session.entities import PlanEntry
from tests.conversations.story import STORY

__all__ = ["PLAN_DONE", "STORY_TOLD_IN_V1", "STORY_TOLD_IN_V2"]

FILE = STORY["file"]
READ = f"[{FILE['before']}]"
DIFF = f"[modify {FILE['path']}]"
TERMINAL = "terminal-of-the-agent"

PLAN_DONE = [
    PlanEntry(content=entry["content"], priority=entry["priority"], status="completed") for entry in STORY["plan"]
]

BEGINNING = [
    *(f"thought: {piece}" for piece in STORY["thought"]),
    "plan main pending pending pending",
    "call-read pending",
    "call-read in_progress",
]
END = [
    "plan main completed completed completed",
    *(f"agent: {piece}" for piece in STORY["message"]),
    f"usage {STORY['usage']['used']} of {STORY['usage']['size']}",
    f"title {STORY['title']}",
]

STORY_TOLD_IN_V1 = [
    *BEGINNING,
    "asked fs/read_text_file",
    f"call-read completed {READ}",
    "call-edit pending",
    "call-edit in_progress",
    f"call-edit in_progress {DIFF}",
    "asked session/request_permission",
    f"call-edit pending {DIFF}",
    "asked fs/write_text_file",
    f"call-edit completed {DIFF}",
    "call-run pending",
    "call-run in_progress",
    "asked terminal/create",
    "call-run in_progress [terminal-0]",
    "asked terminal/wait_for_exit",
    "asked terminal/output",
    "asked terminal/release",
    "call-run completed [terminal-0]",
    *END,
]

STORY_TOLD_IN_V2 = [
    "user is: story",
    "running",
    *BEGINNING,
    f"call-read in_progress {READ}",
    f"call-read completed {READ}",
    "call-edit pending",
    "call-edit in_progress",
    f"call-edit in_progress {DIFF}",
    "requires_action",
    "asked session/request_permission",
    f"call-edit pending {DIFF}",
    "running",
    f"call-edit completed {DIFF}",
    "call-run pending",
    "call-run in_progress",
    f"{TERMINAL} runs",
    f"call-run in_progress [{TERMINAL}]",
    f"{TERMINAL} writes 5",
    f"{TERMINAL} writes 5",
    f"{TERMINAL} writes 3",
    f"{TERMINAL} ended",
    f"call-run completed [{TERMINAL}]",
    "asked elicitation/create",
    *END,
    "idle end_turn",
]
