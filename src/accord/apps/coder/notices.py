"""Notices to the user beside the answer, for clients with and without notices."""

from __future__ import annotations

from accord.agent.turn import Turn

__all__ = ["show_note", "show_warning"]


async def show_note(turn: Turn, title: str, description: str) -> None:
    """Show something minor: as a notice, or as a thought if the client has no notices."""
    if turn.client.capabilities.notices:
        await turn.notice(title, description)
    else:
        await turn.think(f"{title}: {description}\n")


async def show_warning(turn: Turn, title: str, description: str) -> None:
    """Show something that the user must see: as a notice, or as a part of the answer."""
    if turn.client.capabilities.notices:
        await turn.notice(title, description, "warning")
    else:
        await turn.say(f"> **{title}:** {description}\n\n")
