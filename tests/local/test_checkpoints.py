"""Checkpoints bring files back as they were, whatever was done to them, and nothing else changes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from accord.errors import CheckpointFailed
from accord.local import shadow_repository
from accord.local.checkpoints import Checkpoints
from accord.local.shadow_repository import ShadowRepository
from tests.local.checkpoint_tree import Tree, contents, git, repository, write


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without settings for git."""
    directory = tmp_path / "home"
    directory.mkdir()
    for name in ("XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_DIR", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(directory))
    return directory


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def is_permission_checked() -> bool:
    """Not for root."""
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).chmod(0)
        return not os.access(file.name, os.R_OK)


needs_permissions = pytest.mark.skipif(not is_permission_checked(), reason="root may read and write everything")


# what is restored


def test_changed_deleted_and_created_files_are_as_they_were(tree: Tree):
    write(tree / "src/changed.py")
    write(tree / "src/deep/deleted.py")
    write(tree / "same.py")
    (tree / "binary").write_bytes(bytes(range(256)))
    before, saved = contents(tree.root), tree.save()
    write(tree / "src/changed.py", "new\n")
    shutil.rmtree(tree / "src/deep")
    write(tree / "made/by/agent.py")
    (tree / "binary").write_bytes(b"")
    assert tree.names(saved) == ["binary", "made/by/agent.py", "src/changed.py", "src/deep/deleted.py"]
    assert tree.undo(saved) == {}
    assert contents(tree.root) == before
    assert not (tree / "made").exists()
    assert tree.names(saved) == []


def test_permissions_are_as_they_were(tree: Tree):
    write(tree / "program", "#!/bin/sh\n", 0o755)
    write(tree / "plain", mode=0o644)
    write(tree / "secret", mode=0o600)
    write(tree / "replaced", mode=0o640)
    before, saved = contents(tree.root), tree.save()
    (tree / "program").chmod(0o644)
    (tree / "plain").chmod(0o755)
    (tree / "secret").unlink()
    (tree / "replaced").unlink()
    write(tree / "replaced", "new\n", 0o644)
    assert tree.undo(saved) == {}
    assert contents(tree.root) == before


def test_a_file_that_only_its_owner_may_read_by_now_is_not_opened_to_others(tree: Tree):
    write(tree / "key", mode=0o644)
    saved = tree.save()
    write(tree / "key", "new\n", 0o600)
    assert tree.undo(saved) == {}
    assert contents(tree.root) == {"key": (0o600, "old\n")}


def test_links_are_links_again(tree: Tree):
    write(tree / "file")
    (tree / "link").symlink_to("file")
    (tree / "dangling").symlink_to("nowhere")
    (tree / "replaced").symlink_to("file")
    before, saved = contents(tree.root), tree.save()
    (tree / "link").unlink()
    (tree / "link").symlink_to("elsewhere")
    (tree / "dangling").unlink()
    (tree / "replaced").unlink()
    write(tree / "replaced")
    (tree / "file").unlink()
    (tree / "file").symlink_to("replaced")
    (tree / "made").symlink_to("file")
    assert tree.undo(saved) == {}
    assert contents(tree.root) == before


def test_a_file_and_a_directory_can_change_places(tree: Tree):
    write(tree / "file")
    write(tree / "directory/inner/file")
    before, saved = contents(tree.root), tree.save()
    (tree / "file").unlink()
    write(tree / "file/inside")
    shutil.rmtree(tree / "directory")
    write(tree / "directory")
    assert tree.undo(saved) == {}
    assert contents(tree.root) == before


@pytest.mark.parametrize("name", ["a b", "new\nline", 'quo"ted\\', "-dash", "ümlaut", "*.py", ":(top)x", "tab\t"])
def test_odd_names_are_restored(tree: Tree, name: str):
    write(tree / name)
    write(tree / f"{name} directory/{name}")
    before, saved = contents(tree.root), tree.save()
    write(tree / name, "new\n")
    shutil.rmtree(tree / f"{name} directory")
    write(tree / f"{name} made")
    assert tree.undo(saved) == {}
    assert contents(tree.root) == before


