"""A scripted end of a connection: it sends what a test says and keeps what it receives.

Law: every wait ends: with what was waited for, with the end of the connection, or when patience is over. A wait that failed
shows the conversation so far.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import suppress
from typing import Any, TypeVar, overload

from msgspec import UNSET

from accord.agent.agent import InProcessTransport
from accord.errors import ConnectionClosed, FrameRejected, RequestFailed
from accord.peer.event_loop import run
from accord.testing.frame_taps import Peek, Side, Tap, TappedTransport, frame_of, other
from accord.testing.recording import Recording
from accord.transports.transport import Transport

PATIENCE = 10.0

Handler = Callable[["ReceivedFrame"], Any]
F = TypeVar("F", bound=Handler)
T = TypeVar("T")


class ReceivedFrame(Peek):
    """A frame that a scripted end has received. A request can be answered with anything."""

    __slots__ = ("_end", "is_answered", "is_taken")

    def __init__(self, raw: bytes, end: ScriptedEnd) -> None:
        super().__init__(raw)
        self._end = end
        self.is_answered = False
        """Whether `answer` or `fail` was called."""
        self.is_taken = False
        """Whether `next` has returned it."""

    def answer(self, result: Any) -> None:
        """The result is a dict, or a type of `accord.schema`."""
        self.is_answered = True
        self._end.answering(result)
        self._end.send({"jsonrpc": "2.0", "id": self.id, "result": result})

    def fail(self, error: RequestFailed | int, message: str = "No", data: Any = None) -> None:
        """Answer with an error: one of `accord.errors`, or any code."""
        self.is_answered = True
        if isinstance(error, RequestFailed):
            code, message, data = error.to_error()
        else:
            code = error
        details = {} if data is None or data is UNSET else {"data": data}
        self._end.send({"jsonrpc": "2.0", "id": self.id, "error": {"code": code, "message": message, **details}})


class SentRequest:
    """A request that a scripted end has sent. Await it for the answer, whether that is a result or an error."""

    def __init__(self, end: ScriptedEnd, id: Any, method: str) -> None:
        self.id: Any = id
        """Of the request, for `answer_to`."""
        self.method = method
        """Of the request."""
        self._end = end

    def __await__(self) -> Generator[Any, None, ReceivedFrame]:
        return self._end.answer_to(self.id).__await__()


class ScriptedEnd:
    """What a scripted agent and a scripted client have in common."""

    side: Side
    """Which end it is."""

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self.received: list[ReceivedFrame] = []
        """All frames so far."""
        self.recording = Recording()
        """The conversation so far, of both sides."""
        self.failures: list[BaseException] = []
        """What handlers raised that was no answer."""
        self.closed: ConnectionClosed | None = None
        """Why the connection is closed; None while it is open."""
        self._answers: dict[str, list[Any]] = {}
        self._transport: Transport | None = None
        self._news: list[asyncio.Future[None]] = []
        self._handling: set[asyncio.Task[None]] = set()
        self._asked = 0

    @overload
    def on(self, method: str) -> Callable[[F], F]: ...
    @overload
    def on(self, method: str, answer: Any, /, *answers: Any) -> None: ...
    def on(self, method: str, *answers: Any) -> Callable[[F], F] | None:
        """Answer a method from now on, or decorate the function that does.

        An answer is a result, a `RequestFailed`, None to say nothing, or a function (also `async`) that gets what was
        heard and returns one of these. Of several answers each is given once, and the last from then on.
        """
        if answers:
            self._answers[method] = list(answers)
            return None

        def register(handler: F) -> F:
            self._answers[method] = [handler]
            return handler

        return register

    def send(self, message: Any) -> None:
        """Send a message, a batch or nonsense: what is not bytes becomes JSON, bytes go as they are."""
        frame = frame_of(message)
        if self._transport is None:
            raise RuntimeError("nobody is connected: use it inside of the client's `async with`")
        self.recording.add(self.side, frame)
        self._transport.send(frame)

    def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, params: Any, *, id: Any = None) -> SentRequest:
        """Send a request now; await what this returns for the answer."""
        self._asked += 1
        number = f"{self.side}-{self._asked}" if id is None else id
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return SentRequest(self, number, method)

    async def next(
        self, method: str | None = None, *, where: Callable[[ReceivedFrame], bool] | None = None
    ) -> ReceivedFrame:
        """The first frame of this method, or of any, that nobody has had: no `next` before, and nothing set with `on`."""

        def found() -> ReceivedFrame | None:
            for heard in self.received:
                fits = (method is None or heard.method == method) and (where is None or where(heard))
                if fits and not heard.is_taken:
                    return heard
            return None

        heard = await self.wait_until(found, method or "a frame")
        heard.is_taken = True
        return heard

    async def seen(self, method: str, count: int = 1) -> ReceivedFrame:
        """The so-manieth call of a method, whoever has had it."""

        def found() -> ReceivedFrame | None:
            calls = self.calls(method)
            return calls[count - 1] if len(calls) >= count else None

        return await self.wait_until(found, method if count == 1 else f"{method}, number {count}")

    async def answer_to(self, id: Any) -> ReceivedFrame:
        """The answer to the request with this id."""

        def found() -> ReceivedFrame | None:
            return next((heard for heard in self.received if heard.is_answer and heard.id == id), None)

        heard = await self.wait_until(found, f"the answer to #{id}")
        heard.is_taken = True
        return heard

    async def wait_until(self, found: Callable[[], T | None], what: str) -> T:
        """Wait until this finds something, looking whenever a frame has come; `what` is for the failure's text."""
        deadline = asyncio.get_running_loop().time() + self.patience
        while (it := found()) is None:
            if self.closed is not None:
                raise AssertionError(f"waited for {what}, but {self.closed}\n{self._story()}")
            news: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._news.append(news)
            try:
                async with asyncio.timeout_at(deadline):
                    await news
            except TimeoutError:
                why = f"waited for {what} for {self.patience:g} s"
                raise AssertionError(f"{why}\n{self._story()}") from None
            finally:
                if news in self._news:
                    self._news.remove(news)
        return it

    def calls(self, method: str) -> list[ReceivedFrame]:
        """All requests and notifications of a method so far."""
        return [heard for heard in self.received if heard.method == method]

    async def until_closed(self) -> list[ReceivedFrame]:
        """Wait until the other side hangs up: the frames that came before and were not had."""
        await self.wait_until(lambda: self.closed, "the end of the connection")
        return [heard for heard in self.received if not heard.is_taken]

    def frames_received(self, frames: list[bytes]) -> None:
        """Called by the transport."""
        for frame in frames:
            heard = ReceivedFrame(frame, self)
            self.recording.add(other(self.side), frame)
            self.received.append(heard)
            self._heard(heard)
        self._wake()

    def frame_rejected(self, error: FrameRejected) -> None:
        """Called by the transport."""
        self.failures.append(error)

    def input_ended(self, reason: ConnectionClosed) -> None:
        """Called by the transport: what says no more is gone."""
        self.connection_lost(reason)

    def connection_lost(self, reason: ConnectionClosed) -> None:
        """Called by the transport."""
        if self.closed is None:
            self.closed = reason
            self.recording.end(other(self.side), reason)
        self._wake()

    def send_paused(self) -> None:
        """Called by the transport; a script says what it says."""

    def send_resumed(self) -> None:
        """Called by the transport."""

    def answering(self, result: Any) -> None:
        """Called with each result before it is sent."""

    def check(self) -> None:
        """Raises what a handler failed with, if one did."""
        if self.failures:
            raise AssertionError(f"the script failed.\n{self._story()}") from self.failures[0]

    def _heard(self, heard: ReceivedFrame) -> None:
        answers = None if heard.method is None else self._answers.get(heard.method)
        if answers is not None:
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
            heard.is_taken = answer is not None
            self._give(heard, answer)

    def _give(self, heard: ReceivedFrame, answer: Any) -> None:
        try:
            if callable(answer):
                answer = answer(heard)
            if inspect.isawaitable(answer):
                self._begin(self._give_later(heard, answer))
            elif isinstance(answer, RequestFailed):
                heard.fail(answer)
            elif answer is not None and heard.is_request and not heard.is_answered:
                heard.answer(answer)
        except RequestFailed as error:
            heard.fail(error)
        except Exception as error:  # noqa: BLE001  # a failed assertion, most of the time
            self._failed(heard, error)

    async def _give_later(self, heard: ReceivedFrame, answer: Awaitable[Any]) -> None:
        try:
            self._give(heard, await answer)
        except RequestFailed as error:
            heard.fail(error)
        except Exception as error:  # noqa: BLE001  # as above
            self._failed(heard, error)

    def _failed(self, heard: ReceivedFrame, error: Exception) -> None:
        self.failures.append(error)
        if heard.is_request and not heard.is_answered and self.closed is None:
            heard.fail(-32603, f"the script failed at {heard.method}: {type(error).__name__}: {error}")

    def _begin(self, work: Any) -> None:
        task = asyncio.create_task(work, name=f"accord scripted {self.side}")
        self._handling.add(task)
        task.add_done_callback(self._handling.discard)

    async def _end_handlers(self) -> None:
        handling = [task for task in self._handling if task is not asyncio.current_task()]
        for task in handling:
            task.cancel()
        if handling:
            await asyncio.wait(handling, timeout=self.patience)

    def _wake(self) -> None:
        news, self._news = self._news, []
        for future in news:
            if not future.done():
                future.set_result(None)

    def _story(self) -> str:
        return f"The conversation so far:\n{self.recording.shown()}"


