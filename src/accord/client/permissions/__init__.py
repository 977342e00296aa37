"""Answers to the permission requests of an agent: policies, remembered choices, and what a yes covers."""

from __future__ import annotations

from accord.client.permissions.policies import (
    Callback,
    Policy,
    SavedAnswer,
    SavedAnswerPolicy,
    Verdict,
    allow_all,
    allow_kinds,
    ask,
    cancelled,
    decide,
    deny,
    kind_of,
    reject_all,
    remember,
    same_action,
    same_action_in_project,
    with_call,
    with_streamed_input,
)

__all__ = [
    "Callback",
    "Policy",
    "SavedAnswer",
    "SavedAnswerPolicy",
    "Verdict",
    "allow_all",
    "allow_kinds",
    "ask",
    "cancelled",
    "decide",
    "deny",
    "kind_of",
    "reject_all",
    "remember",
    "same_action",
    "same_action_in_project",
    "with_call",
    "with_streamed_input",
]
