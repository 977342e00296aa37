"""Prompts, which every version spells alike; their answers differ."""

from __future__ import annotations

from typing import Any

from accord.dialects.absent import known, told
from accord.dialects.content import ContentMapping
from accord.dialects.dialect import Dialect
from accord.errors import InvalidParams
from accord.session.requests import Prompt
from accord.session.word import Unknown

__all__ = ["PromptMapping"]


class PromptMapping:
    """Bound to the request and the content blocks of one version."""

    def __init__(self, params: type[Any], content: ContentMapping) -> None:
        self._params = params
        self._content = content

    def to_wire(self, dialect: Dialect, asked: Prompt) -> Any:
        """The user's message."""
        content = self._content.all_to_wire(asked.content)
        return self._params(session_id=asked.session_id, prompt=content, meta=told(asked.meta))

    def from_wire(self, dialect: Dialect, params: Any) -> Prompt:
        """The user's message; InvalidParams for content that no agent can have said it takes."""
        content = self._content.all_from_wire(params.prompt)
        for index, block in enumerate(content):
            if isinstance(block, Unknown):
                raise InvalidParams("this agent takes no content of this type", field=f"prompt[{index}].type")
        return Prompt(session_id=params.session_id, content=content, meta=known(params.meta))
