"""Our types against the official schema, in both directions.

What is meant to differ is listed in `differences_v1.toml` and `differences_v2.toml`, one entry each:

    [[difference]]
    definition = "NewSessionRequest"    # its name in the schema's $defs, or the class its members are in, or a method
    property = "mcpServers"             # the member, as the wire spells it; left out where the whole is meant
    what = "optional"                   # see below
    into = "..."                        # merged and joined only: where its members are
    reason = "..."

    missing       there, not here                       extra           here, not in the stable schema
    optional      required there, not here              required        the other way round
    nullable      null is a value here only             not nullable    there only
    forgiven      an error there, not here              not forgiven    the other way round
    wider         more values are taken here            narrower        fewer
    alias         a second spelling is read here        default tag     a missing tag is read as this one here
    merged        no type of that name: its members are in `into`, which checks that they fit together
    joined        the members of the union `into` are repeated here, because a tagged variant is one flat object
    other type    neither wider nor narrower            sender, params, result    of a method

Not compared: defaults (a field that was not received stays unset) and formats, which are remarks. Every union keeps
unknown variants here, also where the schema closes it, so only what it demands of unknown variants is compared.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import msgspec

from accord.schema.method import Method
from tests.parity.official import Schema
from tests.parity.shapes import (
    ANYTHING,
    UNBOUNDED,
    Bounds,
    Branch,
    OfficialShapes,
    OurShapes,
    Property,
    Shape,
    default_tag,
    is_struct,
    members,
    merged,
    variants,
)


@dataclass(frozen=True)
class Difference:
    """One difference; an entry may call its definition by any of `names`."""

    names: tuple[str, ...]
    member: str
    what: str
    detail: str = ""

    def __str__(self) -> str:
        place = ".".join(filter(None, (self.names[0], self.member)))
        return f"{place}: {self.what}" + (f" ({self.detail})" if self.detail else "")


@dataclass(frozen=True)
class Entry:
    """An intended difference."""

    definition: str
    what: str
    reason: str
    member: str = ""
    into: str = ""

    def explains(self, difference: Difference) -> bool:
        known = self.definition in difference.names
        return known and (self.member, self.what) == (difference.member, difference.what)


def entries(path: Path) -> list[Entry]:
    listed = tomllib.loads(path.read_text(encoding="utf-8")).get("difference", [])
    return [Entry(member=entry.pop("property", ""), **entry) for entry in listed]


def unexplained(found: list[Difference], listed: list[Entry]) -> list[str]:
    left = [difference for difference in found if not any(entry.explains(difference) for entry in listed)]
    return sorted({str(difference) for difference in left})


def unused(found: list[Difference], listed: list[Entry]) -> list[str]:
    return [
        ".".join(filter(None, (entry.definition, entry.member))) + f": {entry.what}"
        for entry in listed
        if not any(entry.explains(difference) for difference in found)
    ]


def differences(schema: Schema, exports: Mapping[str, Any], methods: Mapping[str, Method]) -> list[Difference]:
    comparison = Comparison(schema, exports)
    comparison.compare_definitions()
    comparison.compare_methods(methods)
    return comparison.found


class Comparison:
    """One pass over the definitions of a version."""

    def __init__(self, schema: Schema, exports: Mapping[str, Any]) -> None:
        self.schema = schema
        self.exports = exports
        self.official = OfficialShapes(schema.definitions)
        self.ours = OurShapes(exports)
        self.found: list[Difference] = []
        self.unions: dict[str, tuple[str, set[str]]] = {}  # of the structs that are variants, or parents of such
        self.compared: set[str] = set()  # our structs
        self.parts: set[str] = set()  # official definitions whose members were found somewhere

    def compare_definitions(self) -> None:
        definitions = {
            name: definition
            for name, definition in self.schema.definitions.items()
            # the JSON-RPC envelope, and messages of which nothing is known
            if not definition.get("x-docs-ignore") and definition.keys() - {"description"}
        }
        # Unions first: they say what the members of a variant are that its own definition does not have.
        later: list[str] = []
        for name, definition in definitions.items():
            ours = self.exports.get(name)
            if ours is not None and not is_struct(ours) and variants(ours) and not self.official.arrays(definition):
                self._compare_union(name, ours)
            else:
                later.append(name)
        for name in later:
            if name in self.exports:
                self._compare_definition(name, self.exports[name])
        self._report_missing(definitions)
        self._report_extra()

    def _compare_definition(self, name: str, ours: Any) -> None:
        definition = self.schema.definitions[name]
        arrays = self.official.arrays(definition)
        if self.official.is_scalar(definition) or self.ours.is_scalar(ours):
            self._compare_shape((name,), "", self.official.shape(definition), self.ours.shape(ours))
        elif is_struct(ours):
            self._compare_struct((name,), self.official.branches({"$ref": f"#/$defs/{name}"}), ours)
        elif arrays:
            self._compare_array(name, arrays, ours)
        else:
            self._report((name,), "", "other type", "cannot be compared")

    def _compare_array(self, name: str, arrays: list[dict[str, Any]], ours: Any) -> None:
        lengths = [(array.get("minItems"), array.get("maxItems")) for array in arrays]
        (array,) = members(ours)
        (element,) = get_args(array)
        # Spelled out, since the shape of what is exported is its name.
        bounds = OurShapes({}).shape(ours).bounds.get("array", UNBOUNDED)
        if set(lengths) != {bounds}:
            self._report((name,), "", "other type", f"lengths {lengths} there, {bounds} here")
        branches = [branch for each in arrays for branch in self.official.branches(each["items"])]
        self._compare_struct((element.__name__, name), branches, element)

    def _compare_union(self, name: str, ours: Any) -> None:
        ours_by_tag = variants(ours)
        tag_field = next(iter(ours_by_tag.values())).__struct_config__.tag_field
        assert tag_field is not None
        by_tag: dict[str | None, list[Branch]] = {}
        for branch in self.official.branches(self.schema.definitions[name]):
            told = branch.properties.get(tag_field)
            tags = told.shape.values if told is not None else frozenset[str]()
            by_tag.setdefault(next(iter(tags), None), []).append(branch)
            if told is not None and not told.required:
                self._report((name,), tag_field, "required", f"of {', '.join(tags) or 'unknown variants'}")
        unknown = by_tag.pop(None, [])
        if any(told.required for told in _without(merged(unknown), tag_field).values()):
            self._report((name,), "", "wider", "unknown variants need not have what they must have there")
        if (assumed := default_tag(ours)) is not None:
            self._report((name,), tag_field, "default tag", assumed)
        for tag in sorted(filter(None, by_tag.keys() | ours_by_tag.keys())):
            if tag not in ours_by_tag or tag not in by_tag:
                self._report((name,), f"{tag_field}={tag}", "missing" if tag in by_tag else "extra")
                continue
            struct, branches = ours_by_tag[tag], by_tag[tag]
            for parent in struct.__mro__:
                self.unions.setdefault(parent.__name__, (name, set()))[1].update(
                    *(each.properties for each in branches)
                )
            parts = sorted({part for branch in branches for part in branch.parts})
            self._compare_struct((struct.__name__, *parts, name), branches, struct, tag_field)

    def _compare_struct(
        self, names: tuple[str, ...], branches: list[Branch], struct: type[msgspec.Struct], tag_field: str | None = None
    ) -> None:
        self.compared.update(parent.__name__ for parent in struct.__mro__)
        self.parts.update(part for branch in branches for part in branch.parts)
        theirs = _without(merged(branches), tag_field)
        ours = self.ours.properties(struct)
        for member in theirs.keys() - ours.keys():
            self._report(names, member, "missing")
        self._report_extra_members(names, set(ours.keys() - theirs.keys()), struct)
        for member in theirs.keys() & ours.keys():
            declared = [parent.__name__ for parent in struct.__mro__ if member in _declared(parent)]
            self._compare_property(tuple(dict.fromkeys((*names, *declared))), member, theirs[member], ours[member])

    def _report_extra_members(self, names: tuple[str, ...], extra: set[str], struct: type[msgspec.Struct]) -> None:
        union, repeated = self.unions.get(struct.__name__, ("", set[str]()))
        if extra and extra <= repeated and union not in names:
            self._report(names, "", "joined", f"{', '.join(sorted(extra))} belong to {union}")
            return
        for member in extra:
            self._report(names, member, "extra")

    def _compare_property(self, names: tuple[str, ...], member: str, theirs: Property, ours: Property) -> None:
        if theirs.required != ours.required:
            self._report(names, member, "required" if ours.required else "optional")
        if ours.alias is not None:
            self._report(names, member, "alias", ours.alias)
        for marker in ours.markers - theirs.markers:
            self._report(names, member, "forgiven", marker.name)
        for marker in theirs.markers - ours.markers:
            self._report(names, member, "not forgiven", marker.name)
        self._compare_shape(names, member, theirs.shape, ours.shape)

    def _compare_shape(self, names: tuple[str, ...], member: str, theirs: Shape, ours: Shape) -> None:
        if theirs.nullable != ours.nullable and ANYTHING not in (theirs, ours):
            self._report(names, member, "nullable" if ours.nullable else "not nullable")
        for wider, told in self._compared(theirs, ours):
            what = "other type" if wider is None else "wider" if wider else "narrower"
            self._report(names, member, what, told)

    def _compared(self, theirs: Shape, ours: Shape) -> Iterator[tuple[bool | None, str]]:
        """How ours differs: it takes more (True), less (False), or something else (None)."""
        if theirs.name in self.exports and self.ours.shape(self.exports[theirs.name]).takes_the_same_as(ours):
            return  # how that definition differs is told once, not wherever it is used
        if ANYTHING in (theirs, ours):
            if theirs != ours:
                yield ours == ANYTHING, "anything"
            return
        yield from ((True, f"also {told}") for told in _only(ours, theirs))
        yield from ((False, f"not {told}") for told in _only(theirs, ours))
        yield from ((None, f"{told}, which is not there") for told in _unmatched(ours, theirs))
        yield from ((None, f"not {told}") for told in _unmatched(theirs, ours))
        for kind in theirs.bounds.keys() | ours.bounds.keys():
            there, here = (shape.bounds.get(kind, UNBOUNDED) for shape in (theirs, ours))
            if there != here:
                yield _is_wider(here, there), f"{kind} {there} there, {here} here"
        for part, one, two in (("elements", theirs.element, ours.element), ("members", theirs.member, ours.member)):
            if one is not None and two is not None:
                yield from ((wider, f"{part}: {told}") for wider, told in self._compared(one, two))
                if one.nullable != two.nullable and ANYTHING not in (one, two):
                    yield two.nullable, f"{part}: null"

    def _report_missing(self, definitions: Mapping[str, Any]) -> None:
        for name in definitions.keys() - self.exports.keys():
            # A string or number by another name is spelled out where it is used.
            if name in self.parts or (self.official.is_scalar(definitions[name]) and self._is_used(name)):
                self._report((name,), "", "merged")
            else:
                self._report((name,), "", "missing")

    def _is_used(self, name: str) -> bool:
        reference = f"'#/$defs/{name}'"
        return any(
            reference in repr(definition)
            for user, definition in self.schema.definitions.items()
            if user in self.exports
        )

    def _report_extra(self) -> None:
        for name in self.exports.keys() - self.schema.definitions.keys():
            ours = self.exports[name]
            if not self.ours.is_scalar(ours) and name not in self.compared:
                self._report((name,), "", "extra")

    def compare_methods(self, methods: Mapping[str, Method]) -> None:
        for name in self.schema.methods.keys() - methods.keys():
            self._report((name,), "", "missing", "method")
        for name in methods.keys() - self.schema.methods.keys():
            self._report((name,), "", "extra", "method")
        for name in methods.keys() & self.schema.methods.keys():
            theirs, ours = self.schema.methods[name], methods[name]
            if theirs.sender != ours.sender:
                self._report((name,), "", "sender", f"{theirs.sender} there, {ours.sender} here")
            if (ours.kind == "request") != (theirs.result is not None):
                self._report((name,), "", "other type", f"a {ours.kind} here")
            for part, expected in (("params", theirs.params), ("result", theirs.result)):
                told = getattr(ours, part)
                if (expected is None) != (told is None) or (expected and told != self.exports.get(expected)):
                    self._report((name,), "", part, f"{expected} there")

    def _report(self, names: tuple[str, ...], member: str, what: str, detail: str = "") -> None:
        self.found.append(Difference(names, member, what, detail))


def _without(properties: dict[str, Property], name: str | None) -> dict[str, Property]:
    return {key: told for key, told in properties.items() if key != name}


@functools.cache
def _declared(struct: type) -> set[str]:
    """The members that a struct itself declares, as the wire spells them."""
    own = getattr(struct, "__annotations__", {})
    return (
        {told.encode_name for told in msgspec.structs.fields(struct) if told.name in own}
        if is_struct(struct)
        else set()
    )


def _only(more: Shape, less: Shape) -> Iterator[str]:
    yield from sorted(more.kinds - less.kinds)
    yield from sorted(more.values - less.values)
    if more.others and not less.others and less.values:
        yield "other strings"


def _unmatched(more: Shape, less: Shape) -> Iterator[str]:
    for names in more.targets:
        if not any(names & others for others in less.targets):
            yield "/".join(sorted(names - {"Wire", "Struct", "object"})) or "a union without a name"


def _is_wider(here: Bounds, there: Bounds) -> bool | None:
    return True if _holds(here, there) else False if _holds(there, here) else None


def _holds(outer: Bounds, inner: Bounds) -> bool:
    low = outer[0] is None or (inner[0] is not None and outer[0] <= inner[0])
    high = outer[1] is None or (inner[1] is not None and outer[1] >= inner[1])
    return low and high
