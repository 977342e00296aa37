"""Loads the wire types of a version when one of them is first used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def types_of(module_name: str, namespace: dict[str, Any]) -> Callable[[str], Any]:
    """The `__getattr__` of a package: its first use puts all public names of the module into the package."""

    def find(name: str) -> Any:
        if name[0].isupper() and name not in namespace:  # in lower case, the import system asks for a submodule
            module = vars(import_module(module_name))
            namespace.update({public: module[public] for public in module if public[0].isupper()})
        try:
            return namespace[name]
        except KeyError:
            raise AttributeError(f"module {namespace['__name__']!r} has no attribute {name!r}") from None

    return find
