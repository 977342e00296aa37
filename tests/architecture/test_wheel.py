"""What is built holds the whole package and nothing else, from the tree as from the source archive."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from accord.cli.help_topics import PAGES

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "accord"


def build(tree: Path, into: Path, *kinds: str) -> None:
    targets = [word for kind in kinds for word in ("--target", kind)]
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(into), *targets]
    subprocess.run(command, cwd=tree, check=True, capture_output=True)


def files_of(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("built")
    build(ROOT, directory, "sdist", "wheel")
    return directory


def only(directory: Path, pattern: str) -> Path:
    (found,) = directory.glob(pattern)
    return found


def test_a_wheel_holds_every_file_of_the_package_and_nothing_foreign(built):
    files = files_of(only(built, "*.whl"))
    own = [file for file in PACKAGE.rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    assert {"py.typed", "look.tcss"} <= {file.name for file in own}
    told = {name for name in files if ".dist-info/" in name}
    pages = {name for name in files if name.startswith("accord/help/")}
    assert files.keys() - told - pages == {file.relative_to(PACKAGE.parent).as_posix() for file in own}
    examples = [f"examples/{path.name}" for path in (ROOT / "examples").glob("*.py")]
    assert pages == {f"accord/help/{page}" for page in [*PAGES.values(), "index.md", *examples]}
    names = {name.partition(".dist-info/")[2] for name in told}
    assert names == {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}


def test_the_source_archive_builds_the_same_wheel(built, tmp_path):
    with tarfile.open(only(built, "*.tar.gz")) as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extractall(tmp_path, filter="data")
        else:  # Python 3.11.2 of Debian 12
            archive.extractall(tmp_path)
    build(only(tmp_path, "accord-*"), tmp_path / "again", "wheel")
    assert files_of(only(tmp_path / "again", "*.whl")) == files_of(only(built, "*.whl"))
