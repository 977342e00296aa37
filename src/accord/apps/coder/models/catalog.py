"""The model that a name means: its provider, address, API key and input kinds, known before a model library is loaded."""

from __future__ import annotations

import os
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from accord.apps.coder.errors import ModelFailed
from accord.apps.coder.models.model import InputKinds

if TYPE_CHECKING:
    from accord.apps.coder.settings.settings import ModelSettings

_USUAL_KEYS = (
    "anthropic cerebras deepseek fireworks groq mistral moonshotai nebius openai openrouter ovhcloud sambanova together "
    "xai zai"
)
_KEY_VARIABLES: dict[str, tuple[str, ...]] = {
    **{provider: (f"{provider.upper()}_API_KEY",) for provider in _USUAL_KEYS.split()},
    "alibaba": ("ALIBABA_API_KEY", "DASHSCOPE_API_KEY"),
    "azure": ("AZURE_OPENAI_API_KEY",),
    "cohere": ("CO_API_KEY",),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "heroku": ("HEROKU_INFERENCE_KEY",),
    "huggingface": ("HF_TOKEN",),
    "vercel": ("VERCEL_AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN"),
}
_URL_VARIABLES: dict[str, str] = {
    "anthropic": "ANTHROPIC_BASE_URL",
    "google": "GOOGLE_GEMINI_BASE_URL",
    "ollama": "OLLAMA_BASE_URL",
    "openai": "OPENAI_BASE_URL",
    "vllm": "VLLM_BASE_URL",
}
_LOCAL_SERVERS: dict[str, str] = {
    "llamacpp": "http://127.0.0.1:8080/v1",
    "lmstudio": "http://127.0.0.1:1234/v1",
    "ollama": "http://127.0.0.1:11434/v1",
    "vllm": "http://127.0.0.1:8000/v1",
}
PROVIDERS = sorted({*_KEY_VARIABLES, *_LOCAL_SERVERS})
"""The providers that accord knows without a model library."""

_WITH_IMAGES = (
    "claude-*", "gemini-*", "gpt-4o*", "gpt-4.1*", "gpt-4-turbo*", "gpt-[5-9]*", "chatgpt-*", "o[134]*", "grok-4*",
    "llama-4*", "llama4*", "gemma3*", "gemma-3*", "pixtral*", "mistral-medium*", "mistral-small*", "kimi-k2.5*",
    "*llava*", "*vision*", "*-vl*", "*vl:*",
)  # fmt: skip
_WITH_AUDIO = ("gemini-*", "*audio*")
_TEXT_ONLY = ("o1-mini*", "o3-mini*", "gpt-oss*", "*embedding*")


class ModelEndpoint:
    """Where to reach a model: its provider, its name there, and the base URL and API key that apply."""

    def __init__(self, name: str, settings: ModelSettings, environment: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.provider, _, self.model = name.partition(":")
        self.family = self.provider.removesuffix("-chat").removesuffix("-responses")
        self.environment = {**(os.environ if environment is None else environment), **settings.environment}
        self.url = (
            settings.base_urls.get(self.provider)
            or settings.base_urls.get(self.family)
            or self.environment.get(_URL_VARIABLES.get(self.family, ""))
            or _LOCAL_SERVERS.get(self.provider)
        )
        known = _KEY_VARIABLES.get(self.family)
        usual = f"{self.family.upper().replace('-', '_').replace('/', '_')}_API_KEY"
        self.key_variables = known or (usual,)
        self.key = next((value for each in self.key_variables if (value := self.environment.get(each))), None)
        self.missing_key = known[0] if known and self.key is None and not self.url else None
        """The variable to set first. A server with its own base URL may not need a key."""


def endpoint_of(name: str, settings: ModelSettings, environment: Mapping[str, str] | None = None) -> ModelEndpoint:
    """Parse a name such as `openai:gpt-5`; ModelFailed explains the syntax."""
    endpoint = ModelEndpoint(name, settings, environment)
    if not endpoint.provider or not endpoint.model:
        raise ModelFailed(
            f"Invalid model name: {name!r}",
            "Write PROVIDER:NAME, as in openai:gpt-5 or ollama:qwen3; local:FILE.gguf for a file; or offline.",
        )
    return endpoint


def missing_key(name: str, settings: ModelSettings, environment: Mapping[str, str] | None = None) -> str | None:
    """The variable that must be set before this model can be used; None also where accord does not know."""
    return None if name.startswith("local:") else ModelEndpoint(name, settings, environment).missing_key


def input_kinds_of(name: str, settings: ModelSettings) -> InputKinds:
    """What the settings say about the model, otherwise what is known about its family."""
    if (kinds := settings.takes.get(name)) is not None:
        return InputKinds(image="image" in kinds, audio="audio" in kinds)
    provider, _, model = name.partition(":")
    model = model.rpartition("/")[2].lower()
    if provider in ("local", "offline") or _matches(model, _TEXT_ONLY):
        return InputKinds()
    return InputKinds(image=_matches(model, _WITH_IMAGES), audio=_matches(model, _WITH_AUDIO))


def _matches(model: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(model, pattern) for pattern in patterns)
