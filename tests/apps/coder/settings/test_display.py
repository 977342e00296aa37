from __future__ import annotations

import msgspec

from accord.apps.coder.settings.display import as_json, as_text
from accord.apps.coder.settings.precedence import load_settings
from accord.apps.coder.settings.validation import display_value

SECRETS = """
mode = "code"
[environment]
OPENAI_API_KEY = "hush-1"
[base_urls]
own = "https://user:hush-2@example.org/v1?key=hush-3&b=hush-4"
[servers.files]
command = "npx"
args = ["--verbose", "--token", "hush-5", "--api-key=hush-6", "PASSWORD=hush-7", "--password", "--quiet"]
env = {SECRET = "hush-8"}
[servers.web]
url = "https://example.org/?token=hush-9"
headers = {Authorization = "Bearer hush-10"}
[agents.other]
command = "other"
env = {KEY = "hush-11"}
"""


def test_no_secret_is_shown(user_file, project):
    user_file.write_text(SECRETS)
    loaded = load_settings(project)
    assert loaded.settings.environment["OPENAI_API_KEY"] == "hush-1"
    for shown in (as_text(loaded), as_json(loaded)):
        assert "hush" not in shown
        for open_word in ("OPENAI_API_KEY", "npx", "--verbose", "--quiet", "example.org", "Authorization"):
            assert open_word in shown


def test_each_value_is_shown_with_its_origin(user_file, project, monkeypatch):
    user_file.write_text('mode = "code"')
    monkeypatch.setenv("ACCORD_MODEL", "a:b")
    lines = [line.split() for line in as_text(load_settings(project)).splitlines()]
    assert ["model", "a:b", "ACCORD_MODEL"] in lines
    assert ["mode", "code", "~/.config/accord/config.toml"] in lines
    assert ["max_requests", "50", "default"] in lines


def test_programs_get_the_same(user_file, project):
    user_file.write_text("retries = 2")
    (project / ".accord.toml").touch()
    shown = msgspec.json.decode(as_json(load_settings(project)))
    assert shown["settings"]["retries"] == {"value": 2, "origin": "~/.config/accord/config.toml"}
    assert shown["files"]["user"] == {"path": str(user_file), "exists": True}
    assert shown["files"]["project"] == {"path": str(project / ".accord.toml"), "state": "untrusted"}
    assert len(shown["notices"]) == 1


def test_nothing_that_is_shown_is_obeyed_by_a_terminal():
    assert display_value("a\x1b[31mb\x9bc\nd\u202e") == "a\\x1b[31mb\\x9bc\\nd\\u202e"
    assert display_value(["\x7f"]) == '["\\x7f"]'


def test_what_can_not_be_seen_is_told_by_its_number():
    assert display_value("npx\u3164\u2800\ufe0f evil") == "npx\\u3164\\u2800\\ufe0f evil"
    assert display_value("e\u0301 größe 日本") == "e\u0301 größe 日本"
    assert display_value("e" + "\u0301" * 5) == "e\u0301\u0301" + "\\u0301" * 3
