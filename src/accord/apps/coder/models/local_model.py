"""Models in GGUF files, run on this machine by llama.cpp: nothing to install but the extra `local`.

One process per model serves every session, one request at a time. It ends with `aclose`, and with us if we are killed.

llama.cpp notices that nobody reads only when it writes, and it writes nothing while it reads the prompt, which can take
minutes. So whoever leaves before the first token ends the process, and the next request starts it again.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx2
from pydantic_ai.exceptions import ModelConnectionError

from accord.apps.coder.errors import ModelFailed
from accord.apps.coder.models.catalog import ModelEndpoint, input_kinds_of
from accord.apps.coder.models.local_server import KEY_VARIABLE, READY_PREFIX
from accord.apps.coder.models.model import Event, ModelRequest
from accord.apps.coder.models.providers import ProviderModel, open_provider
from accord.apps.coder.settings.settings import ModelSettings
from accord.errors import ConnectionClosed
from accord.local.files import open_file
from accord.local.paths import expand_path
from accord.local.processes import exit_status
from accord.local.threads import in_thread
from accord.transports.command_output import Capture, start_capture
from accord.transports.output_tail import Tail

__all__ = ["LocalModel", "open_local"]

_LAST_WORDS = 1000  # bytes of what llama.cpp wrote
_EXPLANATION_SECONDS = 1.0  # from a broken answer to the end of the process that explains it
_SETTLING_SECONDS = 5.0  # from an answer that nobody reads any more to the end of its generation


async def open_local(endpoint: ModelEndpoint, settings: ModelSettings) -> LocalModel:
    """Load the file; ModelFailed says why it can't be."""
    path = await in_thread(lambda: _checked(endpoint.model))
    model = LocalModel(endpoint.name, path, settings)
    await model.open()
    return model


def _checked(name: str) -> Path:
    path = expand_path(name).absolute()
    if find_spec("xllamacpp") is None:
        raise ModelFailed(
            "Models in files need the package xllamacpp, which is not installed",
            'Install it with: pip install "accord[local]".',
        )
    try:
        with open_file(path) as file:
            is_model = file.read(4) == b"GGUF"
    except OSError as error:
        raise ModelFailed(
            f"The model {path} can't be read: {error.strerror}", "Check the path after `local:`."
        ) from error
    if not is_model:
        raise ModelFailed(f"{path} is no GGUF file", "Download the model in the GGUF format, which llama.cpp runs.")
    return path


class LocalModel:
    """A model in a file."""

    is_language_model = True

    def __init__(self, name: str, path: Path, settings: ModelSettings) -> None:
        self.name = name
        self.input_kinds = input_kinds_of(name, settings)
        self.context_size: int | None = None
        self._path = path
        self._settings = settings
        self._starting = asyncio.Lock()
        self._one_at_a_time = asyncio.Lock()  # whoever waits here for llama.cpp can leave at no cost
        self._settling: asyncio.Task[None] | None = None
        self._process: _Process | None = None
        self._asked: ProviderModel | None = None

    async def open(self) -> ProviderModel:
        """Start the process unless it runs; whom to ask."""
        async with self._starting:
            if self._process is not None and self._asked is not None and not self._process.has_ended:
                return self._asked
            await self._end()
            self._process = process = _Process()
            try:
                url = await process.start(self._path, self._settings.context_sizes.get(self.name, 0))
            except BaseException:
                await self._end()
                raise
            self.context_size = process.context
            self._asked = await self._served(url, process.key)
            return self._asked

    async def _served(self, url: str, key: str) -> ProviderModel:
        settings = ModelSettings(
            base_urls={"local": f"{url}/v1"},
            environment={"LOCAL_API_KEY": key},
            takes={self.name: []},
            temperature=self._settings.temperature,
            max_tokens=self._settings.max_tokens,
        )
        return await open_provider(ModelEndpoint(self.name, settings, {}), settings)

    async def stream(self, asked: ModelRequest) -> AsyncGenerator[Event, None]:
        async with self._one_at_a_time:
            await self._settled()
            model = await self.open()
            process = self._process
            assert process is not None
            began = False
            try:
                async with aclosing(model.stream(asked)) as events:
                    async for event in events:
                        began = True
                        yield event
            except ModelFailed as failed:
                if await process.ends_now(failed):
                    raise process.failure(f"The process of {self.name} ended") from failed
                raise
            except (asyncio.CancelledError, GeneratorExit):
                self._settling = asyncio.create_task(process.settle(began=began), name="accord local model settling")
                raise

    async def aclose(self) -> None:
        await self._settled()
        async with self._starting:
            await self._end()

    async def _settled(self) -> None:
        if self._settling is not None:
            await asyncio.wait((self._settling,))

    async def _end(self) -> None:
        asked, self._asked = self._asked, None
        process, self._process = self._process, None
        if asked is not None:
            await asked.aclose()
        if process is not None:
            await process.end()