@pytest.mark.skipif(sys.platform == "darwin", reason="its file systems allow only UTF-8")
def test_a_name_that_is_not_text_is_restored(tree: Tree):
    name = os.fsdecode(b"latin-\xe9")
    write(tree / name, mode=0o600)
    saved = tree.save()
    (tree / name).unlink()
    assert tree.undo(saved) == {}
    assert contents(tree.root) == {name: (0o600, "old\n")}


def test_contents_are_restored_byte_by_byte_whatever_attributes_say(tree: Tree):
    write(tree / ".gitattributes", "* text eol=lf ident filter=lfs working-tree-encoding=UTF-16\n")
    (tree / "dos.txt").write_bytes(b"$Id$ one\r\ntwo\r\n")
    saved = tree.save()
    (tree / "dos.txt").unlink()
    assert tree.undo(saved) == {}
    assert (tree / "dos.txt").read_bytes() == b"$Id$ one\r\ntwo\r\n"


def test_each_of_several_checkpoints_can_be_restored_in_any_order(tree: Tree):
    saved, texts = [], ["one\n", "two\n", "one\n", "three\n"]
    for number, text in enumerate(texts):
        write(tree / "file", text)
        write(tree / f"file{number}")
        saved.append((tree.save(), contents(tree.root)))
    for index in (2, 0, 3, 1):
        assert tree.undo(saved[index][0]) == {}
        assert contents(tree.root) == saved[index][1]


def test_several_directories_are_restored(tmp_path: Path):
    other = tmp_path / "other"
    write(other / "file")
    tree = Tree(tmp_path, other)
    write(tree / "file")
    saved = tree.save()
    write(other / "file", "new\n")
    write(tree / "file", "new\n")
    assert tree.undo(saved) == {}
    assert (other / "file").read_text() == (tree / "file").read_text() == "old\n"


def test_a_checkpoint_can_be_restored_by_another_process_later(tree: Tree):
    write(tree / "file")
    saved = tree.save()
    write(tree / "file", "new\n")
    tree.checkpoints.close()
    assert Tree(tree.root.parent).undo(saved) == {}
    assert (tree / "file").read_text() == "old\n"


def test_a_deleted_working_directory_is_made_again(tree: Tree):
    write(tree / "deep/file")
    saved = tree.save()
    shutil.rmtree(tree.root)
    now = tree.save()
    tree.root.mkdir()
    assert tree.checkpoints.restore(tree.checkpoints.changes_to_undo(saved, now)) == {}
    assert (tree / "deep/file").read_text() == "old\n"
    assert tree.names(now) == []  # nothing is known of that moment, so nothing is removed


def test_a_file_that_changes_while_the_tree_is_made_is_saved_as_it_was(tree: Tree):
    write(tree / "file")
    saved = tree.checkpoints.save(lambda: write(tree / "file", "changed by the agent\n") and None)
    assert tree.names(saved) == ["file"]
    assert tree.undo(saved) == {}
    assert (tree / "file").read_text() == "old\n"


def test_a_change_that_keeps_size_and_time_of_a_file_just_saved_is_found(tree: Tree):
    path = write(tree / "file", "1234\n")
    status = path.stat()
    saved = tree.save()
    write(path, "abcd\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert tree.names(saved) == ["file"]


# repositories


def test_the_repository_of_the_user_is_not_touched(tree: Tree):
    repository(tree.root)
    write(tree / "file")
    git(tree.root, "add", "file")
    git(tree.root, "commit", "-qm", "first")
    write(tree / "file", "staged\n")
    git(tree.root, "add", "file")

    def own_files() -> dict[str, tuple[bytes, int]]:
        files = [path for path in (tree / ".git").rglob("*") if path.is_file()]
        return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}

    before, saved = own_files(), tree.save()
    write(tree / "file", "new\n")
    write(tree / "made")
    assert tree.undo(saved) == {}
    assert own_files() == before
    assert git(tree.root, "status", "--porcelain") == "M  file\n"


