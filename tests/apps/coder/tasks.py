"""Small repositories with a failing test each, and what a model does to mend them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["TASKS", "Task", "replies_to"]

Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Task:
    """`files` with a fault in them, the test that fails, and the calls that mend it."""

    name: str
    files: dict[str, str]
    test: str
    calls: list[Call] = field(default_factory=list)

    @property
    def all_files(self) -> dict[str, str]:
        test = f"import unittest\n\n\nclass Case(unittest.TestCase):\n    def test_it(self):\n{_indented(self.test)}\n"
        return {**self.files, "test_it.py": test}


def _indented(code: str) -> str:
    return "\n".join(f"        {line}" for line in code.strip("\n").splitlines())


def edit(path: str, old: str, new: str, **more: Any) -> Call:
    return "edit", {"path": path, "old_text": old, "new_text": new, **more}


def read(path: str, **more: Any) -> Call:
    return "read", {"path": path, **more}


def write(path: str, content: str) -> Call:
    return "write", {"path": path, "content": content}


TEST: Call = ("run", {"command": "python3 -m unittest -q"})

TASKS = [
    Task(
        "off by one",
        {"ranges.py": "def upto(n):\n    return list(range(n))\n"},
        "from ranges import upto\nself.assertEqual(upto(3), [0, 1, 2, 3])",
        [read("ranges.py"), edit("ranges.py", "range(n)", "range(n + 1)"), TEST],
    ),
    Task(
        "wrong operator",
        {"sums.py": "def add(a, b):\n    return a - b\n"},
        "from sums import add\nself.assertEqual(add(2, 3), 5)",
        [("search", {"pattern": "def add"}), edit("sums.py", "a - b", "a + b"), TEST],
    ),
    Task(
        "missing module",
        {"README.md": "greet says hello\n"},
        "from greet import greet\nself.assertEqual(greet('you'), 'hello you')",
        [read("test_it.py"), write("greet.py", "def greet(name):\n    return f'hello {name}'\n"), TEST],
    ),
    Task(
        "mutable default",
        {"bags.py": "def put(item, bag=[]):\n    bag.append(item)\n    return bag\n"},
        "from bags import put\nput(1)\nself.assertEqual(put(2), [2])",
        [
            read("bags.py"),
            edit("bags.py", "bag=[]):\n", "bag=None):\n    bag = [] if bag is None else bag\n"),
            TEST,
        ],
    ),
    Task(
        "renamed function",
        {"api.py": "def fetch_all():\n    return [1]\n", "use.py": "from api import fetch\n\nDATA = fetch()\n"},
        "from use import DATA\nself.assertEqual(DATA, [1])",
        [
            ("search", {"pattern": r"\bfetch\b", "glob": "*.py"}),
            edit("use.py", "fetch", "fetch_all", replace_all=True),
            TEST,
        ],
    ),
    Task(
        "file in the wrong place",
        {"helpers/units.py": "KM = 1000\n"},
        "from units import KM\nself.assertEqual(KM, 1000)",
        [("list", {"path": "helpers"}), ("move", {"source": "helpers/units.py", "destination": "units.py"}), TEST],
    ),
    Task(
        "shadowing file",
        {"random.py": "x = 1\n", "dice.py": "import random\n\n\ndef roll():\n    return random.randint(1, 6)\n"},
        "from dice import roll\nself.assertIn(roll(), range(1, 7))",
        [read("random.py"), ("delete", {"path": "random.py"}), TEST],
    ),
    Task(
        "integer division",
        {"means.py": "def mean(xs):\n    return sum(xs) // len(xs)\n"},
        "from means import mean\nself.assertEqual(mean([1, 2]), 1.5)",
        [read("means.py"), edit("means.py", "//", "/"), TEST],
    ),
    Task(
        "empty list",
        {"tops.py": "def top(xs):\n    return max(xs)\n"},
        "from tops import top\nself.assertIsNone(top([]))",
        [read("tops.py"), edit("tops.py", "max(xs)", "max(xs, default=None)"), TEST],
    ),
    Task(
        "case of letters",
        {"words.py": "def same(a, b):\n    return a == b\n"},
        "from words import same\nself.assertTrue(same('Ab', 'aB'))",
        [read("words.py"), edit("words.py", "a == b", "a.casefold() == b.casefold()"), TEST],
    ),
    Task(
        "off by a sign",
        {"moves.py": "def left(x):\n    return x + 1\n\n\ndef right(x):\n    return x + 1\n"},
        "from moves import left\nself.assertEqual(left(1), 0)",
        [
            read("moves.py"),
            edit("moves.py", "x + 1", "x - 1"),  # twice in the file: refused
            edit("moves.py", "def left(x):\n    return x + 1", "def left(x):\n    return x - 1"),
            TEST,
        ],
    ),
    Task(
        "missing return",
        {"squares.py": "def square(n):\n    n * n\n"},
        "from squares import square\nself.assertEqual(square(3), 9)",
        [read("squares.py"), edit("squares.py", "    n * n", "    return n * n"), TEST],
    ),
    Task(
        "wrong constant",
        {
            "config.json": '{"retries": 0}\n',
            "settings.py": "import json\nRETRIES = json.load(open('config.json'))['retries']\n",
        },
        "from settings import RETRIES\nself.assertEqual(RETRIES, 3)",
        [read("config.json"), write("config.json", '{"retries": 3}\n'), TEST],
    ),
    Task(
        "unsorted result",
        {"names.py": "def names(d):\n    return list(d)\n"},
        "from names import names\nself.assertEqual(names({'b': 1, 'a': 2}), ['a', 'b'])",
        [read("names.py"), edit("names.py", "list(d)", "sorted(d)"), TEST],
    ),
    Task(
        "lost newline",
        {"lines.py": "def join(lines):\n    return ''.join(lines)\n"},
        "from lines import join\nself.assertEqual(join(['a', 'b']), 'a\\nb')",
        [read("lines.py"), edit("lines.py", "''.join", "'\\n'.join"), TEST],
    ),
    Task(
        "swallowed error",
        {
            "parse.py": "def number(text):\n    try:\n        return int(text)\n    except ValueError:\n        return 0\n"
        },
        "from parse import number\nwith self.assertRaises(ValueError):\n    number('x')",
        [
            read("parse.py"),
            write("parse.py", "def number(text):\n    return int(text)\n"),
            TEST,
        ],
    ),
    Task(
        "late binding",
        {"adders.py": "def adders():\n    return [lambda x: x + n for n in range(3)]\n"},
        "from adders import adders\nself.assertEqual([f(1) for f in adders()], [1, 2, 3])",
        [read("adders.py"), edit("adders.py", "lambda x: x + n", "lambda x, n=n: x + n"), TEST],
    ),
    Task(
        "package without init name",
        {"shop/__init__.py": "", "shop/cart.py": "class Cart:\n    total = 0\n"},
        "from shop import Cart\nself.assertEqual(Cart.total, 0)",
        [
            ("list", {"path": "shop"}),
            read("shop/__init__.py"),
            write("shop/__init__.py", "from shop.cart import Cart\n"),
            TEST,
        ],
    ),
    Task(
        "two faults",
        {"a.py": "ONE = 2\n", "b.py": "from a import ONE\n\nTWO = ONE\n"},
        "from b import TWO\nself.assertEqual(TWO, 2)\nfrom a import ONE\nself.assertEqual(ONE, 1)",
        [
            read("a.py"),
            read("b.py"),
            edit("a.py", "ONE = 2", "ONE = 1"),
            edit("b.py", "TWO = ONE", "TWO = ONE + 1"),
            TEST,
        ],
    ),
    Task(
        "unicode",
        {"texts.py": "def initials(name):\n    return ''.join(p[0] for p in name.split(' '))\n"},
        "from texts import initials\nself.assertEqual(initials('Ægir  Ø'), 'ÆØ')",
        [read("texts.py"), edit("texts.py", "name.split(' ')", "name.split()"), TEST],
    ),
    Task(
        "stale text",
        {"dates.py": "def year(date):\n    return date[:2]\n"},
        "from dates import year\nself.assertEqual(year('2026-01-01'), '2026')",
        [
            edit("dates.py", "date[0:2]", "date[:4]"),  # not there like this: refused with a hint
            read("dates.py"),
            edit("dates.py", "date[:2]", "date[:4]"),
            TEST,
        ],
    ),
    Task(
        "recursion without end",
        {"counts.py": "def down(n):\n    return [n] + down(n - 1)\n"},
        "from counts import down\nself.assertEqual(down(2), [2, 1])",
        [read("counts.py"), edit("counts.py", "    return", "    if n == 0:\n        return []\n    return"), TEST],
    ),
]


def replies_to(task: Task, number: int) -> list[dict[str, Any]]:
    """A reply for each call, matched by the prompt, and the last word."""
    when = {"last_user": prompt_of(task, number)}
    told: list[dict[str, Any]] = [
        {"when": when, "parts": [{"text": f"Step {step}. "}, {"tool": name, "arguments": arguments}]}
        for step, (name, arguments) in enumerate(task.calls, 1)
    ]
    return [*told, {"when": when, "parts": [{"text": f"{task.name}: mended."}]}]


def prompt_of(task: Task, number: int) -> str:
    return f"Task {number:02}: mend this ({task.name})"
