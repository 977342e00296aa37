"""What a client can be connected with: a command to start, a URL, or anything else that has `connect()`."""

from __future__ import annotations

import codecs
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

from accord.transports.framing import FRAME_LIMIT, Framing
from accord.transports.process_transport import ProcessTransport
from accord.transports.transport import Transport

if TYPE_CHECKING:
    from accord.transports.remote import Profile, RemoteTransport

_URL_SCHEMES = ("http", "https", "ws", "wss")

Stderr: TypeAlias = Literal["inherit", "capture"] | Callable[[bytes], None]
"""What happens with the stderr of an agent that is a program.

`inherit` writes it to `sys.stderr`, `capture` only keeps its end for error messages, a function gets every chunk.
"""

_ELSEWHERE = {
    "ssh", "mosh", "docker", "podman", "nerdctl", "kubectl", "oc", "lxc", "incus", "wsl", "vagrant", "multipass", "limactl",
    "devcontainer", "distrobox", "toolbox", "flatpak-spawn", "nsenter", "chroot", "bwrap", "systemd-nspawn", "machinectl", "gcloud",
}  # fmt: skip


@runtime_checkable
class Target(Protocol):
    """Whatever an agent can be reached through. Each call makes a connection of its own, not yet open.

    One that also says `is_on_this_machine = True` sees our directories: it is not asked for a session in one that is missing.
    """

    def connect(self) -> Transport:
        """The client's end; called in the event loop."""
        ...


class Command:
    """An agent that is a program. `env` is laid over our own environment; `ProcessTransport` tells what the rest means.

    `is_on_this_machine` says whether it sees our directories; left out, it does unless a word of the command is a program
    that runs others elsewhere, such as ssh or docker.
    """

    def __init__(
        self,
        args: str | Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        framing: Framing | None = None,
        frame_limit: int = FRAME_LIMIT,
        close_grace: float = 2.0,
        terminate_grace: float = 2.0,
        is_on_this_machine: bool | None = None,
    ) -> None:
        self.args = shlex.split(args) if isinstance(args, str) else [str(part) for part in args]
        if not self.args:
            raise ValueError("a command needs at least the name of a program")
        self.env = dict(env or {})
        self.cwd = cwd
        self.framing: Framing | None = framing
        self.frame_limit = frame_limit
        self.close_grace = close_grace
        self.terminate_grace = terminate_grace
        runs_elsewhere = any(Path(word).name.removesuffix(".exe") in _ELSEWHERE for word in self.args)
        self.is_on_this_machine = not runs_elsewhere if is_on_this_machine is None else is_on_this_machine

    def environment(self) -> dict[str, str]:
        """All the variables that the program gets."""
        return {**os.environ, **self.env}

    def connect(self, stderr: Stderr = "inherit") -> ProcessTransport:
        """A connection with a process of its own, not yet started."""
        return ProcessTransport(
            self.args,
            env=self.environment(),
            cwd=self.cwd,
            framing=self.framing,
            frame_limit=self.frame_limit,
            on_stderr=_stderr_callback(stderr),
            close_grace=self.close_grace,
            terminate_grace=self.terminate_grace,
        )

    def __repr__(self) -> str:
        return f"Command({shlex.join(self.args)!r})"  # not its environment, where secrets are


def check_stderr(stderr: Stderr) -> None:
    """ValueError for anything else."""
    if stderr not in ("inherit", "capture") and not callable(stderr):
        raise ValueError(f"stderr is 'inherit', 'capture' or a function that gets bytes, not {stderr!r}")


def _stderr_callback(stderr: Stderr) -> Callable[[bytes], None] | None:
    if callable(stderr):
        return stderr
    if stderr == "capture":
        return None
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def write(data: bytes) -> None:
        if sys.stderr is not None:  # a program without a console has none
            sys.stderr.write(decode(data))
            sys.stderr.flush()

    return write


class Remote:
    """An agent at a URL; without a path, at `/acp`. Needs the extra `http`.

    An `https` or `http` URL is connected to over WebSocket where the server offers it, over HTTP otherwise; `profile` says
    which one to use instead. `token` is the bearer token that the server wants, and `headers` go with every request. When
    the connection is cut and the server can resume it, the client tries to get it back for `resume_seconds`.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        profile: Profile = "auto",
        frame_limit: int = FRAME_LIMIT,
        resume_seconds: float = 60.0,
        is_on_this_machine: bool = False,
    ) -> None:
        self.url = url
        self.resume_seconds = resume_seconds
        self.headers = {**(headers or {}), **({} if token is None else {"Authorization": f"Bearer {token}"})}
        self.profile: Profile = profile
        self.frame_limit = frame_limit
        self.is_on_this_machine = is_on_this_machine

    def connect(self) -> RemoteTransport:
        """A transport to this URL, which is not open yet."""
        from accord.transports.remote import RemoteTransport  # noqa: PLC0415  # most clients start a command

        return RemoteTransport(
            self.url,
            headers=self.headers,
            profile=self.profile,
            frame_limit=self.frame_limit,
            resume_seconds=self.resume_seconds,
        )

    def __repr__(self) -> str:
        return f"Remote({self.url!r})"  # not its headers, where secrets are


AnyTarget: TypeAlias = str | Sequence[str] | Target


def target_of(given: AnyTarget) -> Target:
    """A URL becomes a `Remote`, a command line or a list of arguments a `Command`; what has `connect()` stays as it is."""
    if isinstance(given, str):
        return Remote(given) if given.partition("://")[0].lower() in _URL_SCHEMES else Command(given)
    kind = f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__
    if isinstance(given, Target) and not isinstance(given, type):
        return given
    if not isinstance(given, Sequence):
        raise TypeError(
            f"expected a command line such as 'python agent.py', a list of arguments, a URL, or an agent, not {kind}"
        )
    return Command(list(given))
