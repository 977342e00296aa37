"""The list of models that some agents of v1 give with a session, in place of an option: shown as one, all the same.

Law: that list was never specified. What does not look like one is left alone.
"""

from __future__ import annotations

from typing import Any

import msgspec

from accord.session.entities import Choice, Option

__all__ = ["MODEL", "option_of_models"]

MODEL = "model"


class _Model(msgspec.Struct, rename="camel"):
    model_id: str
    name: str
    description: str | None = None


class _Models(msgspec.Struct, rename="camel"):
    current_model_id: str
    available_models: list[_Model]


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
