"""What an agent is told when a file can't be had; it names the reason and no more than the agent said itself."""

from __future__ import annotations

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from accord.errors import Denied, InvalidParams, NotFound, RequestFailed

__all__ = ["missing", "refusing", "unusable"]


def unusable(action: str, path: str, reason: str) -> RequestFailed:
    """The file is no such thing, or the system can't do it."""
    shown = path if len(path) <= 200 else f"{path[:200]}…"
    return RequestFailed(-32603, f"Can't {action} {shown}: {reason}", {"reason": reason})


def missing(path: str) -> NotFound:
    """There is no such file: one meaning, one error. AMB-34, FN-71"""
    return NotFound(uri=Path(path).as_uri())


@contextmanager
def refusing(action: str, path: str) -> Generator[None]:
    """Says an error of the system in the protocol's words."""
    try:
        yield
    except PermissionError as error:
        raise Denied(f"fs.{action} refused by the system: {path}") from error
    except (FileNotFoundError, NotADirectoryError) as error:
        if action == "read":
            raise missing(path) from error
        raise unusable(action, path, "a directory on the way is missing, or is none") from error
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:  # seen only when the directories before it are made
            raise InvalidParams("it is too long", field="path") from error
        raise unusable(action, path, os.strerror(error.errno) if error.errno else "the system refuses") from error
