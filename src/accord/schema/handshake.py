"""Types of the handshake that v1 and v2 define alike: `all_versions` has the others, which are loaded after it."""

from __future__ import annotations

from typing import TypeAlias

from accord.schema.wire_values import UNSET, Lenient, UInt16, Wire

AuthMethodId: TypeAlias = str
SessionId: TypeAlias = str
ProtocolVersion: TypeAlias = UInt16


class Implementation(Wire):
    """The program on one side; without a `title`, show its `name`."""

    name: str
    version: str
    title: Lenient[str] = UNSET


class ElicitationFormCapabilities(Wire):
    """The client can show forms."""


class ElicitationUrlCapabilities(Wire):
    """The client can ask the user to open a web page."""


class ElicitationCapabilities(Wire):
    """The modes of elicitation that the client supports; an empty object means none."""

    form: Lenient[ElicitationFormCapabilities] = UNSET
    url: Lenient[ElicitationUrlCapabilities] = UNSET


class SessionDeleteCapabilities(Wire):
    """The agent supports `session/delete`."""


class SessionForkCapabilities(Wire):
    """The agent supports `session/fork`. Unstable."""


class SessionAdditionalDirectoriesCapabilities(Wire):
    """Requests that open a session may have `additionalDirectories`."""


class EnvVariable(Wire):
    """An environment variable of a process to start."""

    name: str
    value: str
