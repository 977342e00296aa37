from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.apps.coder.errors import InvalidSettings
from accord.apps.coder.settings.files import SettingsFile
from accord.apps.coder.settings.precedence import merge_sources
from accord.apps.coder.settings.settings import RESERVED, Settings


def refusal(text: str) -> str:
    with pytest.raises(InvalidSettings) as refused:
        merge_sources({}, {}, SettingsFile(Path("/c.toml"), text.encode()))
    return str(refused.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('\nmodle = "a:b"', "/c.toml:2: modle: unknown setting; did you mean 'mode' or 'model'?"),
        ('mode = "cod"', "/c.toml:1: mode: must be one of ask, architect, code; did you mean 'code'?"),
        ("mode = 3", "/c.toml:1: mode: must be text, not a whole number"),
        ('max_requests = "5"', "/c.toml:1: max_requests: must be a whole number, not text"),
        ("max_requests = 0", "/c.toml:1: max_requests: must be a whole number >= 1"),
        ("max_requests = true", "/c.toml:1: max_requests: must be a whole number, not true or false"),
        ("max_tokens = 1.5", "/c.toml:1: max_tokens: must be a whole number, not a number"),
        ("compact_at = 1.5", "/c.toml:1: compact_at: must be a number <= 1.0"),
        ('models = "a:b"', "/c.toml:1: models: must be a list, not text"),
        (
            "model = 'gpt'",
            "/c.toml:1: model: invalid model name 'gpt': must be 'provider:name', 'local:FILE.gguf' or 'offline'",
        ),
        ('models = ["a:b", "x"]', "invalid model name 'x'"),
        ("environment = 3", "/c.toml:1: environment: must be a table"),
        ("[environment]\nA = 3", "/c.toml:2: environment.A: must be text, not a whole number"),
        (
            "[base_urls]\nx = 'ftp://y'",
            "/c.toml:2: base_urls.x: must be a URL, such as https://host/v1: it must begin with http:// or https:// and a host",
        ),
        ('[takes]\n"a:b" = ["video"]', "/c.toml:2: takes.a:b: must be one of image, audio"),
        ("[context_sizes]\n'a:b' = 0", "/c.toml:2: context_sizes.a:b: must be a whole number >= 1"),
        (
            "[servers.x]\nargs = []",
            "/c.toml:1: servers.x: either 'command' (a program to start) or 'url' (of a running server) is required",
        ),
        (
            "[servers.x]\ncommand = 'a'\nurl = 'http://b'",
            "/c.toml:1: servers.x: either 'command' (a program to start) or 'url' (of a running server) is required",
        ),
        ("[servers.x]\ncommand = 'a'\ntype = 'http'", "/c.toml:1: servers.x: 'type' does not match"),
        ("[keys]\n\nsend_noww = 'f6'", "/c.toml:3: keys.send_noww: unknown action; did you mean 'send_now'"),
        ("[keys]\nfly = 'f6'", "/c.toml:2: keys.fly: unknown action; known actions are send, newline,"),
        ("[keys]\nlog = 'ctlr+l'", "/c.toml:2: keys.log: unknown modifier 'ctlr' in 'ctlr+l'; did you mean 'ctrl'?"),
        ("[keys]\nlog = ['f6', 'pagup']", "/c.toml:2: keys.log: unknown key 'pagup'; did you mean 'pageup'?"),
        ("[keys]\nlog = 'ctrl+§'", "/c.toml:2: keys.log: unknown key '§'; such as ctrl+x, alt+enter, f6 or pageup"),
        ("[keys]\nlog = 'Shift+L'", "/c.toml:2: keys.log: 'shift+l' is needed to type text; add ctrl or alt"),
        (
            "[keys]\nlog = 'ctrl+c'",
            "/c.toml:2: keys.log: 'ctrl+c' stops the agent and can't be given to another action",
        ),
        ("[keys]\nlog = 'ctrl+i'", "/c.toml:2: keys.log: terminals send 'ctrl+i' as 'tab'; choose another key"),
        ("[keys]\nlog = 3", "/c.toml:2: keys.log: must be text or a list, not a whole number"),
        (
            "[keys]\nlog = 'shift+alt+x'\nhistory = ['alt + shift + x']",
            "/c.toml:1: keys: 'alt+shift+x' is given to both 'log' and 'history'; choose one",
        ),
        ("vim = 'yes'", "/c.toml:1: vim: must be true or false, not text"),
        ("[servers.x]\ncomand = 'a'", "/c.toml:2: servers.x.comand: unknown setting; did you mean 'command'?"),
        ("[servers.x]\ncommand = 'a'\nargs = [1]", "/c.toml:3: servers.x.args: must be text, not a whole number"),
        ("[agents.x]\nargs = []", "/c.toml:1: agents.x: 'command' is required"),
        ("[agents.x]\ncommand = ''", "/c.toml:2: agents.x.command: must not be empty"),
        ("[agents.'a b']\ncommand = 'x'", "/c.toml:1: agents.a b: invalid agent name"),
        (
            "[agents.x]\ncommand = 'a'\nenv = {'A=B' = 'c'}",
            "/c.toml:3: agents.x.env.A=B: invalid name of an environment variable",
        ),
        ("[environment]\n'' = 'c'", "/c.toml:2: environment.: invalid name of an environment variable"),
        ("x = [", "/c.toml: invalid TOML: "),
        ("\nx = = 3", "/c.toml:2:5: invalid TOML: "),
        ("model = 'a:b'\nmodel = 'c:d'", "invalid TOML: cannot overwrite a value"),
    ],
)
def test_what_is_wrong_is_named_with_its_place_and_a_remedy(text, message):
    assert message in refusal(text)


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_no_agent_can_be_called_like_a_command(name):
    assert f"`accord {name}` is a command" in refusal(f"[agents.{name}]\ncommand = 'x'")


def test_no_agent_can_be_called_like_the_built_in_one():
    assert "agents.accord: the built-in agent has this name" in refusal("[agents.accord]\ncommand = 'x'")


def test_a_name_of_an_agent_can_be_seen():
    assert "invalid agent name" in refusal('[agents."\\u001b[31mx"]\ncommand = "x"')


@pytest.mark.parametrize("text", ["[environment]\nKEY = 12345678", "[environment]\nKEY = ['12345678']"])
def test_a_refusal_does_not_quote_a_secret(text):
    assert "12345678" not in refusal(text)


def test_a_wrong_variable_and_a_wrong_flag_are_named():
    with pytest.raises(InvalidSettings, match=r"^ACCORD_MODE: must be one of ask"):
        merge_sources({}, {"ACCORD_MODE": "cod"})
    with pytest.raises(InvalidSettings, match=r"^--max-requests: must be a whole number, not text$"):
        merge_sources({"max_requests": "many"}, {})
    with pytest.raises(InvalidSettings, match=r"^ACCORD_BASE_URLS: must be a table as JSON"):
        merge_sources({}, {"ACCORD_BASE_URLS": "ollama=http://x"})
    with pytest.raises(InvalidSettings, match=r"^ACCORD_BASE_URLS: ollama: must be a URL"):
        merge_sources({}, {"ACCORD_BASE_URLS": '{"ollama": "x"}'})


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(Settings.__struct_fields__) | st.text(max_size=5), values, max_size=3))
def test_anything_at_all_is_either_taken_or_refused_in_words(table):
    from accord.apps.coder.settings.validation import validate

    with suppress(InvalidSettings):
        Settings(**validate(table, ".".join))
