"""Which settings are in force: flags, then variables, then the trusted project's file, then the user's, then defaults.

Law: a project's file that is not trusted is not even parsed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from accord.apps.coder.errors import InvalidSettings
from accord.apps.coder.settings.directories import config_directory, shown_path, state_directory
from accord.apps.coder.settings.files import SettingsFile, project_file
from accord.apps.coder.settings.settings import Settings

if TYPE_CHECKING:
    from accord.apps.coder.settings.trust import Trust

__all__ = ["LoadedSettings", "load_settings", "merge_sources", "user_trust"]

_OTHER_VARIABLES = {"ACCORD_HOME", "ACCORD_STRICT"}


class LoadedSettings(Struct, frozen=True, kw_only=True):
    """The settings in force in a directory.

    `origins` says where each value came from; an entry of a table is named `servers.files`. `project_state` says what
    became of the project's file. `notices` are for the user, a sentence each.
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
        """Those of another directory, such as a session's, under the same flags. All files are read anew."""
        return load_settings(cwd, self.flags, config=self.config)


def load_settings(
    cwd: Path | None,
    flags: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] = os.environ,
    config: Path | None = None,
) -> LoadedSettings:
    """The settings in force in a directory, or without one those that hold everywhere.

    `config` is read in place of the user's `config.toml`.
    """
    user_file = config or config_directory(environment) / "config.toml"
    user = SettingsFile.read(user_file) if config else SettingsFile.read_if_there(user_file)
    notices = _misspelt(environment)
    found = None if cwd is None else project_file(cwd)
    project, state = None, "none"
    if found is not None:
        try:
            project = SettingsFile.read(found)
            state = user_trust(environment).state_of(project)
        except InvalidSettings as wrong:  # nobody has trusted what nobody can read
            state = "untrusted"
            notices.append(f"{wrong}; it is ignored")
    if project is not None and state != "trusted":
        notices.append(_ignored(project, state))
    settings, origins = merge_sources(flags or {}, environment, user, project if state == "trusted" else None)
    return LoadedSettings(
        settings=settings,
        origins=origins,
        cwd=cwd,
        user_file=user_file,
        project_file=found,
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
    """The settings that these make, and where each came from. Tables are laid over each other entry by entry."""
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for label, found in _sources(flags, environment, user, project):
        for name, value in found.items():
            if isinstance(value, dict):
                values[name] = {**values.get(name, {}), **value}
                origins.update({f"{name}.{key}": label for key in value})  # pyright: ignore[reportUnknownVariableType]
            else:
                values[name] = value
                origins[name] = label
    settings = Settings(**values)
    plain = [name for name in settings.__struct_fields__ if not isinstance(getattr(settings, name), dict)]
    return settings, {**dict.fromkeys(plain, "default"), **origins}


def user_trust(environment: Mapping[str, str] = os.environ) -> Trust:
    """The user's trust."""
    from accord.apps.coder.settings.trust import Trust  # noqa: PLC0415  # hashing is needed only where a project has a file

    return Trust(state_directory(environment) / "trusted")


class _TextSource:
    """A flag or a variable, as a place for messages."""

    def __init__(self, label: str) -> None:
        self.label = label

    def where(self, path: tuple[str, ...]) -> str:
        return ": ".join([self.label, ".".join(path[1:])]) if path[1:] else self.label


def _sources(
    flags: Mapping[str, Any],
    environment: Mapping[str, str],
    user: SettingsFile | None,
    project: SettingsFile | None,
) -> list[tuple[str, dict[str, Any]]]:
    """What each says, the weakest first."""
    names = Settings.__struct_fields__
    variables = {name: text for name in names if (text := environment.get(f"ACCORD_{name.upper()}"))}
    files = [file for file in (user, project) if file is not None]
    if not flags and not variables and not files:
        return []
    from accord.apps.coder.settings.validation import parse_setting, validate  # noqa: PLC0415  # nothing to check: no cost

    sources = [(file.label, validate(file.table(), file)) for file in files]
    for name, text in variables.items():
        label = f"ACCORD_{name.upper()}"
        sources.append((label, {name: parse_setting(name, text, _TextSource(label))}))
    for name, given in flags.items():
        label = f"--{name.replace('_', '-')}"
        value = parse_setting(name, given, _TextSource(label)) if isinstance(given, str) else given
        sources.append((label, {name: value}))
    return sources


def _ignored(project: SettingsFile, state: str) -> str:
    import shlex  # noqa: PLC0415  # only here

    why = "it has changed since you trusted it" if state == "changed" else "you have not trusted it"
    plain = str(project.path.parent)
    directory = shown_path(project.path.parent) if shlex.quote(plain) == plain else shlex.quote(plain)
    return (
        f"{project.label} is ignored: {why}. It can name commands and servers: read it, then `accord trust {directory}`"
    )


def _misspelt(environment: Mapping[str, str]) -> list[str]:
    known = {f"ACCORD_{name.upper()}" for name in Settings.__struct_fields__} | _OTHER_VARIABLES
    strange = [name for name in environment if name.startswith("ACCORD_") and name not in known]
    if not strange:
        return []
    from accord.apps.coder.settings.validation import suggestion  # noqa: PLC0415  # as above

    return [f"{name} is no setting{hint}" for name in strange if (hint := suggestion(name, known))]
