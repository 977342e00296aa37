"""Loads the settings in force: flags, then variables, then the trusted project's file, then the user's, then defaults.

Law: a project's file that is not trusted is not even parsed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from accord.apps.coder.errors import InvalidSettings
from accord.apps.coder.settings.files import SettingsFile, config_directory, display_path, project_file
from accord.apps.coder.settings.settings import Settings

_OTHER_VARIABLES = {"ACCORD_HOME", "ACCORD_STRICT", "ACCORD_TOKEN"}


class LoadedSettings(Struct, frozen=True, kw_only=True):
    """The settings in force in a directory.

    `origins` says where each value came from; an entry of a table is named `servers.files`. `project_state` says whether
    the project's file is used. `notices` are sentences for the user.
    """

    settings: Settings
    origins: dict[str, str]
    cwd: Path | None
    user_file: Path
    project_file: Path | None = None
    project_state: Literal["none", "trusted", "changed", "untrusted"] = "none"
    notices: list[str] = []
    flags: dict[str, Any] = {}
    config: Path | None = None

    def in_directory(self, cwd: Path | None) -> LoadedSettings:
        """The settings of another directory, such as a session's, with the same flags. All files are read again."""
        return load_settings(cwd, self.flags, config=self.config)


def load_settings(
    cwd: Path | None,
    flags: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] = os.environ,
    config: Path | None = None,
) -> LoadedSettings:
    """The settings in force in a directory; without one, those that apply everywhere.

    `config` is read instead of the user's `config.toml`.
    """
    user_file = config or config_directory(environment) / "config.toml"
    user = SettingsFile.read(user_file) if config else SettingsFile.read_if_exists(user_file)
    notices = _unknown_variables(environment)
    path = None if cwd is None else project_file(cwd)
    project, state = None, "none"
    if path is not None:
        from accord.apps.coder.settings.trust import user_trust  # noqa: PLC0415  # only if a project has a file

        try:
            project = SettingsFile.read(path)
            state = user_trust(environment).state_of(project)
        except InvalidSettings as unreadable:  # so nobody has trusted it
            state = "untrusted"
            notices.append(f"{unreadable}; it is ignored")
    if project is not None and state != "trusted":
        notices.append(_ignored_notice(project, state))
    settings, origins = merge_sources(flags or {}, environment, user, project if state == "trusted" else None)
    return LoadedSettings(
        settings=settings,
        origins=origins,
        cwd=cwd,
        user_file=user_file,
        project_file=path,
        project_state=state,
        notices=notices,
        flags=dict(flags or {}),
        config=config,
    )


def merge_sources(
    flags: Mapping[str, Any],
    environment: Mapping[str, str],
    user: SettingsFile | None = None,
    project: SettingsFile | None = None,
) -> tuple[Settings, dict[str, str]]:
    """The settings, and where each came from. Tables are merged entry by entry."""
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for label, table in _sources(flags, environment, user, project):
        for name, value in table.items():
            if isinstance(value, dict):
                values[name] = {**values.get(name, {}), **value}
                origins.update({f"{name}.{key}": label for key in value})  # pyright: ignore[reportUnknownVariableType]
            else:
                values[name] = value
                origins[name] = label
    settings = Settings(**values)
    plain = [name for name in settings.__struct_fields__ if not isinstance(getattr(settings, name), dict)]
    return settings, {**dict.fromkeys(plain, "default"), **origins}


def _where(label: str, path: tuple[str, ...]) -> str:
    """A flag or a variable, and the key in its table, for a message."""
    return ": ".join([label, ".".join(path[1:])]) if path[1:] else label


def _sources(
    flags: Mapping[str, Any], environment: Mapping[str, str], user: SettingsFile | None, project: SettingsFile | None
) -> list[tuple[str, dict[str, Any]]]:
    """The settings of each source, the weakest first."""
    names = Settings.__struct_fields__
    variables = {name: text for name in names if (text := environment.get(f"ACCORD_{name.upper()}"))}
    files = [file for file in (user, project) if file is not None]
    if not flags and not variables and not files:
        return []
    from accord.apps.coder.settings.validation import parse_setting, validate  # noqa: PLC0415  # nothing to check: not loaded

    sources = [(file.label, validate(file.table(), file.where)) for file in files]
    for name, text in variables.items():
        label = f"ACCORD_{name.upper()}"
        sources.append((label, {name: parse_setting(name, text, partial(_where, label))}))
    for name, value in flags.items():
        label = f"--{name.replace('_', '-')}"
        parsed = parse_setting(name, value, partial(_where, label)) if isinstance(value, str) else value
        sources.append((label, {name: parsed}))
    return sources


def _ignored_notice(project: SettingsFile, state: str) -> str:
    import shlex  # noqa: PLC0415  # only here

    reason = "it has changed since you trusted it" if state == "changed" else "it is not trusted"
    plain = str(project.path.parent)
    directory = display_path(project.path.parent) if shlex.quote(plain) == plain else shlex.quote(plain)
    return (
        f"{project.label} is ignored: {reason}. It can name commands and servers: read it, then run "
        f"`accord trust {directory}`"
    )


def _unknown_variables(environment: Mapping[str, str]) -> list[str]:
    known = {f"ACCORD_{name.upper()}" for name in Settings.__struct_fields__} | _OTHER_VARIABLES
    unknown = [name for name in environment if name.startswith("ACCORD_") and name not in known]
    if not unknown:
        return []
    from accord.apps.coder.settings.validation import suggestion  # noqa: PLC0415  # as above

    return [f"unknown setting {name}{similar}" for name in unknown if (similar := suggestion(name, known))]
