"""What each side can do, in words that outlive a protocol version.

`meta` of the groups keeps what implementers advertise there (EXT-12). A capability that was not mentioned is off.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from accord.session.value import Unknown, Value


class Implementation(Value):
    """Which program this is. Nothing that the protocol says is decided by it."""

    name: str
    version: str
    title: str | None = None


class ClientCapabilities(Value):
    """What the client offers; everything defaults to off.

    `boolean_options`, `notices`, `compaction` and `display_terminals` are asked for in v1 and always on in v2.
    `display_terminals` is that it shows the terminals of an agent, which v1 says in `_meta`.
    `group_meta` holds the `_meta` of nested capability objects by their dotted wire path.
    """

    read_files: bool = False
    write_files: bool = False
    terminals: bool = False
    terminal_login: bool = False
    form_elicitation: bool = False
    url_elicitation: bool = False
    boolean_options: bool = False
    notices: bool = False
    compaction: bool = False
    display_terminals: bool = False
    group_meta: dict[str, dict[str, Any]] = {}


class AgentCapabilities(Value):
    """What the agent offers; everything defaults to off.

    In v2 `sessions` brings list, resume, replay and close with it. `unstable` holds, as it came, what is offered beyond
    the published versions, by its dotted path in v2, such as `providers` and `session.title`.
    `group_meta` holds the `_meta` of nested capability objects by their dotted wire path.
    """

    sessions: bool = True
    load: bool = False
    resume: bool = False
    list: bool = False
    close: bool = False
    delete: bool = False
    fork: bool = False
    additional_directories: bool = False
    image: bool = False
    audio: bool = False
    embedded_context: bool = False
    mcp_stdio: bool = True
    mcp_http: bool = False
    mcp_sse: bool = False
    logout: bool = False
    unstable: dict[str, Any] = {}
    group_meta: dict[str, dict[str, Any]] = {}


class AgentLogin(Value, tag_field="type", tag="agent"):
    """A login that the agent carries out itself when it is asked to.

    `raw` holds all of one that names a type of which v1 and the draft know no more than that the agent deals with it.
    """

    id: str
    name: str
    description: str | None = None
    raw: dict[str, Any] | None = None


class TerminalLogin(Value, tag_field="type", tag="terminal"):
    """A login that the client runs as a separate, interactive start of the same program."""

    id: str
    name: str
    description: str | None = None
    args: list[str] = []
    env: Mapping[str, str] = {}


class LoginVariable(Value):
    """An environment variable that a login needs; `secret` values are not to be shown."""

    name: str
    label: str | None = None
    secret: bool = True
    optional: bool = False


class VariableLogin(Value, tag_field="type", tag="env_var"):
    """A login by variables that the agent finds in its environment when it starts; once published, and still in use."""

    id: str
    name: str
    variables: list[LoginVariable] = []
    description: str | None = None
    link: str | None = None


AuthMethod: TypeAlias = AgentLogin | TerminalLogin | VariableLogin | Unknown
