"""Messages that are rewritten under their id, for clients of v1, to which text can only be appended.

Law: the client gets no part of a message twice. While a message is rewritten, nothing of it is sent. As soon as it
contains all that was sent, it goes on from there. If it differs from what was sent, the new text is sent whole as a
message of its own when something else happens in the session; what was sent before stays.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, TypeAlias

import msgspec

from accord.dialects.display_state import DisplayDialect
from accord.session.content import Content, text_of
from accord.session.message import Message
from accord.session.patch_rules import appended_content
from accord.session.updates import MessageChanged, MessageChunk, StateChanged, Update

_Key: TypeAlias = tuple[str, str]


class FinishedRewrite(msgspec.Struct, frozen=True):
    """A message, and the content still to send: the rest, or all of it if `is_new`, because it differs."""

    message: Message
    content: list[Content]
    is_new: bool = False


class _Rewrite:
    """One message: what was sent of it, and its content as far as the updates have come.

    The message itself may be ahead of the updates: it already has chunks that wait to be sent.
    """

    __slots__ = ("_compared_size", "_sent", "_sent_size", "content", "differs", "message", "size")

    def __init__(self, sent: list[Content], message: Message) -> None:
        self._sent = sent
        self._sent_size = len(text_of(sent))
        self.restart(message)

    def restart(self, message: Message) -> None:
        self.message = message
        self.content = message.content
        self.size = len(text_of(self.content))
        self.differs = False
        self._compared_size = -1

    def append(self, block: Content) -> None:
        self.content.append(block)
        self.size += len(text_of([block]))

    def unsent(self) -> list[Content] | None:
        """The content to append to what was sent; None when it differs, or is not yet long enough."""
        return appended_content(self._sent, self.content) if self.is_long_enough else None

    @property
    def is_long_enough(self) -> bool:
        """Whether it may contain all that was sent."""
        return self.size >= self._sent_size

    def compare(self) -> None:
        """Set `differs` if the content so far is not a beginning of what was sent."""
        if not self.differs and self._compared_size != self.size:
            self._compared_size = self.size
            self.differs = appended_content(self.content, self._sent) is None


class MessageRewrites:
    """The rewritten messages of one session."""

    def __init__(self) -> None:
        self._open: dict[_Key, _Rewrite] = {}
        self._ids: dict[_Key, str] = {}
        self._renamed = 0

    def can_send_chunk(self, message: Message) -> bool:
        """Whether a chunk of the message can be sent as it is."""
        return not self._open and (message.role, message.id) not in self._ids

    def id_of(self, message: Message) -> str:
        """The id of the message at the client."""
        return self._ids.get((message.role, message.id), message.id)

    def rename(self, message: Message) -> str:
        """A new id for a message that is sent once more."""
        key = (message.role, message.id)
        self._renamed += 1
        self._ids[key] = f"{message.id}-rewritten-{self._renamed}"
        return self._ids[key]

    def holds_back(self, update: MessageChunk | MessageChanged) -> bool:
        """Whether nothing is sent for an update because its message is being rewritten, perhaps from now on."""
        message = update.message
        key = (message.role, message.id)
        rewrite = self._open.get(key)
        if rewrite is None:
            if isinstance(update, MessageChunk) or update.added is not None or update.created:
                return False
            self._open[key] = _Rewrite(update.before, message)
            return True
        if isinstance(update, MessageChunk):
            rewrite.append(update.content)
        else:
            rewrite.restart(message)
        return True

    def caught_up(self, update: MessageChunk | MessageChanged) -> FinishedRewrite | None:
        """The message of the update, if it now contains all that was sent: it is no longer held back."""
        key = (update.message.role, update.message.id)
        rewrite = self._open.get(key)
        if rewrite is None or rewrite.differs:
            return None
        unsent = rewrite.unsent()
        if unsent is None:
            if rewrite.is_long_enough:
                rewrite.compare()
            return None
        del self._open[key]
        return FinishedRewrite(rewrite.message, unsent)

    def finished_before(self, update: Update) -> list[FinishedRewrite]:
        """The messages that are sent before an update, because it is about something else."""
        if not self._open:
            return []
        is_idle = isinstance(update, StateChanged) and update.state.state == "idle"
        own_key = (
            (update.message.role, update.message.id) if isinstance(update, MessageChunk | MessageChanged) else None
        )
        finished: list[FinishedRewrite] = []
        for key, rewrite in list(self._open.items()):
            if key == own_key:
                continue
            rewrite.compare()
            if rewrite.differs or is_idle:
                del self._open[key]
                content = appended_content([], rewrite.content) or []
                finished.append(FinishedRewrite(rewrite.message, content, is_new=True))
        return finished


class RewriteDialect(DisplayDialect):
    """A dialect that tracks rewritten messages."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.rewrites: defaultdict[str, MessageRewrites] = defaultdict(MessageRewrites)

    def can_send_chunk(self, session_id: str, message: Message) -> bool:
        return self.rewrites[session_id].can_send_chunk(message)

    def forget_session(self, session_id: str) -> None:
        super().forget_session(session_id)
        self.rewrites.pop(session_id, None)
