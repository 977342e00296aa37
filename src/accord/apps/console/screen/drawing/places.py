"""Paths as a person says them."""

from __future__ import annotations

import os

__all__ = ["short_path"]


def short_path(path: str, cwd: str) -> str:
    """Relative to the session's directory where it is inside, with ~ for the home directory otherwise."""
    inside = cwd.rstrip("/") + "/"
    if cwd and path.startswith(inside):
        return path[len(inside) :]
    home = os.path.expanduser("~")  # noqa: PTH111  # the text of it, nothing is looked up
    return f"~{path[len(home) :]}" if path.startswith(f"{home}/") else path
