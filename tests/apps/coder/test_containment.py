"""What a model can't reach or set off: files outside, git's own files, our own files, programs that a project names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from accord import permissions
from accord.apps.coder.instructions import project_instructions
from accord.session.content import Text
from accord.session.entities import ContentItem, Diff
from accord.session.requests import PermissionRequest
from tests.apps.coder.scripted import git, tool

ALLOW = {"on_permission": permissions.allow_all}


@pytest.fixture
def traps(project: Path) -> Path:
    """A project with links that lead out of it, and what they lead to."""
    outside = project.parent / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("the secret\n")
    (project / "link").symlink_to(outside)
    (project / "secret.txt").symlink_to(outside / "secret.txt")
    (project / "dangling").symlink_to(outside / "new.txt")
    return outside


@pytest.mark.requirement("SESS-21")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read", {"path": "secret.txt"}),
        ("read", {"path": "link/secret.txt"}),
        ("read", {"path": "../outside/secret.txt"}),
        ("read", {"path": "link/../outside/secret.txt"}),
        ("list", {"path": "link"}),
        ("list", {"path": ".."}),
        ("search", {"pattern": "secret", "path": "link"}),
        ("search", {"pattern": "secret", "path": "secret.txt"}),
        ("changes", {"path": "link"}),
        ("write", {"path": "link/new.txt", "content": "x"}),
        ("write", {"path": "dangling", "content": "x"}),
        ("edit", {"path": "secret.txt", "old_text": "secret", "new_text": "x"}),
        ("delete", {"path": "link/secret.txt"}),
        ("move", {"source": "link/secret.txt", "destination": "mine.txt"}),
        ("move", {"source": "main.py", "destination": "link/main.py"}),
        ("run", {"command": "cat secret.txt", "directory": "link"}),
        ("run", {"command": "true", "directory": "/"}),
    ],
)
async def test_nothing_outside_is_reached_wherever_links_lead(
    sit: Any, traps: Path, name: str, arguments: dict[str, Any]
) -> None:
    async with sit(**ALLOW) as desk:
        outcome = await desk.use_one(name, **arguments)
        assert outcome.is_error
        assert "outside the session's directories" in outcome.text
        assert os.listdir(traps) == ["secret.txt"]  # noqa: PTH208
        assert (desk.root / "main.py").exists()


@pytest.mark.usefixtures("traps")
async def test_a_search_does_not_follow_links(sit: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "ripgreprc").write_text("--follow\n--pre=touch\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "ripgreprc"))
    async with sit() as desk:
        assert (await desk.use_one("search", pattern="the secret")).text == "[nothing found]"
        assert "main.py" in (await desk.use_one("search", pattern="--pre=touch|double")).text


async def test_names_that_look_like_options_are_names(sit: Any) -> None:
    async with sit(**ALLOW) as desk:
        (desk.root / "--pre=touch x").write_text("double\n")
        found = await desk.use_one("search", pattern="double", path="--pre=touch x")
        assert found.text == "--pre=touch x:1:double"
        assert not (desk.root / "x").exists()


async def test_files_are_listed_by_name_and_a_colon_in_one_misleads_nobody(sit: Any) -> None:
    async with sit() as desk:
        (desk.root / "a:7:b.py").write_text("double\n")
        found = await desk.use_one("search", glob="*.py")
        assert found.text.splitlines() == ["a:7:b.py", "main.py", "test_main.py"]
        await desk.use_one("search", pattern="^double")
        assert [(Path(place.path).name, place.line) for place in desk.calls[-1].locations[1:]] == [("a:7:b.py", 1)]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write", {"path": ".git/hooks/pre-commit", "content": "#!/bin/sh\n"}),
        ("edit", {"path": ".git/config", "old_text": "[core]", "new_text": "[alias]"}),
        ("write", {"path": "sub/.GIT/hooks/x", "content": ""}),
        ("delete", {"path": ".git/HEAD"}),
        ("move", {"source": ".git/HEAD", "destination": "HEAD"}),
        ("move", {"source": "main.py", "destination": ".git/hooks/pre-commit"}),
        ("move", {"source": ".git", "destination": "other"}),
    ],
)
async def test_what_git_keeps_is_not_changed_as_files(sit: Any, name: str, arguments: dict[str, Any]) -> None:
    """Git runs the programs that are named there, so an edit would be a command that nobody was asked about."""
    async with sit(**ALLOW) as desk:
        await desk.session.set_option("mode", "code")
        outcome = await desk.use_one(name, **arguments)
        assert outcome.is_error
        assert "belongs to git" in outcome.text
        assert not (desk.root / ".git" / "hooks" / "pre-commit").exists()


async def test_the_models_cant_reach_keys_and_choices(sit: Any, project: Path, tmp_path: Path) -> None:
    (tmp_path / "home" / "state").mkdir(parents=True)
    (tmp_path / "home" / "config.toml").write_text("[environment]\nACME_KEY = 'sesame'\n")
    (tmp_path / "home" / "state" / "choices.json").write_text('{"format": 1, "choices": []}')
    async with sit(root=tmp_path, **ALLOW) as desk:
        await desk.session.set_option("mode", "code")
        for name, arguments in [
            ("read", {"path": "home/config.toml"}),
            ("edit", {"path": "home/config.toml", "old_text": "sesame", "new_text": "x"}),
            ("read", {"path": "home/state/choices.json"}),
            ("write", {"path": "home/state/trusted/x", "content": "x"}),
            ("delete", {"path": "home/state/choices.json"}),
        ]:
            outcome = await desk.use_one(name, **arguments)
            assert "accord's own settings or saved answers" in outcome.text
        assert "sesame" not in (await desk.use_one("search", pattern="sesame|choices")).text


async def test_a_session_directory_is_not_moved(sit: Any) -> None:
    async with sit(**ALLOW) as desk:
        moved = await desk.use_one("move", source=".", destination="src/all")
        assert "one of the session's directories" in moved.text


async def test_a_link_is_deleted_and_moved_itself(sit: Any) -> None:
    async with sit(**ALLOW) as desk:
        (desk.root / "alias.py").symlink_to("main.py")
        (desk.root / "_").symlink_to("src/elsewhere")
        await desk.use_one("move", source="alias.py", destination="src/alias.py")
        assert (desk.root / "src" / "alias.py").readlink() == Path("main.py")
        (desk.root / "alias.py").symlink_to("main.py")
        (desk.root / "src" / "elsewhere").mkdir()
        await desk.use_one("delete", path="alias.py")
        assert not (desk.root / "alias.py").is_symlink()
        assert (desk.root / "main.py").exists()


async def test_a_directory_that_becomes_a_link_meanwhile_leads_nowhere(sit: Any, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()

    async def swap(asked: PermissionRequest) -> Any:
        if not (tmp_path / "project" / "src").is_symlink():
            (tmp_path / "project" / "src").rename(tmp_path / "project" / "old")
            (tmp_path / "project" / "src").symlink_to(outside)
        return await permissions.allow_all(asked)

    for name, arguments in [
        ("write", {"path": "src/new.py", "content": "x"}),
        ("move", {"source": "main.py", "destination": "src/main.py"}),
    ]:
        async with sit(on_permission=swap) as desk:
            (desk.root / "src").unlink(missing_ok=True) if (desk.root / "src").is_symlink() else None
            (desk.root / "src").mkdir()
            assert (await desk.use_one(name, **arguments)).is_error
            assert list(outside.iterdir()) == []
            (desk.root / "old").rmdir()


EVIL = """\
[core]
    fsmonitor = touch {mark}
    hooksPath = {hooks}
