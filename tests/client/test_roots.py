from __future__ import annotations

from pathlib import Path

import pytest

from accord.client.workspace.workspace import Workspace
from accord.errors import Denied, InvalidParams, NotFound, RequestFailed
from accord.local.files import read_lines, replace_file
from accord.local.paths import Roots
from tests.client.words import create, read, write


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    repo = tmp_path / "repo"
    repo.mkdir()
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "repository").mkdir()
    (tmp_path / "repository" / "secret").write_text("secret")
    return repo


@pytest.mark.requirement("CHECK-12")
async def test_a_path_outside_is_denied_and_the_denial_names_what(repo: Path):
    workspace = Workspace(repo)
    with pytest.raises(Denied) as caught:
        await read(workspace, "/etc/passwd")
    assert caught.value.scope == "fs.read outside the session's directories: /etc/passwd"
    with pytest.raises(Denied) as caught:
        await write(workspace, "/etc/accord", "x")
    assert caught.value.scope is not None
    assert caught.value.scope.startswith("fs.write ")


@pytest.mark.parametrize("path", ["../secret", "sub/../../secret", "../repository/secret", "./../secret", ".."])
async def test_dots_and_likeness_do_not_lead_outside(repo: Path, path: str):
    with pytest.raises(Denied):
        await read(Workspace(repo), f"{repo}/{path}")


async def test_a_link_out_of_the_roots_is_denied_for_files_and_directories(repo: Path):
    """FN-42: path guards defeated by symlinks."""
    workspace = Workspace(repo)
    (repo / "file").symlink_to(repo.parent / "secret")
    (repo / "directory").symlink_to(repo.parent)
    (repo / "twice").symlink_to(repo / "directory")
    (repo / "dangling").symlink_to(repo.parent / "new")
    for path in ("file", "directory/secret", "twice/secret", "dangling", "directory/new", "twice/made/new"):
        with pytest.raises(Denied):
            await read(workspace, repo / path)
        with pytest.raises(Denied):
            await write(workspace, repo / path, "overwritten")
    with pytest.raises(Denied):
        await create(workspace, "true", cwd=str(repo / "directory"))
    assert (repo.parent / "secret").read_text() == "secret"
    assert sorted(path.name for path in repo.parent.iterdir()) == ["repo", "repository", "secret"]


async def test_a_link_that_stays_inside_is_followed(repo: Path):
    """FN-42: also through a root that is itself a link."""
    (repo / "real").write_text("text")
    (repo / "link").symlink_to("real")
    (repo.parent / "root").symlink_to(repo)
    assert await read(Workspace(repo), repo / "link") == "text"
    assert await read(Workspace(repo.parent / "root"), repo.parent / "root" / "link") == "text"
    assert await read(Workspace(repo.parent / "root"), repo / "link") == "text"


@pytest.mark.parametrize("what", ["file", "directory"])
async def test_a_link_put_into_the_path_after_the_check_leads_nowhere(repo: Path, what: str):
    """FN-42: the path was inside when it was looked at."""
    roots = Roots([repo])
    (repo / "directory").mkdir()
    (repo / "directory" / "secret").write_text("harmless")
    place = roots.resolve(str(repo / "directory" / "secret"), "fs.read")
    (repo / "directory" / "secret").unlink()
    if what == "file":
        (repo / "directory" / "secret").symlink_to(repo.parent / "secret")
    else:
        (repo / "directory").rmdir()
        (repo / "directory").symlink_to(repo.parent)
    with pytest.raises(RequestFailed):
        read_lines(place, None, None, 100)
    with pytest.raises(RequestFailed):
        replace_file(place, b"overwritten")
    assert (repo.parent / "secret").read_text() == "secret"


async def test_a_link_that_leads_to_itself_is_refused(repo: Path):
    (repo / "loop").symlink_to("loop")
    with pytest.raises(RequestFailed, match="not a regular file"):
        await read(Workspace(repo), repo / "loop")


async def test_a_root_that_becomes_a_link_later_leads_nowhere(repo: Path):
    """FN-42: where a root really is, is settled at the beginning."""
    later = repo / "later"
    workspace = Workspace(later)
    with pytest.raises(NotFound):
        await read(workspace, later / "secret")
    later.symlink_to(repo.parent)
    with pytest.raises(Denied):
        await read(workspace, later / "secret")


@pytest.mark.requirement("AMB-46")
@pytest.mark.parametrize("path", ["a.py", "./a.py", "", "C:\\a.py", "\\\\host\\a.py", "/a\0.py"])
async def test_a_path_that_is_not_absolute_here_is_refused(repo: Path, path: str):
    with pytest.raises(InvalidParams) as caught:
        await read(Workspace(repo), path)
    assert caught.value.field == "path"


async def test_every_root_counts(repo: Path):
    workspace = Workspace([repo / "one", repo / "two"])
    for name in ("one", "two"):
        (repo / name).mkdir()
        await write(workspace, repo / name / "file", name)
        assert await read(workspace, repo / name / "file") == name
    with pytest.raises(Denied):
        await write(workspace, repo / "file", "x")


async def test_without_roots_everything_is_outside(repo: Path):
    workspace = Workspace()
    with pytest.raises(Denied):
        await read(workspace, repo / "file")
    with pytest.raises(Denied):
        await create(workspace, "true")


async def test_a_session_has_its_own_directories_as_long_as_it_lasts(repo: Path):
    (repo / "file").write_text("text")
    workspace = Workspace()
    workspace.enter("other", repo)
    with pytest.raises(Denied):
        await read(workspace, repo / "file")
    workspace.enter("s", repo / "sub", [repo])
    assert await read(workspace, repo / "file") == "text"
    workspace.enter("s", repo / "sub")
    with pytest.raises(Denied):
        await read(workspace, repo / "file")
    workspace.enter("s", repo)
    await workspace.leave("s")
    with pytest.raises(Denied):
        await read(workspace, repo / "file")


def test_a_root_is_absolute():
    with pytest.raises(ValueError, match="absolute"):
        Workspace(["src"])


async def test_the_whole_disk_can_be_a_root(repo: Path):
    (repo / "file").write_text("text")
    assert await read(Workspace("/"), repo / "file") == "text"


def test_programs_are_not_looked_for_inside_nor_from_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "repo" / "bin").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "repo" / "bin")
    roots = Roots([tmp_path / "repo"])
    path = f"{tmp_path}/repo/bin:bin::.:/usr/bin:{tmp_path}/link:{tmp_path}/repo:/nowhere"
    assert roots.search_path(path) == "/usr/bin:/nowhere"
