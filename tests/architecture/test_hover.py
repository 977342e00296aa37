"""What an editor shows of the public names: every class, function and member has a sentence, and no result is untyped."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import accord
import accord.store
import accord.testing
from accord import permissions

EXPORTS = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (accord, accord.testing, accord.store)
    for name in module.__all__
}
CLASSES = {
    name: value for name, value in EXPORTS.items() if isinstance(value, type) and value.__module__.startswith("accord.")
}
FUNCTIONS = {
    name: value
    for name, value in {
        **EXPORTS,
        **{f"accord.permissions.{each}": value for each, value in vars(permissions).items()},
    }.items()
    if inspect.isfunction(value) and "._" not in name and value.__module__.startswith("accord.")
}


def bases(kind: type) -> Iterator[type]:
    for base in kind.__mro__:
        if base.__module__.startswith("accord."):
            yield base


def class_node(kind: type) -> ast.ClassDef:
    tree = ast.parse(Path(str(sys.modules[kind.__module__].__file__)).read_text(encoding="utf-8"))
    return next(node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == kind.__name__)


def members(body: list[ast.stmt], owner: str = "") -> Iterator[tuple[str, bool]]:
    """The public members that these statements define, and whether each has a sentence."""
    for node, following in zip(body, [*body[1:], None], strict=True):
        has_sentence = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name == "__init__":
                arguments = {each.arg for each in (*node.args.args, *node.args.kwonlyargs)}
                yield from ((name, known or name in arguments) for name, known in members(node.body, "self"))
            elif not owner:
                is_setter = any(
                    isinstance(each, ast.Attribute) and each.attr == "setter" for each in node.decorator_list
                )
                yield node.name, ast.get_docstring(node) is not None or is_setter
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if owner and isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                    yield target.attr, has_sentence
                elif not owner and isinstance(target, ast.Name):
                    yield target.id, has_sentence


@pytest.mark.parametrize("name", CLASSES)
def test_each_public_class_and_member_has_a_sentence(name: str):
    kind = CLASSES[name]
    assert inspect.getdoc(kind), f"{name} has no docstring"
    found: dict[str, bool] = {}
    for base in bases(kind):
        # The fields of a struct and the arguments of a constructor are explained together, in the docstring of the class.
        fields = getattr(base, "__struct_fields__", ())
        for member, has_sentence in members(class_node(base).body):
            if not member.startswith("_") and member not in fields:
                found[member] = found.get(member, False) or has_sentence
    missing = [member for member, has_sentence in found.items() if not has_sentence]
    assert not missing, f"{name}: {missing}"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_public_function_has_a_sentence(name: str):
    assert inspect.getdoc(FUNCTIONS[name])


JSON_OF_OTHERS = {
    "AgentConnection.request", "AuthRequired.auth_methods", "Client.request", "RequestFailed.to_error", "Turn.ask",
    "TurnContext.meta", "TurnContext.trace",
    # What frames say, for tests: they may hold anything.
    "Peek.error", "Peek.get", "Peek.id", "Peek.params", "Peek.result", "ScriptedClient.updates",
}  # fmt: skip
"""JSON whose form only the author and the other side know."""


def results() -> Iterator[tuple[str, str]]:
    """The functions and methods that the public modules export, and what each returns."""
    for kind in CLASSES.values():
        for member, value in inspect.getmembers(kind):
            function = value.fget if isinstance(value, property) else inspect.unwrap(value) if callable(value) else None
            if (
                not member.startswith("_")
                and inspect.isfunction(function)
                and function.__module__.startswith("accord.")
            ):
                yield function.__qualname__, str(function.__annotations__.get("return", "Any"))
    for function in FUNCTIONS.values():
        yield function.__qualname__, str(function.__annotations__.get("return", "Any"))


def test_no_result_of_the_public_api_is_untyped():
    untyped = {
        name for name, result in results() if "Any" in result.replace("AnyTarget", "").split("[")[0] or "Any]" in result
    }
    assert untyped == JSON_OF_OTHERS
