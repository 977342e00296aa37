"""A prompt that was sent: shown at once, recognised when the agent tells it back, and named by the agent.

Law: what the user said stands in the transcript once. An echo is taken in and not shown; what begins like one and goes
on otherwise is shown after all.

Up to the v2 draft an echo is recognised by its content, and gives the prompt at most an id. In v2 the answer names the
prompt, and the echo gives it its place. An echo that comes before the answer is recognised by its content there, too,
until the answer says otherwise: somebody else may have said the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from accord.session import Transcript
from accord.session.content import Audio, Content, Image, Resource, ResourceLink, Text
from accord.session.entities import USER, Message
from accord.session.limits import LimitedDict
from accord.session.memory_estimate import weigh
from accord.session.updates import MessageAppend, MessagePatch, PromptPatch
from accord.session.value import UNSET

__all__ = ["SentPrompt"]

_Told: TypeAlias = MessagePatch | MessageAppend
_Applied: TypeAlias = list[MessagePatch | MessageAppend | PromptPatch]

_MOST_HELD = 100_000
_HELD_BYTES = 4 * 1024 * 1024


class SentPrompt:
    """With `is_named` the agent names it in its answer, and gives it its place with the echo, as in v2."""

    def __init__(self, content: list[Content], transcript: Transcript, *, is_named: bool) -> None:
        self.id = ""
        """Its id in the transcript, once it is shown."""
        self.name: str | None = None
        """The agent's id for it, as far as it is known."""
        self.awaits_echo = False
        """Whether what is reported of the user's messages has to be sifted."""
        self.is_recognised = False
        """Whether it was told back."""
        self._content = content
        self._transcript = transcript
        self._is_named = is_named
        self._is_placed = not is_named
        self._others: LimitedDict[bool] = LimitedDict()
        self._echo = _Echo(content)
        self._held: list[_Told] = []
        self._held_bytes = 0  # but for what it repeats of the prompt
        self._told: list[Content] = []

    def show(self) -> MessagePatch:
        """What shows it; `id` is set by whoever applies that."""
        self.awaits_echo = True
        return MessagePatch(role=USER, id=None, content=self._content)

    def sift(self, report: _Told) -> _Applied:
        """What to apply in place of something that was reported of a message of the user's."""
        if self.name is None:
            return self._sift_by_content(report)
        return self._sift_named(report) if report.id == self.name else [report]

    def answered(self, name: str | None) -> _Applied:
        """The agent has accepted it, and perhaps named it."""
        if name is None or name == self.name or (self.name is not None and not self._is_named):
            return []
        is_told = self._is_known(name)
        if self.name is not None:  # that echo was of somebody else who said the same
            self.id = self.name = name
            self.awaits_echo, self._is_placed = not is_told, False
            self._echo.begin()
            return [] if is_told else [MessagePatch(role=USER, id=name, content=self._content)]
        if self._held and self._held[0].id == name:  # its echo has begun
            self._told = [block for report in self._held for block in _blocks(report)]
            self._held = []
            return self._take_name(name, goes_last=True)
        self.awaits_echo = self.awaits_echo and not is_told
        return [*self._release(), *self._take_name(name, goes_last=False)]

    def refused(self) -> _Applied:
        """The agent has answered with an error: it has no place in the conversation, unless it was told back before."""
        if self.name is not None:
            return []
        return [*self._release(), PromptPatch(id=self.id, not_accepted=True)]

    def _sift_by_content(self, report: _Told) -> _Applied:
        released = self._release() if self._held and report.id != self._held[0].id else []
        if not self._goes_on(report):
            self.awaits_echo = not self.is_recognised
            if report.id is not None:
                self._others.put(report.id, True)
            return [*released, *self._release(), report]
        if self.is_recognised:
            return released
        self._held.append(report)
        self._held_bytes += weigh(report) - weigh(_blocks(report))
        if self._echo.is_whole:
            self.is_recognised = True
            if report.id is not None and not self._is_known(report.id):
                released += self._take_name(report.id, goes_last=self._is_named)
            released += [each for held in self._held for each in self._only_meta(held)]
            self._held = []
        return released

    def _goes_on(self, report: _Told) -> bool:
        """Whether it may be an echo, or go on with one."""
        telling = self._transcript.telling
        if report.id is None and telling is not None and telling.role == USER and telling.id != self.id:
            return False  # it goes on with something else
        if report.id in self._others or len(self._held) > _MOST_HELD or self._held_bytes > _HELD_BYTES:
            return False
        blocks = _blocks(report)
        if isinstance(report, MessageAppend) or not blocks or self.is_recognised:
            return self._echo.takes(blocks)
        self._echo.begin()
        return self._echo.takes(blocks) and self._echo.is_whole  # all of it, or nothing

    def _sift_named(self, report: _Told) -> _Applied:
        placed: _Applied = []
        if not self._is_placed:
            self._is_placed = True
            if not self.is_last:
                placed.append(PromptPatch(id=self.id, goes_last=True))
        if isinstance(report, MessagePatch):
            return placed + self._sift_whole(report)
        if self._echo.takes([report.content]):
            self._told.append(report.content)
            return placed
        self.awaits_echo = False
        if self._echo.is_whole:
            return [*placed, report]
        return [*placed, MessagePatch(role=USER, id=report.id, content=[*self._told, report.content])]

    def _sift_whole(self, report: MessagePatch) -> _Applied:
        if report.content is UNSET or not report.content:  # pieces will follow
            return self._only_meta(report)
        self.awaits_echo = False
        echo = _Echo(self._content)
        return self._only_meta(report) if echo.takes(report.content) and echo.is_whole else [report]

    def _only_meta(self, report: _Told) -> _Applied:
        if isinstance(report, MessageAppend) or report.meta is UNSET:
            return []
        return [replace(report, id=self.id, content=UNSET)]

    def _take_name(self, name: str, *, goes_last: bool) -> _Applied:
        patch = PromptPatch(id=self.id, new_id=name, goes_last=goes_last)
        self.id = self.name = name
        self._is_placed = self._is_placed or goes_last
        return [patch]

    def _release(self) -> _Applied:
        """What was held and is no echo."""
        held: _Applied = [*self._held]
        self._held, self._held_bytes = [], 0
        if not self.is_recognised:
            self._echo.begin()
        return held

    @property
    def seen(self) -> str | None:
        """The id under which it seems to have been told back, or begun to be."""
        return self.name or (self._held[0].id if self._held else None)

    @property
    def is_last(self) -> bool:
        """Whether nothing stands behind it."""
        timeline = self._transcript.timeline
        return bool(timeline) and isinstance(last := timeline[-1], Message) and (last.role, last.id) == (USER, self.id)

    def _is_known(self, name: str) -> bool:
        return (USER, name) in self._transcript.messages


