"""The words of the story that every agent in these tests tells, ours or not, in whichever language it is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["CANCELLED", "MANY", "MEBIBYTE", "PATH", "STORY", "TEXT", "THOUGHT"]

PATH = Path(__file__).resolve().parent / "story.json"
STORY: dict[str, Any] = json.loads(PATH.read_text(encoding="utf-8"))
TEXT = "".join(STORY["message"])
THOUGHT = "".join(STORY["thought"])
MANY = 200
MEBIBYTE = 1024 * 1024
CANCELLED = "cancelled"