def test_ignored_files_are_neither_saved_nor_deleted(tree: Tree):
    repository(tree.root)
    write(tree / ".gitignore", "*.log\nbuild/\n!kept.log\n")
    write(tree / "sub/.gitignore", "local\n")
    write(tree / ".git/info/exclude", "private\n")
    saved = tree.save()
    for name in ("a.log", "build/x", "sub/local", "private"):
        write(tree / name)
    write(tree / "kept.log")
    assert tree.names(saved) == ["kept.log"]
    assert tree.undo(saved) == {}
    assert all((tree / name).exists() for name in ("a.log", "build/x", "sub/local", "private"))


@pytest.mark.parametrize("configured", [True, False])
def test_what_the_user_ignores_everywhere_is_ignored(tree: Tree, home: Path, configured: bool):
    if configured:
        write(home / ".gitconfig", "[core]\n\texcludesFile = ~/mine\n")
        write(home / "mine", "*.swp\n")
    else:
        write(home / ".config/git/ignore", "*.swp\n")
    saved = tree.save()
    write(tree / ".file.swp")
    assert tree.names(saved) == []


@pytest.mark.parametrize("change", ["removed", "emptied", "excludes"])
def test_files_that_were_ignored_stay_when_the_agent_removes_the_rule(tree: Tree, change: str):
    repository(tree.root)
    write(tree / ".git/info/exclude", "secret\n")
    write(tree / ".gitignore", "node_modules/\n.env\n")
    for name in ("node_modules/x/y.js", ".env", "secret"):
        write(tree / name)
    saved = tree.save()
    if change == "removed":
        (tree / ".gitignore").unlink()
    else:
        write(tree / (".gitignore" if change == "emptied" else ".git/info/exclude"), "")
    assert set(tree.names(saved)) <= {".gitignore"}
    assert tree.undo(saved) == {}
    assert all((tree / name).exists() for name in ("node_modules/x/y.js", ".env", "secret"))


def test_files_that_the_repository_tracks_although_they_are_ignored_are_restored(tree: Tree):
    repository(tree.root)
    write(tree / ".gitignore", "dist/\n")
    write(tree / "dist/tracked.js")
    write(tree / "dist/other.js")
    git(tree.root, "add", "-f", "dist/tracked.js")
    saved = tree.save()
    write(tree / "dist/tracked.js", "new\n")
    write(tree / "dist/other.js", "new\n")
    assert tree.names(saved) == ["dist/tracked.js"]
    git(tree.root, "add", "-f", "dist/other.js")
    tree.save()
    saved = tree.save()
    write(tree / "dist/other.js", "newer\n")
    assert tree.names(saved) == ["dist/other.js"]


def test_nested_repositories_and_submodules_are_restored(tree: Tree, tmp_path: Path):
    library = repository(tmp_path / "library")
    write(library / "lib.c")
    write(library / ".gitignore", "*.o\n")
    git(library, "add", ".")
    git(library, "commit", "-qm", "first")
    repository(tree.root)
    git(tree.root, "submodule", "--quiet", "add", str(library), "vendor/library")
    repository(tree / "nested")  # without any commit
    write(tree / "nested/file")
    write(repository(tree / "nested/inner") / "file")
    before, saved = contents(tree.root), tree.save()
    write(tree / "vendor/library/lib.c", "new\n")
    write(tree / "vendor/library/made.c")
    write(tree / "vendor/library/lib.o")
    (tree / "nested/file").unlink()
    write(tree / "nested/inner/file", "new\n")
    assert tree.names(saved) == ["nested/file", "nested/inner/file", "vendor/library/lib.c", "vendor/library/made.c"]
    assert tree.undo(saved) == {}
    assert (tree / "vendor/library/lib.o").exists()
    (tree / "vendor/library/lib.o").unlink()
    assert contents(tree.root) == before
    assert git(tree / "vendor/library", "status", "--porcelain") == ""


