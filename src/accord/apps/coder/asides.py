"""What the user should know beside the conversation, told in whatever way the client can show."""

from __future__ import annotations

from accord.agent.turn import Turn

__all__ = ["aside", "warning"]


async def aside(turn: Turn, title: str, description: str) -> None:
    """Worth a look, and no more: a notice, or else a thought."""
    if turn.client.capabilities.notices:
        await turn.notice(title, description)
    else:
        await turn.think(f"{title}: {description}\n")


async def warning(turn: Turn, title: str, description: str) -> None:
    """To be seen in any case: a notice, or else a part of the answer."""
    if turn.client.capabilities.notices:
        await turn.notice(title, description, "warning")
    else:
        await turn.say(f"> **{title}:** {description}\n\n")
