"""The echo of a prompt: the prompt is shown when it is sent, and recognised when the agent sends it back.

Law: a prompt stands in the transcript once. Its echo is recognised and not shown; a message that begins like the prompt and
then differs is shown after all.

In v1 and the v2 draft an echo is recognised by its content, and gives the prompt at most an id. In v2 the response gives
the prompt its id, and the echo gives it its place. An echo that arrives before the response is recognised by its content
there, too, until the response says otherwise: another client may have sent the same text.
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

_UserPatch: TypeAlias = MessagePatch | MessageAppend
_Patches: TypeAlias = list[MessagePatch | MessageAppend | PromptPatch]

_PENDING_PATCHES = 100_000
_PENDING_BYTES = 4 * 1024 * 1024


class PromptMessage:
    """A prompt as a message of the transcript. With `has_id` the response gives its id and the echo its place, as in v2."""

    def __init__(self, content: list[Content], transcript: Transcript, *, has_id: bool) -> None:
        self.id = ""
        """Its id in the transcript, once it is shown."""
        self.agent_id: str | None = None
        """The agent's id for it, once that is known."""
        self.awaits_echo = False
        """Whether patches of the user's messages have to pass `filter_echo`."""
        self.is_echoed = False
        """Whether its echo has arrived."""
        self._content = content
        self._transcript = transcript
        self._has_id = has_id
        self._is_placed = not has_id
        self._others: LimitedDict[bool] = LimitedDict()
        self._echo = _EchoMatcher(content)
        self._pending: list[_UserPatch] = []
        self._pending_bytes = 0  # without what repeats the prompt
        self._echoed: list[Content] = []

    def show(self) -> MessagePatch:
        """The patch that shows it; whoever applies that sets `id`."""
        self.awaits_echo = True
        return MessagePatch(role=USER, id=None, content=self._content)

    def filter_echo(self, patch: _UserPatch) -> _Patches:
        """The patches to apply in place of one for a message of the user's."""
        if self.agent_id is None:
            return self._filter_by_content(patch)
        return self._filter_by_id(patch) if patch.id == self.agent_id else [patch]

    def accept(self, agent_id: str | None) -> _Patches:
        """The agent has accepted it, and perhaps given it an id."""
        if agent_id is None or agent_id == self.agent_id or (self.agent_id is not None and not self._has_id):
            return []
        is_shown = self._is_known(agent_id)
        if self.agent_id is not None:  # that echo was of another client's prompt with the same text
            self.id = self.agent_id = agent_id
            self.awaits_echo, self._is_placed = not is_shown, False
            self._echo.restart()
            return [] if is_shown else [MessagePatch(role=USER, id=agent_id, content=self._content)]
        if self._pending and self._pending[0].id == agent_id:  # its echo has begun
            self._echoed = [block for patch in self._pending for block in _blocks(patch)]
            self._pending = []
            return self._take_id(agent_id, goes_last=True)
        self.awaits_echo = self.awaits_echo and not is_shown
        return [*self._release(), *self._take_id(agent_id, goes_last=False)]

    def reject(self) -> _Patches:
        """The agent has responded with an error: the prompt has no place in the history, unless it was echoed before."""
        if self.agent_id is not None:
            return []
        return [*self._release(), PromptPatch(id=self.id, not_accepted=True)]

    def _filter_by_content(self, patch: _UserPatch) -> _Patches:
        patches = self._release() if self._pending and patch.id != self._pending[0].id else []
        if not self._may_be_echo(patch):
            self.awaits_echo = not self.is_echoed
            if patch.id is not None:
                self._others.put(patch.id, True)
            return [*patches, *self._release(), patch]
        if self.is_echoed:
            return patches
        self._pending.append(patch)
        self._pending_bytes += weigh(patch) - weigh(_blocks(patch))
        if self._echo.is_whole:
            self.is_echoed = True
            if patch.id is not None and not self._is_known(patch.id):
                patches += self._take_id(patch.id, goes_last=self._has_id)
            patches += [each for pending in self._pending for each in self._meta_only(pending)]
            self._pending = []
        return patches

    def _may_be_echo(self, patch: _UserPatch) -> bool:
        """Whether it may be an echo, or continue one."""
        current = self._transcript.telling
        if patch.id is None and current is not None and current.role == USER and current.id != self.id:
            return False  # it continues another message
        if patch.id in self._others or len(self._pending) > _PENDING_PATCHES or self._pending_bytes > _PENDING_BYTES:
            return False
        blocks = _blocks(patch)
        if isinstance(patch, MessageAppend) or not blocks or self.is_echoed:
            return self._echo.consume(blocks)
        self._echo.restart()
        return self._echo.consume(blocks) and self._echo.is_whole  # all of it, or nothing

    def _filter_by_id(self, patch: _UserPatch) -> _Patches:
        patches: _Patches = []
        if not self._is_placed:
            self._is_placed = True
            if not self.is_last:
                patches.append(PromptPatch(id=self.id, goes_last=True))
        if isinstance(patch, MessagePatch):
            return patches + self._filter_whole(patch)
        if self._echo.consume([patch.content]):
            self._echoed.append(patch.content)
            return patches
        self.awaits_echo = False
        if self._echo.is_whole:
            return [*patches, patch]
        return [*patches, MessagePatch(role=USER, id=patch.id, content=[*self._echoed, patch.content])]

    def _filter_whole(self, patch: MessagePatch) -> _Patches:
        if patch.content is UNSET or not patch.content:  # chunks will follow
            return self._meta_only(patch)
        self.awaits_echo = False
        echo = _EchoMatcher(self._content)
        return self._meta_only(patch) if echo.consume(patch.content) and echo.is_whole else [patch]

    def _meta_only(self, patch: _UserPatch) -> _Patches:
        if isinstance(patch, MessageAppend) or patch.meta is UNSET:
            return []
        return [replace(patch, id=self.id, content=UNSET)]

    def _take_id(self, agent_id: str, *, goes_last: bool) -> _Patches:
        patch = PromptPatch(id=self.id, new_id=agent_id, goes_last=goes_last)
        self.id = self.agent_id = agent_id
        self._is_placed = self._is_placed or goes_last
        return [patch]

    def _release(self) -> _Patches:
        """The pending patches, which turned out not to be an echo."""
        pending: _Patches = [*self._pending]
        self._pending, self._pending_bytes = [], 0
        if not self.is_echoed:
            self._echo.restart()
        return pending

    @property
    def echo_id(self) -> str | None:
        """The id of its echo, or of what seems to become one."""
        return self.agent_id or (self._pending[0].id if self._pending else None)

    @property
    def is_last(self) -> bool:
        """Whether nothing follows it in the transcript."""
        last = self._transcript.last
        return isinstance(last, Message) and (last.role, last.id) == (USER, self.id)

    def _is_known(self, agent_id: str) -> bool:
        return (USER, agent_id) in self._transcript.messages