def test_files_of_a_deleted_nested_repository_come_back(tree: Tree):
    write(repository(tree / "nested") / "deep/file")
    before, saved = contents(tree.root), tree.save()
    shutil.rmtree(tree / "nested")
    assert tree.undo(saved) == {}
    assert contents(tree.root) == before
    assert tree.names(saved) == []
    write(tree / "nested/deep/file", "new\n")  # by now it belongs to the outer directory
    assert tree.names(saved) == ["nested/deep/file"]


def test_a_repository_that_the_agent_made_is_left_but_for_its_files(tree: Tree):
    saved = tree.save()
    write(repository(tree / "cloned") / "file")
    assert tree.names(saved) == ["cloned/file"]
    assert tree.undo(saved) == {}
    assert (tree / "cloned/.git/HEAD").exists()


def test_rules_above_the_working_directory_apply(tmp_path: Path):
    outer = repository(tmp_path)
    write(outer / ".gitignore", "node_modules/\n/tree/generated\nstate/\n")
    write(outer / "beside")
    tree = Tree(tmp_path)
    write(tree / "file")
    saved = tree.save()
    write(tree / "node_modules/x")
    write(tree / "generated")
    write(tree / "file", "new\n")
    write(outer / "beside", "new\n")
    assert tree.names(saved) == ["file"]
    write(outer / ".gitignore", "")
    assert tree.names(saved) == ["file"]
    assert tree.undo(saved) == {}
    assert (outer / "beside").read_text() == "new\n"


def test_a_working_directory_that_is_ignored_as_a_whole_is_saved(tmp_path: Path):
    write(repository(tmp_path) / ".gitignore", "tree/\n*.log\n")
    tree = Tree(tmp_path)
    saved = tree.save()
    write(tree / "a.log")
    assert tree.names(saved) == ["a.log"]


def test_the_state_directory_is_not_saved_into_itself(tmp_path: Path):
    checkpoints = Checkpoints(tmp_path / "odd [name]", [tmp_path])
    checkpoints.save()
    assert [each.path for each in checkpoints.changes(checkpoints.save(), checkpoints.save())] == []


# what can't be saved


def test_a_large_file_is_left_out_and_named_and_never_deleted(tree: Tree, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shadow_repository, "MAX_FILE", 1000)
    write(tree / "large", "x" * 1001)
    write(tree / "grows")
    saved = tree.save()
    assert tree.checkpoints.omitted(saved) == {str(tree / "large"): "it is larger than 0 MiB"}
    write(tree / "large", "small")
    write(tree / "grows", "x" * 1001)
    write(tree / "made", "x" * 1001)
    (change,) = tree.changes(saved)
    assert (change.path, change.warning) == (str(tree / "grows"), "it is larger than 0 MiB")
    assert tree.undo(saved) == {}
    assert (tree / "grows").read_text() == "old\n"
    assert (tree / "large").read_text() == "small"


@pytest.mark.parametrize(("limit", "value"), [("MOST_FILES", 2), ("MAX_BYTES", 10)])
def test_a_tree_that_is_too_large_is_refused(tree: Tree, monkeypatch: pytest.MonkeyPatch, limit: str, value: int):
    monkeypatch.setattr(shadow_repository, limit, value)
    for number in range(3):
        write(tree / str(number))
    with pytest.raises(CheckpointFailed, match="more than") as caught:
        tree.save()
    assert caught.value.is_final


