"""Which model a name means, what it needs and what it takes: all of it known before a model library is loaded."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, TypeAlias

from accord.apps.coder.errors import ModelFailed, ModelNeedsKey
from accord.apps.coder.models.model import InputKinds, Model
from accord.local.threads import in_thread

if TYPE_CHECKING:
    from accord.apps.coder.settings.settings import ModelSettings

__all__ = ["PROVIDERS", "ModelEndpoint", "endpoint_of", "input_kinds_of", "missing_key", "open_model"]

_KEYS: dict[str, tuple[str, ...]] = {
    "alibaba": ("ALIBABA_API_KEY", "DASHSCOPE_API_KEY"),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "azure": ("AZURE_OPENAI_API_KEY",),
    "cerebras": ("CEREBRAS_API_KEY",),
    "cohere": ("CO_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "fireworks": ("FIREWORKS_API_KEY",),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "heroku": ("HEROKU_INFERENCE_KEY",),
    "huggingface": ("HF_TOKEN",),
    "mistral": ("MISTRAL_API_KEY",),
    "moonshotai": ("MOONSHOTAI_API_KEY",),
    "nebius": ("NEBIUS_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "ovhcloud": ("OVHCLOUD_API_KEY",),
    "sambanova": ("SAMBANOVA_API_KEY",),
    "together": ("TOGETHER_API_KEY",),
    "vercel": ("VERCEL_AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN"),
    "xai": ("XAI_API_KEY",),
    "zai": ("ZAI_API_KEY",),
}
_URLS: dict[str, str] = {
    "anthropic": "ANTHROPIC_BASE_URL",
    "google": "GOOGLE_GEMINI_BASE_URL",
    "ollama": "OLLAMA_BASE_URL",
    "openai": "OPENAI_BASE_URL",
    "vllm": "VLLM_BASE_URL",
}
_SERVERS: dict[str, str] = {
    "llamacpp": "http://127.0.0.1:8080/v1",
    "lmstudio": "http://127.0.0.1:1234/v1",
    "ollama": "http://127.0.0.1:11434/v1",
    "vllm": "http://127.0.0.1:8000/v1",
}
PROVIDERS = sorted({*_KEYS, *_SERVERS})
"""Those that accord knows without a model library."""

_SEE = (
    "claude-*", "gemini-*", "gpt-4o*", "gpt-4.1*", "gpt-4-turbo*", "gpt-[5-9]*", "chatgpt-*", "o[134]*", "grok-4*",
    "llama-4*", "llama4*", "gemma3*", "gemma-3*", "pixtral*", "mistral-medium*", "mistral-small*", "kimi-k2.5*",
    "*llava*", "*vision*", "*-vl*", "*vl:*",
)  # fmt: skip
_HEAR = ("gemini-*", "*audio*")
_BLIND = ("o1-mini*", "o3-mini*", "gpt-oss*", "*embedding*")


class ModelEndpoint:
    """Where a model is asked: its provider, the name there, and the address and key that apply."""

    def __init__(self, name: str, settings: ModelSettings, environment: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.provider, _, self.model = name.partition(":")
        self.family = self.provider.removesuffix("-chat").removesuffix("-responses")
        self.environment = {**(os.environ if environment is None else environment), **settings.environment}
        self.url = (
            settings.base_urls.get(self.provider)
            or settings.base_urls.get(self.family)
            or self.environment.get(_URLS.get(self.family, ""))
            or _SERVERS.get(self.provider)
        )
        self.variables = _KEYS.get(self.family, ())
        self.key = next((value for each in self.key_names if (value := self.environment.get(each))), None)

    @property
    def key_names(self) -> tuple[str, ...]:
        """The variables that may hold the key; of a provider that accord does not know, the usual spelling."""
        return self.variables or (f"{self.family.upper().replace('-', '_').replace('/', '_')}_API_KEY",)

    @property
    def missing(self) -> str | None:
        """The variable to set before this can be asked. A server at an address of its own may not want a key."""
        return self.variables[0] if self.variables and self.key is None and not self.url else None


def endpoint_of(name: str, settings: ModelSettings, environment: Mapping[str, str] | None = None) -> ModelEndpoint:
    """Read a name such as `openai:gpt-5`; ModelFailed says how names are written."""
    endpoint = ModelEndpoint(name, settings, environment)
    if not endpoint.provider or not endpoint.model:
        raise ModelFailed(
            f"{name!r} is not the name of a model",
            "Write the provider, a colon and the name there, as in openai:gpt-5 or ollama:qwen3; "
            "local:FILE.gguf for a file; or offline",
        )
    return endpoint


def missing_key(name: str, settings: ModelSettings, environment: Mapping[str, str] | None = None) -> str | None:
    """The variable that must be set before this model can be asked; None too where accord does not know."""
    return None if name.startswith("local:") else ModelEndpoint(name, settings, environment).missing


def input_kinds_of(name: str, settings: ModelSettings) -> InputKinds:
    """What the settings say about the model by its full name, else what is known of its family."""
    if (told := settings.takes.get(name)) is not None:
        return InputKinds(image="image" in told, audio="audio" in told)
    provider, _, model = name.partition(":")
    if provider in ("local", "offline"):
        return InputKinds()
    model = model.rpartition("/")[2].lower()
    if _any(model, _BLIND):
        return InputKinds()
    return InputKinds(image=_any(model, _SEE), audio=_any(model, _HEAR))


def _any(model: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(model, pattern) for pattern in patterns)


async def open_model(name: str, settings: ModelSettings, environment: Mapping[str, str] | None = None) -> Model:
    """Make the model ready to be asked; ModelFailed says why it can't be, and what helps."""
    if name == "offline":
        from accord.apps.coder.models.offline import OfflineModel  # noqa: PLC0415

        return OfflineModel()
    endpoint = endpoint_of(name, settings, environment)
    if endpoint.missing is not None:
        raise ModelNeedsKey(endpoint.missing, endpoint.provider)
    opener = await in_thread(_local if endpoint.provider == "local" else _providers)
    return await opener(endpoint, settings)


_Opener: TypeAlias = "Callable[[ModelEndpoint, ModelSettings], Awaitable[Model]]"


def _providers() -> _Opener:
    """Loads pydantic-ai, which takes seconds: not on the loop."""
    with _telling_what_to_install():
        from accord.apps.coder.models.providers import open_provider  # noqa: PLC0415
    return open_provider


def _local() -> _Opener:
    with _telling_what_to_install():
        from accord.apps.coder.models.local_model import open_local  # noqa: PLC0415
    return open_local


@contextmanager
def _telling_what_to_install() -> Generator[None]:
    try:
        yield
    except ModuleNotFoundError as missing:
        raise ModelFailed(
            f"Language models need a package that is not installed ({missing.name})",
            'Install it with: pip install "accord[coder,local]". The model offline needs none.',
        ) from missing