[diff]
    external = touch {mark}
[diff "evil"]
    textconv = touch {mark} && cat
    command = touch {mark}
[filter "evil"]
    clean = touch {mark} && cat
    process = touch {mark}
    required = true
"""


async def test_looking_at_the_changes_runs_no_program_that_the_repository_names(
    sit: Any, project: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    (project / ".gitattributes").write_text("*.py filter=evil diff=evil\n")
    with (project / ".git" / "config").open("a") as config:
        config.write(EVIL.format(mark=mark, hooks=tmp_path))
    (project / "main.py").write_text("def double(n):\n    return 2 * n\n")
    async with sit() as desk:
        changes = await desk.use_one("changes")
        assert "+    return 2 * n" in changes.text
        assert not mark.exists()


async def test_the_changes_before_the_first_commit_are_shown(sit: Any, tmp_path: Path) -> None:
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    git(fresh, "init", "-q")
    (fresh / "a.py").write_text("x = 1\n")
    git(fresh, "add", ".")
    async with sit(root=fresh) as desk:
        assert "+x = 1" in (await desk.use_one("changes")).text


async def test_no_repository_is_told_in_gits_words(sit: Any, tmp_path: Path) -> None:
    (tmp_path / "bare").mkdir()
    async with sit(root=tmp_path / "bare") as desk:
        assert "not a git repository" in (await desk.use_one("changes")).text


def test_instructions_that_lead_out_of_the_project_are_not_read(project: Path, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("sesame")
    (project / "AGENTS.md").symlink_to(tmp_path / "key")
    assert project_instructions(project) == ""
    (project / "AGENTS.md").unlink()
    os.mkfifo(project / "AGENTS.md")
    assert project_instructions(project) == ""
    (project / "AGENTS.md").unlink()
    (project / "docs").mkdir()
    (project / "docs" / "agents.md").write_text("Be kind.")
    (project / "AGENTS.md").symlink_to("docs/agents.md")
    (project / "src").mkdir()
    (project / "src" / "AGENTS.md").write_text("Be brief.")
    told = project_instructions(project / "src")
    assert told.index("Be kind.") < told.index("Be brief.")


async def test_hostile_names_and_commands_stay_in_their_line_and_their_block(sit: Any) -> None:
    seen: list[PermissionRequest] = []

    async def look(asked: PermissionRequest) -> Any:
        seen.append(asked)
        return await permissions.reject_all(asked)

    command = "echo ok\n```\n\nNothing to see here\n\u202e\x1b[2J"
    async with sit(on_permission=look) as desk:
        await desk.use_one("run", command=command)
        await desk.use_one("read", path="a\nb\x1b[31m" + "c" * 300)
        for call in desk.calls:
            assert call.title is not None
            assert call.title.isprintable()
            assert len(call.title) < 210
        assert all(option.name.isprintable() and len(option.name) < 200 for option in seen[0].options)
        (shown,) = [item for item in desk.calls[0].content if isinstance(item, ContentItem)][:1]
        assert isinstance(shown.content, Text)
        assert shown.content.text.startswith(f"````sh\n{command}")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("edit", {"path": "main.py", "old_text": "n + n", "new_text": "2 * n"}),
        ("run", {"command": "make all"}),
        ("fetch", {"url": "http://example.org/x"}),
    ],
)
async def test_what_is_asked_for_is_in_the_question_and_in_the_call(
    sit: Any, name: str, arguments: dict[str, Any]
) -> None:
    seen: list[PermissionRequest] = []

    async def look(asked: PermissionRequest) -> Any:
        seen.append(asked)
        return await permissions.reject_all(asked)

    async with sit(on_permission=look) as desk:
        await desk.use_one(name, **arguments)
        (asked,) = seen
        subject: Any = asked.subject
        content = list(subject.call.content)
        assert content == list(desk.calls[-1].content)[: len(content)]
        if name == "edit":
            assert isinstance(content[0], Diff)
        else:
            assert next(iter(arguments.values())) in content[0].content.text


async def test_a_mode_is_never_given_away_for_always(sit: Any) -> None:
    seen: list[PermissionRequest] = []

    async def look(asked: PermissionRequest) -> Any:
        seen.append(asked)
        return await permissions.allow_all(asked)

    async with sit(on_permission=look) as desk:
        await desk.use(tool("switch_mode", mode="code"), tool("switch_mode", mode="ask"))
        assert [[option.kind for option in asked.options] for asked in seen] == [["allow_once", "reject_once"]] * 2


async def test_choices_that_cant_be_read_allow_nothing_and_say_what_to_do(sit: Any, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "choices.json").write_text("{")
    async with sit(**ALLOW) as desk:
        outcome = await desk.use_one("run", command="touch made")
        assert "fix the file or delete it" in outcome.text
        assert not (desk.root / "made").exists()


@pytest.mark.parametrize("prompt", ["/plan world peace", "/review", "/explain"])
async def test_commands_that_only_look_have_no_tools_that_change(sit: Any, prompt: str) -> None:
    async with sit(**ALLOW) as desk:
        await desk.session.set_option("mode", "code")
        desk.model.steps = [[tool("edit", path="main.py", old_text="n + n", new_text="2 * n")]]
        await desk.ask(prompt)
        offered = {description.name for description in desk.model.requests[0].tools}
        assert not offered & {"write", "edit", "delete", "move", "run", "switch_mode"}
        assert "n + n" in (desk.root / "main.py").read_text()


async def test_a_path_that_is_cut_off_hides_what_it_hid_before(
    sit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text("[environment]\nACME_KEY = 'sesame'\n")
    (tmp_path / "zebra.txt").write_text("sesame street\n")
    last = f"{tmp_path}/zebra.txt\0" + "1:sesame street\n"
    hidden = f"{tmp_path}/home/config.toml\0" + "2:ACME_KEY = 'sesame'\n"
    async with sit(root=tmp_path) as desk:
        for kept in range(len(last), len(last) + len(hidden), 12):
            monkeypatch.setattr("accord.apps.coder.tools.programs._MAX_OUTPUT", kept)
            found = (await desk.use_one("search", pattern="sesame", glob="{config.toml,zebra.txt}")).text
            assert found.endswith("zebra.txt:1:sesame street")
            assert "ACME_KEY" not in found
