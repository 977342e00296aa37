"""Messages that are written anew under their id, for listeners of v1, who can only be told more.

Law: what a listener has been told of a message is told once. While a message is written anew nothing is told of it. As soon
as it says all that was told, it goes on from there. If it says something else, the new text is told whole when something else
happens in the session, as a message of its own; what was told before stays where it is.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from accord.dialects.display_fallback import DisplayDialect
from accord.session.content import Content, text_of
from accord.session.message import Message
from accord.session.patch_rules import appended_content
from accord.session.updates import MessageChanged, MessageChunk, StateChanged, Update

__all__ = ["FinishedRewrite", "MessageRewrites", "RewriteDialect"]

_Key: TypeAlias = tuple[str, str]


class FinishedRewrite(NamedTuple):
    """A message, and what of it is still to be told: the rest, or, if `is_new`, all of it, since it says something else."""

    message: Message
    content: list[Content]
    is_new: bool = False


class _Rewrite:
    """One of them: what was told, and what the message says now, as far as the changes have come.

    The message itself may be ahead of them: pieces that wait to be told are in it already.
    """

    __slots__ = ("_compared", "_told", "_told_size", "content", "differs", "message", "size")

    def __init__(self, told: list[Content], message: Message) -> None:
        self._told = told
        self._told_size = len(text_of(told))
        self.restart(message)

    def restart(self, message: Message) -> None:
        self.message = message
        self.content = message.content
        self.size = len(text_of(self.content))
        self.differs = False
        self._compared = -1

    def go_on(self, piece: Content) -> None:
        self.content.append(piece)
        self.size += len(text_of([piece]))

    def added(self) -> list[Content] | None:
        """What has to be told to who was told before; None when it says something else, or not yet enough."""
        return appended_content(self._told, self.content) if self.is_long_enough else None

    @property
    def is_long_enough(self) -> bool:
        """Whether it may say all that was told."""
        return self.size >= self._told_size

    def compare(self) -> None:
        """Find out whether what it says so far was told in the same words, so that the rest may follow."""
        if not self.differs and self._compared != self.size:
            self._compared = self.size
            self.differs = appended_content(self.content, self._told) is None


class MessageRewrites:
    """Those of one session."""

    def __init__(self) -> None:
        self._open: dict[_Key, _Rewrite] = {}
        self._ids: dict[_Key, str] = {}
        self._renamed = 0

    def can_send_chunk(self, message: Message) -> bool:
        """Whether a piece of the message can be told as it is."""
        return not self._open and (message.role, message.id) not in self._ids

    def id_of(self, message: Message) -> str:
        """What the listener knows the message by."""
        return self._ids.get((message.role, message.id), message.id)

    def rename(self, message: Message) -> str:
        """A new id for a message that is told once more."""
        key = (message.role, message.id)
        self._renamed += 1
        self._ids[key] = f"{message.id}-rewritten-{self._renamed}"
        return self._ids[key]

    def holds(self, change: MessageChunk | MessageChanged) -> bool:
        """Whether nothing is told of a change because its message is being written anew, perhaps from now on."""
        message = change.message
        key = (message.role, message.id)
        rewrite = self._open.get(key)
        if rewrite is None:
            if isinstance(change, MessageChunk) or change.added is not None or change.created:
                return False
            self._open[key] = _Rewrite(change.before, message)
            return True
        if isinstance(change, MessageChunk):
            rewrite.go_on(change.content)
        else:
            rewrite.restart(message)
        return True

    def caught_up(self, change: MessageChunk | MessageChanged) -> FinishedRewrite | None:
        """A message that now says all that was told, and perhaps more: it is no longer held."""
        key = (change.message.role, change.message.id)
        rewrite = self._open.get(key)
        if rewrite is None or rewrite.differs:
            return None
        added = rewrite.added()
        if added is None:
            if rewrite.is_long_enough:
                rewrite.compare()
            return None
        del self._open[key]
        return FinishedRewrite(rewrite.message, added)

    def settled(self, change: Update) -> list[FinishedRewrite]:
        """The messages of which more is told now, because something else happens: before that."""
        if not self._open:
            return []
        is_over = isinstance(change, StateChanged) and change.state.state == "idle"
        key = (change.message.role, change.message.id) if isinstance(change, MessageChunk | MessageChanged) else None
        found: list[FinishedRewrite] = []
        for each, rewrite in list(self._open.items()):
            if each == key:
                continue
            rewrite.compare()
            if rewrite.differs or is_over:
                del self._open[each]
                found.append(FinishedRewrite(rewrite.message, appended_content([], rewrite.content) or [], is_new=True))
        return found


class RewriteDialect(DisplayDialect):
    """A dialect that remembers what is written anew."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._rewrites: dict[str, MessageRewrites] = {}

    def rewrites(self, session_id: str) -> MessageRewrites:
        """The messages of a session that are written anew."""
        rewrites = self._rewrites.get(session_id)
        if rewrites is None:
            rewrites = self._rewrites[session_id] = MessageRewrites()
        return rewrites

    def can_send_chunk(self, session_id: str, message: Message) -> bool:
        return self.rewrites(session_id).can_send_chunk(message)

    def forget_session(self, session_id: str) -> None:
        super().forget_session(session_id)
        self._rewrites.pop(session_id, None)