class AgentEnd(ScriptedEnd):
    """A target for `Client`, or with `run()` a program. It may be connected with again when it was closed."""

    side = "agent"

    def __init__(self, patience: float) -> None:
        super().__init__(patience)
        self.connections = 0
        """How many clients have connected."""
        self.last_words: ConnectionClosed | None = None
        """What it died with, if it did."""
        self._gone: asyncio.Event | None = None

    def connect(self) -> Transport:
        """The client's end of a connection in memory."""
        return TappedTransport(InProcessTransport(self.serve), _LastWords(self))

    async def serve(self, transport: Transport) -> None:
        """Speak on this transport until either side hangs up."""
        self.connections += 1
        self.closed = self.last_words = None
        gone = self._gone = asyncio.Event()
        self._transport = transport
        await transport.open(self)
        self.begun()
        try:
            await gone.wait()
        finally:
            await self._end_handlers()
            await transport.aclose()

    def begun(self) -> None:
        """Called when a connection begins."""

    def run(self) -> None:
        """Be a program: speak on stdin and stdout until the client hangs up or the script dies."""
        from accord.transports.stdio import StdioTransport  # noqa: PLC0415  # needs a process of its own

        with suppress(KeyboardInterrupt):
            run(self.serve(StdioTransport()))
        if self.last_words is not None:
            sys.stderr.write(self.last_words.stderr_tail)
            sys.exit(self.last_words.exit_code)

    def die(self, exit_code: int | None = None, stderr: str = "", reason: str = "the scripted agent died") -> None:
        """Hang up. The client learns the exit code and the last words as from a program that ended."""
        self.closed = self.last_words = ConnectionClosed(reason, exit_code, stderr)
        self.recording.end("agent", self.closed)
        self._wake()
        if self._gone is not None:
            self._gone.set()

    def connection_lost(self, reason: ConnectionClosed) -> None:
        """Called by the transport."""
        super().connection_lost(reason)
        if self._gone is not None:
            self._gone.set()


class _LastWords(Tap):
    """The client hears what the agent died of, as it would of a program."""

    def __init__(self, agent: AgentEnd) -> None:
        self._agent = agent

    def ended(self, reason: ConnectionClosed) -> None:
        super().ended(self._agent.last_words or reason)
