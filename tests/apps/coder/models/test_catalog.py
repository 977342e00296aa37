from __future__ import annotations

import subprocess
import sys

import pytest

from accord.apps.coder.errors import ModelFailed, ModelNeedsKey
from accord.apps.coder.models.catalog import endpoint_of, input_kinds_of, missing_key
from accord.apps.coder.models.model import InputKinds
from accord.apps.coder.models.open_models import open_model
from accord.apps.coder.settings.settings import ModelSettings

NOTHING = ModelSettings()


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai:gpt-5", "OPENAI_API_KEY"),
        ("openai-responses:gpt-5", "OPENAI_API_KEY"),
        ("openai-chat:gpt-5", "OPENAI_API_KEY"),
        ("anthropic:claude-x", "ANTHROPIC_API_KEY"),
        ("google:gemini-x", "GOOGLE_API_KEY"),
        ("ollama:qwen3", None),
        ("local:/models/openai:x.gguf", None),
        ("offline", None),
        ("somebody:model", None),
    ],
)
def test_the_variable_of_a_missing_key_is_named(name: str, variable: str | None):
    assert missing_key(name, NOTHING, {}) == variable


@pytest.mark.parametrize("variable", ["GOOGLE_API_KEY", "GEMINI_API_KEY"])
def test_a_key_may_be_in_any_of_the_variables_of_its_provider(variable: str):
    assert missing_key("google:gemini-x", NOTHING, {variable: "k"}) is None


def test_the_settings_lie_over_the_environment():
    settings = ModelSettings(environment={"OPENAI_API_KEY": "ours"})
    assert missing_key("openai:gpt-5", settings, {}) is None
    assert endpoint_of("openai:gpt-5", settings, {"OPENAI_API_KEY": "theirs"}).key == "ours"


def test_a_key_that_is_empty_is_missing():
    assert missing_key("openai:gpt-5", NOTHING, {"OPENAI_API_KEY": ""}) == "OPENAI_API_KEY"


def test_a_server_at_an_address_of_its_own_may_want_no_key():
    assert missing_key("openai:qwen", ModelSettings(base_urls={"openai": "http://127.0.0.1:1/v1"}), {}) is None
    assert missing_key("openai:qwen", NOTHING, {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}) is None


def test_an_address_holds_for_every_api_of_its_provider_unless_that_has_its_own():
    settings = ModelSettings(base_urls={"openai": "http://a/v1", "openai-chat": "http://b/v1"})
    assert endpoint_of("openai-responses:x", settings, {}).url == "http://a/v1"
    assert endpoint_of("openai-chat:x", settings, {}).url == "http://b/v1"


@pytest.mark.parametrize("provider", ["ollama", "vllm", "lmstudio", "llamacpp"])
def test_servers_on_this_machine_are_found_where_they_usually_are(provider: str):
    url = endpoint_of(f"{provider}:qwen3", NOTHING, {}).url
    assert url is not None
    assert url.startswith("http://127.0.0.1:")


@pytest.mark.parametrize(
    ("name", "takes"),
    [
        ("openai:gpt-5", InputKinds(image=True)),
        ("openai:gpt-oss-20b", InputKinds()),
        ("openai:o3-mini", InputKinds()),
        ("anthropic:claude-x", InputKinds(image=True)),
        ("openrouter:anthropic/claude-x", InputKinds(image=True)),
        ("google:gemini-x", InputKinds(image=True, audio=True)),
        ("ollama:qwen2.5-vl", InputKinds(image=True)),
        ("ollama:llava", InputKinds(image=True)),
        ("ollama:qwen3", InputKinds()),
        ("local:llava.gguf", InputKinds()),
        ("offline", InputKinds()),
    ],
)
def test_what_a_model_takes_is_known_by_its_family(name: str, takes: InputKinds):
    assert input_kinds_of(name, NOTHING) == takes


def test_what_the_settings_say_a_model_takes_is_believed():
    settings = ModelSettings(takes={"ollama:qwen3": ["image", "audio"], "openai:gpt-5": []})
    assert input_kinds_of("ollama:qwen3", settings) == InputKinds(image=True, audio=True)
    assert input_kinds_of("openai:gpt-5", settings) == InputKinds()


def test_all_of_that_is_known_without_loading_a_model_library():
    program = (
        "import sys\n"
        "from accord.apps.coder.models.catalog import missing_key, input_kinds_of\n"
        "from accord.apps.coder.settings.settings import ModelSettings\n"
        "missing_key('openai:gpt-5', ModelSettings(), {}), input_kinds_of('openai:gpt-5', ModelSettings())\n"
        "print([name for name in ('pydantic', 'pydantic_ai', 'httpx2', 'xllamacpp', 'openai') if name in sys.modules])"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == "[]"


async def test_the_model_that_needs_nothing_opens_at_once():
    assert (await open_model("offline", NOTHING)).name == "offline"


@pytest.mark.parametrize("name", ["gpt-5", ":gpt-5", "openai:", ""])
async def test_a_name_that_is_none_says_how_names_are_written(name: str):
    with pytest.raises(ModelFailed, match="openai:gpt-5 or ollama:qwen3"):
        await open_model(name, NOTHING, {})


async def test_a_missing_key_is_told_before_anything_is_loaded():
    with pytest.raises(ModelNeedsKey) as failed:
        await open_model("anthropic:claude-x", NOTHING, {})
    assert (failed.value.variable, failed.value.provider) == ("ANTHROPIC_API_KEY", "anthropic")
    assert "ANTHROPIC_API_KEY" in str(failed.value)


async def test_a_library_that_is_not_installed_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    for name in [name for name in sys.modules if name == "accord.apps.coder.models.providers"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pydantic_ai.direct", None)
    with pytest.raises(ModelFailed, match=r"pip install 'accord\[coder,local\]'"):
        await open_model("ollama:qwen3", NOTHING, {})
