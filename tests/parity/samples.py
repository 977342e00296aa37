"""Values that the official schema allows: for each object it describes the smallest, and one with every member."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.parity.shapes import ANYTHING, Branch, OfficialShapes, Shape

TEXT = "_text"  # also the value of an open enum that belongs to implementers


class Samples:
    """Makes samples of the definitions of a schema."""

    def __init__(self, definitions: dict[str, Any]) -> None:
        self.official = OfficialShapes(definitions)

    def of(self, definition: str) -> Iterator[dict[str, Any]]:
        for branch in self.official.branches({"$ref": f"#/$defs/{definition}"}):
            yield self._object(branch, full=False)
            yield self._object(branch, full=True)

    def alternatives(self, definition: str) -> Iterator[tuple[dict[str, Any], str]]:
        """One for each alternative that a member has, and the member: every listed value and variant of an object."""
        for branch in self.official.branches({"$ref": f"#/$defs/{definition}"}):
            smallest = self._object(branch, full=False)
            for name, told in branch.properties.items():
                yield from (({**smallest, name: value}, name) for value in self._alternatives(told.shape))

    def _object(self, branch: Branch, full: bool) -> dict[str, Any]:
        return {name: self._value(told.shape) for name, told in branch.properties.items() if full or told.required}

    def _value(self, shape: Shape) -> Any:
        if shape == ANYTHING:
            return {"any": ["thing", 1, None]}
        if not shape.kinds:
            return None
        if shape.targets:
            ((name,),) = shape.targets
            return self._target(name)
        kind = min(shape.kinds)
        least = shape.bounds.get(kind, (None, None))[0]
        if kind == "array":
            assert shape.element is not None
            return [self._value(shape.element)] * int(least or 1)
        if kind == "object":
            assert shape.member is not None
            return {"key": self._value(shape.member)}
        return {"string": min(shape.values, default=TEXT), "integer": int(least or 1), "number": 0.5, "boolean": True}[
            kind
        ]

    def _target(self, name: str) -> Any:
        arrays = self.official.arrays({"$ref": f"#/$defs/{name}"})
        if arrays:
            return [self._value(self.official.shape(arrays[0]["items"]))]
        return self._object(self.official.branches({"$ref": f"#/$defs/{name}"})[0], full=False)

    def _alternatives(self, shape: Shape) -> Iterator[Any]:
        if shape.nullable:
            yield None
        yield from sorted(shape.values)
        for names in shape.targets:
            for name in names:
                yield from self._every(name)
        if shape.element is not None:
            yield from ([element] for element in self._alternatives(shape.element))
        if shape.member is not None and shape.member != ANYTHING:
            yield from ({"key": value} for value in self._alternatives(shape.member))

    def _every(self, name: str) -> Iterator[Any]:
        """An object, or an array, of each form that the definition allows."""
        node = {"$ref": f"#/$defs/{name}"}
        for array in self.official.arrays(node):
            yield from ([element] for element in self._alternatives(self.official.shape(array["items"])))
        if not self.official.arrays(node):
            yield from (self._object(branch, full=False) for branch in self.official.branches(node))
