from __future__ import annotations

import accord

# A name that leaves this list breaks somebody's program; a new one is a promise. Either way: on purpose.
PUBLIC = [
    "AccordError",
    "Agent",
    "Audio",
    "AuthRequired",
    "Client",
    "Command",
    "CommandsChanged",
    "ConnectionClosed",
    "DeadlineExceeded",
    "Denied",
    "Image",
    "InfoChanged",
    "InvalidParams",
    "Limits",
    "MessageChanged",
    "MessageChunk",
    "MethodNotFound",
    "NotFound",
    "OptionsChanged",
    "Peer",
    "PlanChanged",
    "RateLimited",
    "RequestFailed",
    "Resource",
    "ResourceLink",
    "StateChanged",
    "TerminalChanged",
    "TerminalOutput",
    "Text",
    "ToolCallChanged",
    "Transcript",
    "Turn",
    "UNSET",
    "Unknown",
    "UnknownUpdate",
    "UsageChanged",
    "VersionRefused",
    "Workspace",
    "permissions",
]


def test_the_public_names_are_these():
    assert sorted(accord.__all__) == sorted(PUBLIC)


def test_every_public_name_can_be_had():
    for name in PUBLIC:
        assert getattr(accord, name) is not None
        assert name in dir(accord)


def test_a_name_that_does_not_exist_is_an_attribute_error():
    assert not hasattr(accord, "Nothing")
