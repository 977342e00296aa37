"""The session's options: the mode, and the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from accord.apps.coder.errors import ModelNeedsKey
from accord.apps.coder.models.catalog import missing_key
from accord.errors import InvalidParams
from accord.session.entities import Option, OptionChoice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.agent.session import AgentSession
    from accord.apps.coder.settings.settings import Settings

MODES: dict[str, tuple[str, str]] = {
    "ask": ("Ask", "Asks before each change and each command"),
    "architect": ("Architect", "Reads and plans; changes nothing"),
    "code": ("Code", "Edits files without asking; asks before commands"),
}
"""The name and the description of each mode."""


def mode_choices() -> list[OptionChoice]:
    return [OptionChoice(value=id, name=name, description=about) for id, (name, about) in MODES.items()]


def model_names(settings: Settings) -> list[str]:
    """The models to choose from: the default, the configured ones, and the one that always works."""
    return list(dict.fromkeys([settings.model, *settings.models, "offline"]))


def model_choices(settings: Settings) -> list[OptionChoice]:
    about = {"offline": "Not a language model: does exactly what you say, see /help"}
    return [OptionChoice(value=name, name=name, description=about.get(name)) for name in model_names(settings)]


def session_options(
    mode: Option, model: Option, settings: Settings, previous: Mapping[str, str | bool | None]
) -> list[Option]:
    """The options of a session with these settings; a previous choice stays if it still exists."""
    previous_mode, previous_model = previous.get("mode"), previous.get("model")
    return [
        replace(mode, value=previous_mode if previous_mode in MODES else settings.mode),
        replace(
            model,
            value=previous_model if previous_model in model_names(settings) else settings.model,
            choices=model_choices(settings),
        ),
    ]


async def check_model(session: AgentSession, name: str) -> None:
    """InvalidParams if the API key of the model is missing."""
    settings: Settings = session.state["settings"]
    variable = missing_key(name, settings.model_settings)
    if variable is not None:
        raise InvalidParams(str(ModelNeedsKey(variable, name)).rstrip("."), field="value")


async def choose_model(session: AgentSession, name: str) -> None:
    """Switch the session to a model, and tell the client; InvalidParams if its API key is missing."""
    await check_model(session, name)
    options = session.transcript.options
    await session.set_options([replace(each, value=name) if each.id == "model" else each for each in options])