@needs_permissions
def test_what_may_not_be_read_is_left_out_and_never_deleted(tree: Tree):
    write(tree / "file", mode=0o000)
    write(tree / "closed/file")
    (tree / "closed").chmod(0o000)
    saved = tree.save()
    reasons = {str(tree / "file"): "permission denied", str(tree / "closed"): "permission denied"}
    assert tree.checkpoints.omitted(saved) == reasons
    (tree / "closed").chmod(0o755)
    (tree / "file").chmod(0o644)
    assert tree.names(saved) == []


def test_a_nested_repository_that_is_too_large_is_left_out_alone(tree: Tree, monkeypatch: pytest.MonkeyPatch):
    nested = repository(tree / "nested")
    for number in range(3):
        write(nested / str(number))
    write(tree / "file")
    with monkeypatch.context() as limits:
        limits.setattr(shadow_repository, "MOST_FILES", 2)
        saved = tree.save()
    assert tree.checkpoints.omitted(saved) == {str(nested): "more than 2 files"}
    write(nested / "3")
    write(tree / "file", "new\n")
    assert tree.names(saved) == ["file"]


def test_fifos_and_sockets_are_left_alone(tree: Tree):
    os.mkfifo(tree / "fifo")
    write(tree / "file")
    saved = tree.save()
    (tree / "file").unlink()
    os.mkfifo(tree / "file")
    os.mkfifo(tree / "made")
    assert tree.undo(saved) == {}
    assert (tree / "file").read_text() == "old\n"
    assert (tree / "fifo").is_fifo()
    assert (tree / "made").is_fifo()


# what can't be restored


def test_a_file_that_cannot_be_restored_is_named_and_the_rest_is_restored(tree: Tree):
    repository(tree.root)
    write(tree / ".gitignore", "*.log\n")
    for name in ("a", "blocked", "z"):
        write(tree / name)
    saved = tree.save()
    for name in ("a", "blocked", "z"):
        (tree / name).unlink()
    write(tree / "blocked/ignored.log")
    assert tree.undo(saved) == {"blocked": "a directory is in its place"}
    assert (tree / "a").read_text() == (tree / "z").read_text() == "old\n"
    assert (tree / "blocked/ignored.log").exists()


def test_a_content_that_is_gone_is_named_and_the_rest_is_restored(tree: Tree):
    for name in ("a", "b", "c"):
        write(tree / name, name)
    saved = tree.save()
    for name in ("a", "b", "c"):
        (tree / name).unlink()
    changes = tree.changes(saved)
    lost = changes[1].old
    assert lost is not None
    (file,) = tree.state.glob(f"checkpoints/*.git/objects/{lost.object_id[:2]}/{lost.object_id[2:]}")
    file.unlink()
    assert list(tree.checkpoints.restore(changes)) == [str(tree / "b")]
    assert contents(tree.root).keys() == {"a", "c"}


@needs_permissions
def test_a_directory_that_may_not_be_written_is_named(tree: Tree):
    write(tree / "closed/file")
    write(tree / "file")
    saved = tree.save()
    for name in ("closed/file", "file"):
        (tree / name).unlink()
    (tree / "closed").chmod(0o555)
    try:
        assert tree.undo(saved) == {"closed/file": "Permission denied"}
    finally:
        (tree / "closed").chmod(0o755)
    assert (tree / "file").exists()


# processes


def test_a_lock_of_a_process_that_was_killed_stops_nothing(tree: Tree):
    write(tree / "file")
    tree.save()
    (git_dir,) = tree.state.glob("checkpoints/*.git")
    write(git_dir / "index.lock", "")
    write(tree / "file", "new\n")
    tree.save()


