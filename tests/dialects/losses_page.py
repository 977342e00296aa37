"""The page docs/losses.md, made from the loss table; run it to write the table into the page."""

from __future__ import annotations

from pathlib import Path

from accord.dialects.translation_losses import loss_table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "losses.md"
BEGIN, END = "<!-- table begins -->\n", "<!-- table ends -->\n"


def table() -> str:
    head = "| row | in | lost | sent instead |\n|---|---|---|---|\n"
    rows = [f"| {row.id} | {', '.join(row.dialects)} | {row.lost} | {row.instead} |\n" for row in loss_table().values()]
    return "\n" + head + "".join(rows) + "\n"


def with_table(page: str) -> str:
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + table() + END + after


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
