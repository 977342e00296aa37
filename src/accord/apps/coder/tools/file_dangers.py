"""Warnings about changes to files that may make git or accord run other programs. The user is always asked about these."""

from __future__ import annotations

from pathlib import Path

from accord.apps.coder.tools.programs import installation
from accord.apps.coder.tools.tool_context import ToolContext
from accord.errors import UnusableRepository
from accord.local.git import is_bare_layout, nested_repository
from accord.local.text import printable

__all__ = ["danger_of_moving", "danger_of_writing"]


def danger_of_writing(context: ToolContext, path: Path) -> str | None:
    """Why writing this file is dangerous; None if it is not."""
    return _new_repository(context, path) or _change_of_installation(context, path)


def danger_of_moving(context: ToolContext, source: Path, destination: Path) -> str | None:
    """Why moving a file or directory is dangerous; None if it is not."""
    return (
        _new_repository(context, destination)
        or _moved_repository(context, source)
        or _change_of_installation(context, destination)
        or _change_of_installation(context, source)
    )


def _new_repository(context: ToolContext, path: Path) -> str | None:
    """A file there, wherever links lead, may make a directory a git repository, whose settings name programs."""
    resolved = context.resolve(str(path))
    for depth, name in enumerate(resolved.names):
        directory = resolved.root.joinpath(*resolved.names[:depth])
        if is_bare_layout(directory, name):
            return (
                f"This makes {printable(context.display_path(directory))} look like a git repository: git may run "
                "programs that files in it name."
            )
    return None


def _moved_repository(context: ToolContext, path: Path) -> str | None:
    """The same for a directory that is moved with everything in it."""
    danger = _new_repository(context, path / "HEAD")
    if danger is not None or path.is_symlink():
        return danger
    try:
        repository = nested_repository(path)
    except (OSError, UnusableRepository) as error:
        return (
            "This may move a git repository, in which files name programs; it can't be checked: "
            f"{printable(str(error))}."
        )
    if repository is None:
        return None
    name = printable(context.display_path(repository))
    return f"This moves {name}, a git repository: git may run programs that files in it name."


def _change_of_installation(context: ToolContext, path: Path) -> str | None:
    """Files that accord runs without asking."""
    real = context.resolve(str(path)).real
    for directory in installation():
        if real.is_relative_to(directory) or directory.is_relative_to(real):
            return (
                f"This changes the installation of accord in {printable(context.display_path(directory))}: files there "
                "may be run without asking."
            )
    return None
