"""The public names of a version's schema package."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

__all__ = ["exports"]


def exports(package: ModuleType) -> dict[str, Any]:
    assert package.METHODS  # all names are loaded when one is used
    return {
        name: value
        for name, value in vars(package).items()
        # pytest puts modules of its own, under names that are not identifiers, into a package that has a plugin for it
        if name.isidentifier() and not name.startswith("_") and not inspect.ismodule(value)
    }
