"""Always-choices: what one covers, who keeps it, and how it is taken back.

Law: what is said of a choice is true of all who keep it: accord knows what it keeps itself and what its own agent
keeps, and says of any other agent that it can't undo what that one makes of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from accord.client.client import Client
from accord.client.permissions.saved_answers import same_action
from accord.client.permissions.writes_and_commands import allows_all_writes
from accord.errors import AccordError
from accord.session.requests import CommandSubject, PermissionRequest

__all__ = ["ChoiceOwner", "always_scope", "forget_choices", "offers_always"]

ChoiceOwner: TypeAlias = Literal["built-in agent", "screen", "other agent"]
"""Who keeps a choice as far as we know: the built-in agent, in a file, or the screen, beside whatever the agent does."""

_METHOD = "_accord/forget_choices"
_NOT_OURS = "what the agent keeps, accord can't undo"


def offers_always(request: PermissionRequest) -> bool:
    """Whether it can be decided for good."""
    return any(option.kind.endswith("_always") for option in request.options)


def always_scope(request: PermissionRequest, keeper: ChoiceOwner, *, forgets: bool) -> str:
    """What choosing it for good covers, and until when; where the user can choose Forget, that too."""
    if allows_all_writes(request):
        return f"always: as its line says, until the agent ends{' or Forget takes it back' if forgets else ''}"
    if keeper == "built-in agent":
        ways = "Forget or `accord permissions`" if forgets else "`accord permissions`"
        return f"always: as its line says, kept for this project until {ways} takes it back"
    if keeper == "other agent" or same_action(request) is None:
        return "always: as far and as long as the agent makes it reach, which accord can't undo"
    is_command = isinstance(request.subject, CommandSubject)
    what = "exactly this command here" if is_command else "the same title, input and files"
    return f"always: {what}, in this session, until Forget; {_NOT_OURS}"


async def forget_choices(client: Client, session_ids: Iterable[str]) -> int:
    """Have the built-in agent forget what was decided for good in the projects of these sessions; how many choices."""
    forgotten = 0
    for session_id in session_ids:
        answer = await client.request(_METHOD, {"sessionId": session_id})
        count = answer.get("forgotten") if isinstance(answer, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if not isinstance(count, int):
            raise AccordError("the agent did not say what it has forgotten")
        forgotten += count
    return forgotten