class _Echo:
    """How much of a prompt was told back. Blank space does not count: agents join, split and strip blocks.

    What is no text may be left out.
    """

    def __init__(self, content: Iterable[Content]) -> None:
        content = list(content)
        self._text = _squeezed([block.text for block in content if type(block) is Text])
        self._others = [_key(block) for block in content if type(block) is not Text]
        self.begin()

    def begin(self) -> None:
        """From the beginning."""
        self._length = 0
        self._left = [*self._others]

    @property
    def is_whole(self) -> bool:
        """Whether all text was told; where there is none, something of the rest."""
        return self._length == len(self._text) and bool(self._text or len(self._left) < len(self._others))

    def takes(self, blocks: Sequence[Content]) -> bool:
        """Whether these go on with the prompt. If they do, they are taken off it."""
        text = _squeezed([block.text for block in blocks if type(block) is Text])
        left = [*self._left]
        for key in [_key(block) for block in blocks if type(block) is not Text]:
            if key not in left:
                return False
            left.remove(key)
        if not self._text.startswith(text, self._length):
            return False
        self._length += len(text)
        self._left = left
        return True


def _squeezed(texts: Iterable[str]) -> str:
    return "".join([word for text in texts for word in text.split()])


def _key(block: Content) -> object:
    """What two blocks have in common that mean the same."""
    match block:
        case Image() | Audio():
            return block.data
        case Resource() | ResourceLink():
            return block.uri
        case _:
            return block


def _blocks(report: _Told) -> list[Content]:
    if isinstance(report, MessageAppend):
        return [report.content]
    return [] if report.content is UNSET else report.content or []
