from __future__ import annotations

import re
from pathlib import Path

import pytest

from accord.apps.coder.errors import InvalidSettings
from accord.apps.coder.settings.files import SettingsFile
from accord.apps.coder.settings.precedence import load_settings, merge_sources
from accord.apps.coder.settings.settings import Settings
from accord.apps.coder.settings.trust import user_trust
from accord.session.mcp_servers import HttpServer, SseServer, StdioServer


def file(text: str, name: str = "config.toml") -> SettingsFile:
    return SettingsFile(Path("/somewhere") / name, text.encode())


def test_without_anything_the_defaults_are_in_force(project):
    loaded = load_settings(project)
    assert loaded.settings == Settings()
    assert set(loaded.origins.values()) == {"default"}
    assert loaded.notices == []


def test_flags_win_over_variables_over_the_project_over_the_user():
    user = file('model = "user:m"\nmode = "code"\nretries = 1\nmax_requests = 5\ncompact_at = 0.5')
    project = file('model = "project:m"\nmode = "architect"\nretries = 2\nmax_requests = 6', ".accord.toml")
    settings, origins = merge_sources(
        {"model": "flag:m"},
        {"ACCORD_MODEL": "variable:m", "ACCORD_MODE": "ask"},
        user,
        project,
    )
    assert (settings.model, settings.mode, settings.retries) == ("flag:m", "ask", 2)
    assert (settings.max_requests, settings.compact_at) == (6, 0.5)
    assert origins["model"] == "--model"
    assert origins["mode"] == "ACCORD_MODE"
    assert origins["retries"] == "/somewhere/.accord.toml"
    assert origins["compact_at"] == "/somewhere/config.toml"
    assert origins["output_limit"] == "default"


def test_tables_are_laid_over_each_other_entry_by_entry():
    user = file('[environment]\nA = "1"\nB = "2"\n[servers.one]\ncommand = "one"')
    project = file('[environment]\nB = "3"\n[servers.two]\ncommand = "two"', ".accord.toml")
    settings, origins = merge_sources({}, {"ACCORD_ENVIRONMENT": '{"C": "4"}'}, user, project)
    assert settings.environment == {"A": "1", "B": "3", "C": "4"}
    assert set(settings.servers) == {"one", "two"}
    assert origins["environment.A"] == "/somewhere/config.toml"
    assert origins["environment.B"] == "/somewhere/.accord.toml"
    assert origins["environment.C"] == "ACCORD_ENVIRONMENT"


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("ACCORD_MODELS", "a:b, offline,", "models", ["a:b", "offline"]),
        ("ACCORD_MAX_TOKENS", "100", "max_tokens", 100),
        ("ACCORD_TEMPERATURE", "0.5", "temperature", 0.5),
        ("ACCORD_INSTRUCTIONS", "false", "instructions", False),
        ("ACCORD_INSTRUCTIONS", "0", "instructions", False),
        ("ACCORD_TEST_COMMAND", "make test", "test_command", "make test"),
        (
            "ACCORD_BASE_URLS",
            '{"ollama": "http://localhost:11434/v1"}',
            "base_urls",
            {"ollama": "http://localhost:11434/v1"},
        ),
        ("ACCORD_TAKES", '{"a:b": ["image"]}', "takes", {"a:b": ["image"]}),
        ("ACCORD_MODE", "", "mode", "ask"),
    ],
)
def test_a_variable_is_read_as_the_setting_wants_it(variable, text, name, value):
    settings, _ = merge_sources({}, {variable: text})
    assert getattr(settings, name) == value


def test_a_number_without_a_point_will_do_where_one_with_a_point_is_meant():
    settings, _ = merge_sources({}, {}, file("command_deadline = 30"))
    assert settings.command_deadline == 30


def test_a_projects_file_is_ignored_until_it_is_trusted_and_again_when_it_changes(project):
    own = project / ".accord.toml"
    own.write_text('mode = "code"')
    loaded = load_settings(project)
    assert (loaded.settings.mode, loaded.project_state) == ("ask", "untrusted")
    (notice,) = loaded.notices
    assert notice.startswith("~/project/.accord.toml is ignored: it is not trusted.")
    assert notice.endswith("read it, then run `accord trust ~/project`")
    user_trust().add(SettingsFile.read(own))
    loaded = load_settings(project)
    assert (loaded.settings.mode, loaded.project_state, loaded.notices) == ("code", "trusted", [])
    assert loaded.origins["mode"] == "~/project/.accord.toml"
    own.write_text('mode = "code"\nmodel = "evil:m"')
    loaded = load_settings(project)
    assert (loaded.settings.mode, loaded.project_state) == ("ask", "changed")
    assert "has changed since you trusted it" in loaded.notices[0]


