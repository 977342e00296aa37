"""The wire types of each version of the protocol, and the readers of their values."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def load_types(namespace: dict[str, Any], *modules: str) -> Callable[[str], Any]:
    """The `__getattr__` of a version's package: its first use puts all names that its modules export into the package."""
    package = namespace["__name__"]

    def find(name: str) -> Any:
        if name[0].isupper() and name not in namespace:  # in lower case, the import system asks for a submodule
            for module_name in ("accord.schema.all_versions", *(f"{package}.{module}" for module in modules)):
                module = import_module(module_name)
                namespace.update({public: getattr(module, public) for public in module.__all__})
        try:
            return namespace[name]
        except KeyError:
            raise AttributeError(f"module {package!r} has no attribute {name!r}") from None

    return find
