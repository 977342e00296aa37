"""Models in GGUF files, run on this machine by llama.cpp; needs only the extra `local`.

One process per model serves all sessions, one request at a time. It ends with `aclose`, and also if we are killed.

llama.cpp notices a closed connection only when it writes, and it writes nothing while it reads the prompt, which can take
minutes. So a request that is cancelled before the first token ends the process, and the next request starts it again.
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

from accord.apps.coder.errors import AnswerCutOff, ModelFailed, ModelUnreachable
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
from accord.transports.command_output import CapturedCommand, capture_command
from accord.transports.installation import install_command
from accord.transports.output_tail import OutputTail

_MAX_TAIL = 1000  # bytes of llama.cpp's output for error reports
_EXIT_SECONDS = 1.0  # from a lost connection to the exit of the process that explains it
_IDLE_SECONDS = 5.0  # from a cancelled request to the end of its generation


async def open_local(endpoint: ModelEndpoint, settings: ModelSettings) -> LocalModel:
    """Load the file; ModelFailed says why that failed."""
    path = await in_thread(lambda: _model_path(endpoint.model))
    model = LocalModel(endpoint.name, path, settings)
    await model.open()
    return model


def _model_path(name: str) -> Path:
    path = expand_path(name).absolute()
    if find_spec("xllamacpp") is None:
        raise ModelFailed(
            "Models in files need the package xllamacpp, which is not installed",
            f"Install it with: {install_command('local')}",
        )
    try:
        with open_file(path) as file:
            is_model = file.read(4) == b"GGUF"
    except OSError as error:
        raise ModelFailed(
            f"The model {path} can't be read: {error.strerror}", "Check the path after `local:`."
        ) from error
    if not is_model:
        raise ModelFailed(f"{path} is not a GGUF file", "Download the model in GGUF format for llama.cpp.")
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
        self._one_at_a_time = asyncio.Lock()  # a request that waits here can be cancelled at no cost
        self._settling: asyncio.Task[None] | None = None
        self._process: _Process | None = None
        self._model: ProviderModel | None = None

    async def open(self) -> ProviderModel:
        """Start the process unless it is running; returns its model."""
        async with self._starting:
            if self._process is not None and self._model is not None and not self._process.has_ended:
                return self._model
            await self._end()
            self._process = process = _Process()
            try:
                url = await process.start(self._path, self._settings.context_sizes.get(self.name, 0))
            except BaseException:
                await self._end()
                raise
            self.context_size = process.context
            self._model = await self._connect(url, process.key)
            return self._model

    async def _connect(self, url: str, key: str) -> ProviderModel:
        settings = ModelSettings(
            base_urls={"local": f"{url}/v1"},
            environment={"LOCAL_API_KEY": key},
            takes={self.name: []},
            temperature=self._settings.temperature,
            max_tokens=self._settings.max_tokens,
        )
        return await open_provider(ModelEndpoint(self.name, settings, {}), settings)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Event, None]:
        async with self._one_at_a_time:
            await self._settled()
            model = await self.open()
            process = self._process
            assert process is not None
            has_begun = False
            try:
                async with aclosing(model.stream(request)) as events:
                    async for event in events:
                        has_begun = True
                        yield event
            except ModelFailed as failed:
                if await process.has_caused(failed):
                    raise process.failure(f"The process of {self.name} exited") from failed
                raise
            except (asyncio.CancelledError, GeneratorExit):
                self._settling = asyncio.create_task(
                    process.settle(has_begun=has_begun), name="accord local model settling"
                )
                raise

    async def aclose(self) -> None:
        await self._settled()
        async with self._starting:
            await self._end()

    async def _settled(self) -> None:
        if self._settling is not None:
            await asyncio.wait((self._settling,))

    async def _end(self) -> None:
        model, self._model = self._model, None
        process, self._process = self._process, None
        if model is not None:
            await model.aclose()
        if process is not None:
            await process.end()


class _Process:
    """One run of `local_server`."""

    def __init__(self) -> None:
        self.key = secrets.token_urlsafe()
        self.context: int | None = None
        self._capture: CapturedCommand | None = None
        self._tail = OutputTail(_MAX_TAIL)
        self._line = b""
        self._ready: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()

    @property
    def has_ended(self) -> bool:
        return self._capture is None or self._capture.ended.done()

    async def start(self, path: Path, context: int) -> str:
        """Load the model; returns the URL of the server."""
        command = [sys.executable, "-P", "-m", "accord.apps.coder.models.local_server", str(path), str(context)]
        try:
            self._capture = capture = await capture_command(
                command, env={**os.environ, KEY_VARIABLE: self.key}, cwd=str(path.parent), on_output=self._read
            )
        except ConnectionClosed as closed:
            raise ModelFailed(f"The model {path} can't be run: {closed.reason}") from closed
        await asyncio.wait((self._ready, capture.ended), return_when=asyncio.FIRST_COMPLETED)
        if not self._ready.done():
            raise self.failure(f"The model {path} can't be loaded")
        self.context = self._ready.result()["context"]
        return self._ready.result()["url"]

    async def settle(self, *, has_begun: bool) -> None:
        """Make sure that a cancelled answer is not generated any further."""
        if not (has_begun and await self._is_idle_soon()):
            await self.end()

    async def _is_idle_soon(self) -> bool:
        url, headers = self._ready.result()["url"], {"Authorization": f"Bearer {self.key}"}
        try:
            async with asyncio.timeout(_IDLE_SECONDS), httpx2.AsyncClient(headers=headers) as client:
                while (await client.get(f"{url}/slots")).json()[0]["is_processing"]:  # noqa: ASYNC110  # another process
                    await asyncio.sleep(0.02)
        except (TimeoutError, httpx2.HTTPError):
            return False
        return True

    async def has_caused(self, failed: ModelFailed) -> bool:
        """Whether the process has exited, which explains this failure."""
        if self._capture is None:
            return False
        if isinstance(failed, ModelUnreachable | AnswerCutOff):
            await asyncio.wait((self._capture.ended,), timeout=_EXIT_SECONDS)
        return self._capture.ended.done()

    def failure(self, reason: str) -> ModelFailed:
        """The error with the exit status and the last output of the process."""
        self._tail.finish()
        ended = exit_status(self._capture.ended.result()) if self._capture and self._capture.ended.done() else None
        status = f" ({ended.signal or f'exit code {ended.code}'})" if ended else ""
        output = self._tail.text.strip()
        return ModelFailed(
            f"{reason}{status}" + (f": {output}" if output else ""),
            "The file may be damaged, too new for the installed xllamacpp, or too large for this machine's memory; "
            "a smaller value in context_sizes in the settings needs less.",
        )

    async def end(self) -> None:
        if self._capture is not None:
            await self._capture.end()

    def _read(self, piece: bytes) -> None:
        if self._ready.done():
            self._tail.add(piece)
            return
        *lines, self._line = (self._line[-_MAX_TAIL:] + piece).split(b"\n")
        for line in lines:
            if line.startswith(READY_PREFIX):
                self._ready.set_result(json.loads(line[len(READY_PREFIX) :]))
            else:
                self._tail.add(line + b"\n")
