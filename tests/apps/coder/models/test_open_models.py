"""Models are opened once, and a provider's model is loaded before the first prompt needs it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any, cast

import pytest

from accord.apps.coder.errors import ModelFailed
from accord.apps.coder.models import open_models
from accord.apps.coder.models.model import Model
from accord.apps.coder.models.open_models import OpenModels
from accord.apps.coder.settings.settings import ModelSettings


class OpenedModel:
    def __init__(self, name: str) -> None:
        self.name = name
        self.is_closed = False

    async def aclose(self) -> None:
        self.is_closed = True


class Opener:
    def __init__(self) -> None:
        self.names: list[str] = []
        self.opened = asyncio.Event()
        self.failures = 0

    async def __call__(self, name: str, settings: ModelSettings) -> Model:
        self.names.append(name)
        self.opened.set()
        if self.failures:
            self.failures -= 1
            raise ModelFailed("no such model", "choose another")
        return cast("Any", OpenedModel(name))


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_models, "_PRELOAD_DELAY", 0.0)


async def test_a_providers_model_is_opened_before_it_is_used_and_only_once():
    opener, settings = Opener(), ModelSettings()
    models = OpenModels(opener)
    models.preload("openai:gpt-5", settings)
    await opener.opened.wait()
    first, second = [await models.model("openai:gpt-5", settings) for _ in range(2)]
    assert first is second
    assert opener.names == ["openai:gpt-5"]
    await models.aclose()
    assert cast("Any", first).is_closed


@pytest.mark.parametrize("name", ["offline", "local:qwen.gguf"])
async def test_a_model_without_a_providers_library_is_opened_when_it_is_used(name: str):
    opener = Opener()
    models = OpenModels(opener)
    models.preload(name, ModelSettings())
    models.preload("openai:gpt-5", ModelSettings())
    await opener.opened.wait()
    assert opener.names == ["openai:gpt-5"]
    await models.aclose()


async def test_a_model_that_could_not_be_loaded_early_is_tried_again_when_it_is_used():
    opener, settings = Opener(), ModelSettings()
    opener.failures = 1
    models = OpenModels(opener)
    models.preload("openai:gpt-5", settings)
    await opener.opened.wait()
    await asyncio.sleep(0)
    await models.model("openai:gpt-5", settings)
    assert opener.names == ["openai:gpt-5"] * 2
    await models.aclose()


async def test_nothing_is_loaded_after_closing():
    opener = Opener()
    models = OpenModels(opener)
    models.preload("openai:gpt-5", ModelSettings())
    await models.aclose()
    for _ in range(5):
        await asyncio.sleep(0)
    assert opener.names == []


async def test_the_rest_of_the_first_prompt_is_prepared_after_the_library_was_loaded():
    opener, prepared = Opener(), asyncio.Event()
    loop = asyncio.get_running_loop()
    models = OpenModels(opener, lambda: (loop.call_soon_threadsafe(prepared.set), None)[1])
    models.preload("openai:gpt-5", ModelSettings())
    await asyncio.wait_for(prepared.wait(), 60)
    assert opener.opened.is_set()
    await models.aclose()


def test_a_handler_of_prompts_prepares_the_modules_and_the_tools_of_the_first_prompt():
    program = (
        "import sys\n"
        "from accord.apps.coder.prompt_handler import PromptHandler\n"
        "handler = PromptHandler(None, None, [], lambda: None)\n"
        "before = set(sys.modules)\n"
        "handler._models._prepare()\n"
        "print(*sorted(set(sys.modules) - before))\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert {
        "accord.apps.coder.model_loop",
        "accord.apps.coder.prompt_content",
        "accord.apps.coder.tools.tool_call",
    } <= set(ended.stdout.split())
