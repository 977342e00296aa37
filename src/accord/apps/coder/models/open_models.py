"""Opens models: each one once for all sessions that use it with the same settings."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from accord.apps.coder.errors import ModelFailed, ModelNeedsKey
from accord.apps.coder.models.catalog import ModelEndpoint, endpoint_of
from accord.local.threads import in_thread, shielded_result
from accord.transports.installation import install_command

if TYPE_CHECKING:
    from accord.apps.coder.models.model import Model
    from accord.apps.coder.settings.settings import ModelSettings

ModelOpener: TypeAlias = "Callable[[str, ModelSettings], Awaitable[Model]]"


async def open_model(name: str, settings: ModelSettings, environment: Mapping[str, str] | None = None) -> Model:
    """Make a model ready for requests; ModelFailed says why it can't be used, and what helps."""
    if name == "offline":
        from accord.apps.coder.models.offline import OfflineModel  # noqa: PLC0415  # the first prompt pays for it

        return OfflineModel()
    endpoint = endpoint_of(name, settings, environment)
    if endpoint.missing_key is not None:
        raise ModelNeedsKey(endpoint.missing_key, endpoint.provider)
    opener = await in_thread(lambda: _opener(endpoint.provider))
    return await opener(endpoint, settings)


def _opener(provider: str) -> Callable[[ModelEndpoint, ModelSettings], Awaitable[Model]]:
    """Loads pydantic-ai, which takes seconds: not in the event loop."""
    try:
        if provider == "local":
            from accord.apps.coder.models.local_model import open_local as opener  # noqa: PLC0415  # an extra
        else:
            from accord.apps.coder.models.providers import open_provider as opener  # noqa: PLC0415  # an extra
    except ModuleNotFoundError as missing:
        raise ModelFailed(
            f"Language models need a package that is not installed: {missing.name}",
            f"Install it with: {install_command('coder,local')}. The model offline needs none.",
        ) from missing
    return opener


_PRELOAD_DELAY = 0.1  # the response that opens the session is sent first


class OpenModels:
    """Opens a model when it is first needed. One that failed to open is tried again the next time.

    `prepare` runs in a thread after a provider's library was loaded: what else the first prompt would wait for.
    """

    def __init__(self, opener: ModelOpener = open_model, prepare: Callable[[], None] = lambda: None) -> None:
        self._opener = opener
        self._prepare = prepare
        self._models: dict[tuple[str, bytes], asyncio.Future[Model]] = {}
        self._is_closed = False

    async def model(self, name: str, settings: ModelSettings) -> Model:
        """The open model. Cancelling one caller does not stop the opening for others."""
        return await shielded_result(self._open(name, settings))

    def _open(self, name: str, settings: ModelSettings) -> asyncio.Future[Model]:
        key = name, msgspec.json.encode(settings)  # projects may have their own base URL and API key
        opening = self._models.get(key)
        if opening is None or (opening.done() and (opening.cancelled() or opening.exception() is not None)):
            opening = self._models[key] = asyncio.ensure_future(self._opener(name, settings))
            opening.add_done_callback(_retrieve_exception)
        return opening

    def preload(self, name: str, settings: ModelSettings) -> None:
        """Begin to open a provider's model, which loads its library, while the user types. A failure shows at its use."""
        if name.partition(":")[0] not in ("offline", "local"):  # a local model takes memory, so only when it is used
            asyncio.get_running_loop().call_later(_PRELOAD_DELAY, self._preload, name, settings)

    def _preload(self, name: str, settings: ModelSettings) -> None:
        if not self._is_closed:
            self._open(name, settings).add_done_callback(self._opened)

    def _opened(self, opening: asyncio.Future[Model]) -> None:
        if not opening.cancelled() and opening.exception() is None:
            asyncio.get_running_loop().run_in_executor(None, self._prepare)

    async def aclose(self) -> None:
        """Close all models, also those that are being opened."""
        self._is_closed = True
        models, self._models = list(self._models.values()), {}
        for opening in models:
            opening.cancel()
        if models:
            await asyncio.wait(models)
        for opening in models:
            if not opening.cancelled() and opening.exception() is None:
                await opening.result().aclose()


def _retrieve_exception(opening: asyncio.Future[Model]) -> None:
    if not opening.cancelled():
        opening.exception()
