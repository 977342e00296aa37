"""Every message of v1, in its shortest and its longest form, is read by its type and written back as it was."""

from __future__ import annotations

import inspect
import json
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from accord.schema import all_versions, v1
from accord.schema.wire_values import UNSET, Wire
from tests.schema.exports import exports

FILES = sorted((Path(__file__).resolve().parents[2] / "fixtures" / "v1").glob("*.json"))
BY_SLUG = {name.removeprefix("$/").replace("/", "_"): method for name, method in v1.METHODS.items()}
ABSTRACT = {v1.ConfigOption, v1.ContentChunk, v1.ElicitationScope}
# AMB-42: may be missing when read, although a sender has to write it.
FORGIVEN = {
    ("session_new", "mcpServers"),
    ("session_load", "mcpServers"),
    ("session_list", "sessions"),
    ("session_set_config_option", "configOptions"),
}


def expected_type(file: Path) -> Any:
    slug, kind, *_ = file.name.split(".")
    method = BY_SLUG[slug]
    return method.result if kind == "response" else method.params


def form(file: Path) -> str:
    return file.name.split(".")[-2]


def objects(value: Any) -> Iterator[Wire]:
    if isinstance(value, Wire):
        yield value
        for name in value.__struct_fields__:
            yield from objects(getattr(value, name))
    elif isinstance(value, list):
        for element in value:
            yield from objects(element)
    elif isinstance(value, dict):
        yield from objects(list(value.values()))


def wire_types() -> list[type[Wire]]:
    return [
        each
        for each in exports(v1).values()
        if inspect.isclass(each) and issubclass(each, Wire) and each not in ABSTRACT
    ]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
@pytest.mark.requirement("CHECK-25")
def test_a_message_is_written_back_as_it_was_read(file: Path):
    message = file.read_bytes()
    assert json.loads(msgspec.json.encode(msgspec.json.decode(message, type=expected_type(file)))) == json.loads(
        message
    )


@pytest.mark.parametrize("file", [file for file in FILES if form(file) == "minimal"], ids=lambda file: file.stem)
def test_nothing_can_be_left_out_of_a_minimal_message(file: Path):
    message = json.loads(file.read_bytes())
    for key in message:
        if (file.name.split(".")[0], key) not in FORGIVEN:
            rest = {name: value for name, value in message.items() if name != key}
            with pytest.raises(msgspec.ValidationError):
                msgspec.convert(rest, expected_type(file))


@pytest.mark.requirement("EXT-01")
def test_the_full_messages_together_show_every_member_of_every_type():
    shown: defaultdict[type[Wire], set[str]] = defaultdict(set)
    for file in FILES:
        if form(file) == "full":
            for each in objects(msgspec.json.decode(file.read_bytes(), type=expected_type(file))):
                shown[type(each)].update(name for name in each.__struct_fields__ if getattr(each, name) is not UNSET)
    missing = {each.__name__: set(each.__struct_fields__) - shown[each] for each in wire_types()}
    assert {name: members for name, members in missing.items() if members} == {}


def test_every_method_and_every_update_has_a_minimal_and_a_full_message():
    names = {file.stem for file in FILES}
    stems: set[str] = set()
    for slug, method in BY_SLUG.items():
        stems.add(f"{slug}.{method.kind}")
        if method.result is not None:
            stems.add(f"{slug}.response")
    variants = get_args(get_args(v1.SessionUpdate)[0])
    stems.update(f"session_update.notification.{variant.__struct_config__.tag}" for variant in variants)
    for stem in stems:
        for ending in ("minimal", "full"):
            assert any(name.startswith(f"{stem}.") and name.endswith(f".{ending}") for name in names), (stem, ending)


def test_the_package_exports_what_its_modules_export():
    folder = Path(v1.__file__).parent
    modules = [import_module(f"accord.schema.v1.{file.stem}") for file in folder.glob("*.py") if file.stem[0] != "_"]
    listed = [module.__all__ for module in (all_versions, *modules) if hasattr(module, "__all__")]
    assert set(exports(v1)) == {name for names in listed for name in names}