def test_the_notice_can_be_copied_whatever_the_directory_is_called(home):
    (home / "a $(b)").mkdir()
    (home / "a $(b)" / ".accord.toml").touch()
    (notice,) = load_settings(home / "a $(b)").notices
    assert notice.endswith(f"`accord trust '{home}/a $(b)'`")


def test_a_broken_file_of_a_project_that_is_not_trusted_harms_nobody(project):
    (project / ".accord.toml").write_bytes(b"\xff = [[[")
    assert load_settings(project).settings == Settings()


def test_a_file_of_a_project_that_nobody_can_read_harms_nobody(project):
    (project / ".accord.toml").write_bytes(b"#" * (1024 * 1024 + 1))
    loaded = load_settings(project)
    assert (loaded.settings, loaded.project_state) == (Settings(), "untrusted")
    assert loaded.notices == ["~/project/.accord.toml: can't be read: it is larger than 1 MiB; it is ignored"]


def test_a_file_of_the_user_that_cannot_be_read_is_an_error(user_file, project):
    user_file.mkdir()
    with pytest.raises(InvalidSettings, match="can't be read: Is a directory"):
        load_settings(project)


def test_settings_of_another_directory_are_loaded_under_the_same_flags(home, user_file, project):
    user_file.write_text('test_command = "make"')
    own = project / ".accord.toml"
    own.write_text('mode = "code"\nretries = 9')
    user_trust().add(SettingsFile.read(own))
    started = load_settings(home, {"retries": "7"})
    assert started.settings.mode == "ask"
    session = started.in_directory(project)
    assert (session.settings.mode, session.settings.retries, session.settings.test_command) == ("code", 7, "make")


def test_another_file_can_stand_in_for_the_users(user_file, project, tmp_path):
    user_file.write_text("retries = 1")
    other = tmp_path / "other.toml"
    other.write_text("max_requests = 3")
    loaded = load_settings(project, config=other)
    assert (loaded.settings.retries, loaded.settings.max_requests) == (4, 3)
    assert loaded.in_directory(project).settings.max_requests == 3


def test_a_file_that_was_named_must_be_there(project):
    with pytest.raises(InvalidSettings, match=r"nowhere\.toml: can't be read: No such file"):
        load_settings(project, config=Path("nowhere.toml"))


def test_a_variable_that_is_nearly_a_setting_is_noticed(project, monkeypatch):
    monkeypatch.setenv("ACCORD_MAX_REQUEST", "3")
    monkeypatch.setenv("ACCORD_STRICT", "1")
    monkeypatch.setenv("ACCORD_SOMETHING_ELSE_ALTOGETHER", "1")
    assert load_settings(project).notices == ["unknown setting ACCORD_MAX_REQUEST; did you mean 'ACCORD_MAX_REQUESTS'?"]


def test_every_variable_of_the_documentation_is_known(project, monkeypatch):
    pages = Path(__file__).resolve().parents[4].glob("docs/**/*.md")
    named = set(re.findall(r"`(ACCORD_[A-Z_]+)", "".join(page.read_text(encoding="utf-8") for page in pages)))
    assert {"ACCORD_HOME", "ACCORD_TOKEN"} <= named
    for name in named - {f"ACCORD_{setting.upper()}" for setting in Settings.__struct_fields__}:
        monkeypatch.setenv(name, "")
    assert load_settings(project).notices == []


def test_servers_become_what_sessions_know():
    text = """
        [servers.files]
        command = "npx"
        args = ["-y", "files"]
        env = {A = "b"}
        [servers.web]
        url = "https://example.org/mcp"
        headers = {Authorization = "Bearer x"}
        [servers.old]
        url = "https://example.org/sse"
        type = "sse"
    """
    settings, _ = merge_sources({}, {}, file(text))
    assert settings.mcp_servers == [
        StdioServer(name="files", command="npx", args=["-y", "files"], env={"A": "b"}),
        HttpServer(name="web", url="https://example.org/mcp", headers={"Authorization": "Bearer x"}),
        SseServer(name="old", url="https://example.org/sse"),
    ]


def test_what_a_model_needs_is_handed_on():
    text = 'temperature = 0\nmax_tokens = 9\nretries = 0\n[takes]\n"a:b" = ["image"]\n[context_sizes]\n"a:b" = 100'
    settings, _ = merge_sources({}, {}, file(text))
    handed = settings.model_settings
    assert (handed.temperature, handed.max_tokens, handed.retries) == (0, 9, 0)
    assert (handed.takes, handed.context_sizes) == ({"a:b": ["image"]}, {"a:b": 100})