class _Process:
    """One run of `local_server`."""

    def __init__(self) -> None:
        self.key = secrets.token_urlsafe()
        self.context: int | None = None
        self._capture: Capture | None = None
        self._tail = Tail(_LAST_WORDS)
        self._line = b""
        self._found: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()

    @property
    def has_ended(self) -> bool:
        return self._capture is None or self._capture.ended.done()

    async def start(self, path: Path, context: int) -> str:
        """Load the model; where it is served."""
        command = [sys.executable, "-P", "-m", "accord.apps.coder.models.local_server", str(path), str(context)]
        try:
            self._capture = capture = await start_capture(
                command, env={**os.environ, KEY_VARIABLE: self.key}, cwd=str(path.parent), on_output=self._heard
            )
        except ConnectionClosed as closed:
            raise ModelFailed(f"The model {path} can't be run: {closed.reason}") from closed
        await asyncio.wait((self._found, capture.ended), return_when=asyncio.FIRST_COMPLETED)
        if not self._found.done():
            raise self.failure(f"The model {path} can't be loaded")
        self.context = self._found.result()["context"]
        return self._found.result()["url"]

    async def settle(self, *, began: bool) -> None:
        """See to it that an answer that nobody reads any more is not generated any more."""
        if not (began and await self._is_idle_soon()):
            await self.end()

    async def _is_idle_soon(self) -> bool:
        url, headers = self._found.result()["url"], {"Authorization": f"Bearer {self.key}"}
        try:
            async with asyncio.timeout(_SETTLING_SECONDS), httpx2.AsyncClient(headers=headers) as client:
                while (await client.get(f"{url}/slots")).json()[0]["is_processing"]:  # noqa: ASYNC110  # it is elsewhere
                    await asyncio.sleep(0.02)
        except (TimeoutError, httpx2.HTTPError):
            return False
        return True

    async def ends_now(self, failed: ModelFailed) -> bool:
        """Whether the process has ended, which would explain this failure."""
        if self._capture is None or failed.__cause__ is None:
            return False
        if isinstance(failed.__cause__, ModelConnectionError):
            await asyncio.wait((self._capture.ended,), timeout=_EXPLANATION_SECONDS)
        return self._capture.ended.done()

    def failure(self, what: str) -> ModelFailed:
        """The failure that tells what the process wrote last."""
        self._tail.finish()
        ended = exit_status(self._capture.ended.result()) if self._capture and self._capture.ended.done() else None
        how = f" ({ended.signal or f'exit code {ended.code}'})" if ended else ""
        words = self._tail.text.strip()
        return ModelFailed(
            f"{what}{how}" + (f": {words}" if words else ""),
            "The file may be damaged or newer than the installed xllamacpp, or too large for this machine's memory; "
            "context_sizes in the settings makes it smaller.",
        )

    async def end(self) -> None:
        if self._capture is not None:
            await self._capture.end()

    def _heard(self, piece: bytes) -> None:
        if self._found.done():
            self._tail.add(piece)
            return
        *lines, self._line = (self._line[-_LAST_WORDS:] + piece).split(b"\n")
        for line in lines:
            if line.startswith(READY_PREFIX):
                self._found.set_result(json.loads(line[len(READY_PREFIX) :]))
            else:
                self._tail.add(line + b"\n")