class _EchoMatcher:
    """How much of a prompt was echoed. White space does not count: agents join, split and strip blocks.

    Blocks other than text may be missing.
    """

    def __init__(self, content: Iterable[Content]) -> None:
        content = list(content)
        self._text = _without_spaces([block.text for block in content if type(block) is Text])
        self._others = [_key(block) for block in content if type(block) is not Text]
        self.restart()

    def restart(self) -> None:
        """Start again at the beginning of the prompt."""
        self._length = 0
        self._left = [*self._others]

    @property
    def is_whole(self) -> bool:
        """Whether all text was echoed; for a prompt without text, one of its other blocks."""
        return self._length == len(self._text) and bool(self._text or len(self._left) < len(self._others))

    def consume(self, blocks: Sequence[Content]) -> bool:
        """Whether these blocks continue the echo. If so, they are consumed."""
        text = _without_spaces([block.text for block in blocks if type(block) is Text])
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


def _without_spaces(texts: Iterable[str]) -> str:
    return "".join([word for text in texts for word in text.split()])


def _key(block: Content) -> object:
    """Equal for two blocks that mean the same."""
    match block:
        case Image() | Audio():
            return block.data
        case Resource() | ResourceLink():
            return block.uri
        case _:
            return block


def _blocks(patch: _UserPatch) -> list[Content]:
    if isinstance(patch, MessageAppend):
        return [patch.content]
    return [] if patch.content is UNSET else patch.content or []
