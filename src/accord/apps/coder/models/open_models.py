"""The models that are open, each once for everybody who means the same one with the same settings."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from accord.local.threads import shielded_result

if TYPE_CHECKING:
    from accord.apps.coder.models.model import Model
    from accord.apps.coder.settings.settings import ModelSettings

__all__ = ["ModelOpener", "OpenModels"]

ModelOpener: TypeAlias = "Callable[[str, ModelSettings], Awaitable[Model]]"


class OpenModels:
    """Opens a model when it is first needed. One that could not be opened is tried again the next time."""

    def __init__(self, open_model: ModelOpener | None = None) -> None:
        self._open_model = open_model
        self._opening: dict[tuple[str, bytes], asyncio.Future[Model]] = {}

    async def model(self, name: str, settings: ModelSettings) -> Model:
        """The model; whoever gives up waiting does not stop the opening for others."""
        key = name, msgspec.json.encode(settings)  # an address and a key belong to it: projects may have their own
        opening = self._opening.get(key)
        if opening is None or (opening.done() and (opening.cancelled() or opening.exception() is not None)):
            opening = self._opening[key] = asyncio.ensure_future(self._open(name, settings))
            opening.add_done_callback(_seen)
        return await shielded_result(opening)

    async def aclose(self) -> None:
        """Free them all, also those that are just being opened."""
        opening, self._opening = list(self._opening.values()), {}
        for each in opening:
            each.cancel()
        if opening:
            await asyncio.wait(opening)
        for each in opening:
            if not each.cancelled() and each.exception() is None:
                await each.result().aclose()

    async def _open(self, name: str, settings: ModelSettings) -> Model:
        if self._open_model is not None:
            return await self._open_model(name, settings)
        from accord.apps.coder.models.catalog import open_model  # noqa: PLC0415  # the first prompt pays for it

        return await open_model(name, settings)


def _seen(opening: asyncio.Future[Model]) -> None:
    if not opening.cancelled():
        opening.exception()
