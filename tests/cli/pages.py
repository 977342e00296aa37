"""The tables of docs/settings.md and docs/commands.md, made from the code; run it to write them into the pages."""

from __future__ import annotations

import os
from pathlib import Path
from unittest import mock

from accord.apps.coder.settings.settings import Setting, describe_settings
from accord.cli.commands import COMMANDS, help_page
from accord.cli.parser import new_parser

DOCS = Path(__file__).resolve().parents[2] / "docs"
BEGIN, END = "<!-- made by tests/cli/pages.py: begins -->\n", "<!-- ends -->\n"
WIDTH = "100"


def settings_table() -> str:
    head = "| name | default | variable | flag | meaning |\n|---|---|---|---|---|\n"
    return head + "".join(
        f"| `{each.name}` | {_default(each)} | `{each.variable}` | {_flag(each)} | {each.meaning} |\n"
        for each in describe_settings()
    )


def commands() -> str:
    with mock.patch.dict(os.environ, {"COLUMNS": WIDTH, "NO_COLOR": "1"}):
        helps = {f"accord {name}": new_parser(command).format_help() for name, command in COMMANDS.items()}
    return "\n".join(f"## {name}\n\n```text\n{text}```\n" for name, text in {"accord": help_page(), **helps}.items())


PAGES = {DOCS / "settings.md": settings_table, DOCS / "commands.md": commands}


def with_made_part(page: str, made: str) -> str:
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{made}\n{END}{after}"


def _default(setting: Setting) -> str:
    if setting.default in (None, [], {}):
        return ""
    return f"`{str(setting.default).lower() if isinstance(setting.default, bool) else setting.default}`"


def _flag(setting: Setting) -> str:
    if setting.flag is None:
        return ""
    if setting.is_of_screen:
        return f"`accord {setting.flag}`"
    return f"`{setting.flag}`" + (f", `--no-{setting.flag[2:]}`" if setting.kind == "switch" else "")


if __name__ == "__main__":
    for path, made in PAGES.items():
        path.write_text(with_made_part(path.read_text(encoding="utf-8"), made()), encoding="utf-8")