def test_a_process_that_is_killed_at_any_moment_stops_nothing(tree: Tree):
    for number in range(50):
        write(tree / str(number), str(number))
    first = tree.save()
    program = (
        "import sys; from itertools import count; from pathlib import Path\n"
        "from accord.local.checkpoints import Checkpoints\n"
        "checkpoints = Checkpoints(Path(sys.argv[1]), [sys.argv[2]])\n"
        "for number in count():\n"
        "    (Path(sys.argv[2]) / '0').write_text(str(number))\n"
        "    checkpoints.save(lambda: print(number, flush=True))\n"
    )
    for lines in (1, 2, 5):
        command = [sys.executable, "-c", program, str(tree.state), str(tree.root)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
            assert other.stdout is not None
            for _ in range(lines):
                other.stdout.readline()
            other.kill()  # while it makes the tree
        write(tree / "1", f"after {lines}")
        saved = tree.save()
        write(tree / "1", "new\n")
        assert tree.names(saved) == ["1"]
    assert tree.names(first) == ["0", "1"]
    assert tree.undo(first) == {}
    assert tree.names(first) == []


@pytest.mark.parametrize("name", ["index", "HEAD", "state.json", "notes.json"])
@pytest.mark.parametrize("damage", ["garbage", "missing"])
def test_damage_costs_at_most_one_checkpoint(tree: Tree, name: str, damage: str):
    for number in range(60):
        write(tree / str(number), str(number))
    saved = tree.save()
    (git_dir,) = tree.state.glob("checkpoints/*.git")
    if damage == "garbage":
        write(git_dir / name, "garbage")
    else:
        (git_dir / name).unlink()
    write(tree / "0", "new\n")
    with suppress(CheckpointFailed):
        tree.save()
    assert tree.names(saved) == ["0"]


def test_a_crash_between_the_index_and_its_tree_loses_no_change(tree: Tree, monkeypatch: pytest.MonkeyPatch):
    class Crash(BaseException):
        pass

    def crash(self: ShadowRepository, *arguments: str, **given: Any) -> bytes:
        if arguments[0] == "write-tree":
            raise Crash
        return run(self, *arguments, **given)

    write(tree / "file")
    first, run = tree.save(), ShadowRepository._run
    write(tree / "file", "new\n")
    with monkeypatch.context() as crashes:
        crashes.setattr(ShadowRepository, "_run", crash)
        with pytest.raises(Crash):
            tree.save()
    assert tree.names(first) == ["file"]


def test_two_processes_in_one_directory_do_not_disturb_each_other(tree: Tree):
    for number in range(20):
        write(tree / str(number), str(number))
    first = tree.save()
    program = (
        "import sys; from pathlib import Path; from accord.local.checkpoints import Checkpoints\n"
        "checkpoints = Checkpoints(Path(sys.argv[1]), [sys.argv[2]])\n"
        "for number in range(5):\n    (Path(sys.argv[2]) / 'other').write_text(str(number))\n    checkpoints.save()\n"
    )
    command = [sys.executable, "-c", program, str(tree.state), str(tree.root)]
    with subprocess.Popen(command) as other:
        for number in range(5):
            write(tree / "0", f"{number} here")
            tree.save()
        assert other.wait() == 0
    assert set(tree.names(first)) == {"0", "other"}
    assert tree.undo(first) == {}
    assert tree.names(first) == []


def test_closing_ends_git_and_the_call_that_waits_for_it(tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program = write(tmp_path / "bin/git", f"#!/bin/sh\necho $$ > {tmp_path}/pid\nsleep 600\n", 0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    failures: list[str] = []

    def save() -> None:
        with pytest.raises(CheckpointFailed) as caught:
            tree.save()
        failures.append(str(caught.value))

    thread = threading.Thread(target=save)
    thread.start()
    pid = tmp_path / "pid"
    while not (pid.exists() and pid.read_text().strip()):
        pass
    tree.checkpoints.close()
    thread.join()
    assert failures == ["accord is being closed"]
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
    with pytest.raises(CheckpointFailed, match="being closed"):
        tree.save()


def test_without_git_the_reason_is_told(tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CheckpointFailed, match="git is not installed") as caught:
        tree.save()
    assert caught.value.is_final
