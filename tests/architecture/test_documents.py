"""The documents hold together: their links lead somewhere and their programs run."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
MODULE = re.compile(r"`([a-z0-9_*/]+\.py)`")


def name(document: Path) -> str:
    return document.relative_to(ROOT).as_posix()


def anchors(document: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", CODE.sub(inline_code, document.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def inline_code(match: re.Match[str]) -> str:
    return "" if match.group().startswith("```") else match.group().strip("`")


def programs() -> list[object]:
    """Every block marked `python`; one that is not meant to run is marked `python fragment`."""
    return [
        pytest.param(block, id=f"{name(document)}-{number}")
        for document in DOCUMENTS
        for number, block in enumerate(PYTHON.findall(document.read_text(encoding="utf-8")), start=1)
    ]


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_every_relative_link_leads_somewhere(document: Path):
    broken: list[str] = []
    for target in LINK.findall(CODE.sub("", document.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (document.parent / path).resolve() if path else document
        if not linked.exists() or (anchor and anchor not in anchors(linked)):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_every_section_says_something(document: Path):
    text = CODE.sub(
        lambda match: "code" if match.group().startswith("```") else match.group(), document.read_text("utf-8")
    )
    parts = re.split(r"^(#+) (.*)$", text, flags=re.MULTILINE)
    sections = [*zip(parts[1::3], parts[2::3], parts[3::3], [*parts[4::3], ""], strict=True)]
    empty = [title for level, title, body, following in sections if not body.strip() and len(following) <= len(level)]
    assert empty == []


def test_every_page_can_be_reached_from_the_index():
    reached: set[Path] = set()
    unvisited = [ROOT / "docs" / "index.md"]
    while unvisited:
        page = unvisited.pop()
        if page in reached:
            continue
        reached.add(page)
        links = LINK.findall(CODE.sub("", page.read_text(encoding="utf-8")))
        linked = [(page.parent / link.partition("#")[0]).resolve() for link in links]
        unvisited += [target for target in linked if target in DOCUMENTS]
    assert [name(page) for page in DOCUMENTS if page.is_relative_to(ROOT / "docs") and page not in reached] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_accord_is_installed_from_its_directory_since_no_index_has_it(document: Path):
    """The bare name adds an extra to accord where it is installed; a page that says so also says how to begin."""
    text = document.read_text(encoding="utf-8")
    for extras in re.findall(r"pip install (?:-\S+ )*'?accord(\[[a-z,]+\])?'?", text):
        assert f"pip install '.{extras}'" in text, f"pip install accord{extras}"


def test_every_module_on_the_page_that_finds_rules_is_there():
    page = (ROOT / "docs" / "finding.md").read_text(encoding="utf-8")
    source = ROOT / "src" / "accord"
    assert [path for path in MODULE.findall(page) if not any(source.glob(path))] == []


@pytest.mark.parametrize("program", programs())
def test_every_program_in_the_documents_runs(program: str, tmp_path: Path):
    if ">>>" in program:
        results = doctest.DocTestRunner().run(doctest.DocTestParser().get_doctest(program, {}, "block", None, 0))
        assert results.failed == 0
        return
    file = tmp_path / "program.py"
    file.write_text(program, encoding="utf-8")
    finished = subprocess.run(
        [sys.executable, "-W", "error", str(file)],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
