"""The list of models that v1 once gave with a session, in place of an option of category `model`: unstable, later removed.

Law: its shape was never specified, only its names. What does not look like one is left alone (AMB-06).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from accord.session.entities import Choice, Option
from accord.session.word import UNSET

__all__ = ["MODEL", "model_option", "models_of", "option_of_models"]

MODEL = "model"
"""The category of options that choose a model."""


class _Model(msgspec.Struct, rename="camel", omit_defaults=True):
    model_id: str
    name: str
    description: str | None = None


class _Models(msgspec.Struct, rename="camel"):
    current_model_id: str
    available_models: list[_Model]


def model_option(options: Iterable[Option]) -> Option | None:
    """The first option that chooses a model."""
    return next((option for option in options if option.category == MODEL and isinstance(option.value, str)), None)


def models_of(options: Iterable[Option]) -> Any:
    """The list that says the same as the option for the models; UNSET where there is none. SESS-07"""
    option = model_option(options)
    if option is None:
        return UNSET
    models = [
        _Model(model_id=choice.value, name=choice.name, description=choice.description) for choice in option.choices
    ]
    return msgspec.to_builtins(_Models(current_model_id=str(option.value), available_models=models))


def option_of_models(told: Any) -> Option | None:
    """The option of category `model` that says the same; None when this is no list of models. SESS-40, AMB-06"""
    try:
        models = msgspec.convert(told, _Models)
    except msgspec.ValidationError:
        return None
    choices = [
        Choice(value=model.model_id, name=model.name, description=model.description)
        for model in models.available_models
    ]
    return Option(id=MODEL, name="Model", category=MODEL, value=models.current_model_id, choices=choices)
