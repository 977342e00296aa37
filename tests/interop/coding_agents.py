"""Coding agents, those of others from npm, each with the loopback model server behind it.

Law: an agent under test knows nothing of the machine that it runs on. It has a home of its own, a key that no provider
would take, and no address but the model server's.
"""

from __future__ import annotations

import json
import os
import re
import sys
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import pytest

from accord import Command, __version__
from accord.apps.console.known_agents import PRESETS
from accord.dialects.negotiation import ProtocolVersion

# Strictness goes, too: agents say more than any schema has, and nobody's client is strict with them.
OF_THE_MACHINE = (
    *("ACCORD_", "ACPX_", "ANTHROPIC_", "CLAUDE", "CODEX_", "GEMINI_", "GOOGLE_", "KIMI_", "MODEL_PROVIDER", "OPENAI_"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "XDG_"),
)


class CodingAgent(ABC):
    """One of them: how it is started, and how a model asks for its tools."""

    preset: ClassVar[str]
    """The name that `accord --agent` takes."""
    version_offered: ProtocolVersion = "auto"
    """Of the protocol, by a client."""
    shows_diffs: ClassVar[bool] = True
    """Whether it shows what it would change. FN-105"""
    ends_when_rejected: ClassVar[bool] = False
    """Whether its turn ends as cancelled with the first no, so that its model says nothing to that. FN-93"""

    @property
    def programs(self) -> Path:
        """Where npm puts what the preset starts."""
        return Path(__file__).parent / self.preset / "node_modules" / ".bin"

    @property
    def version(self) -> str:
        """The one that is pinned."""
        pinned = json.loads((self.programs.parents[1] / "package.json").read_text(encoding="utf-8"))["dependencies"]
        (version,) = pinned.values()
        return version

    @abstractmethod
    def environment(self, home: Path, url: str) -> dict[str, str]:
        """What leads it to the model server and keeps it from everything else; may write settings into its home."""

    @abstractmethod
    def write(self, path: Path, text: str) -> list[dict[str, Any]]:
        """Parts of a model's reply: write this file."""

    @abstractmethod
    def shell(self, command: str) -> dict[str, Any]:
        """Part of a model's reply: run this command."""

    def aside(self) -> list[dict[str, Any]]:
        """Replies to what it asks a model on its own account, such as a title for a session."""
        return []

    def let_time_pass(self, home: Path) -> None:  # noqa: B027  # most need none
        """Between two processes with one session, for an agent that cannot take it up at once."""

    def command(self, cwd: Path) -> Command:
        """What the preset starts; to be used where `settle` was."""
        preset = PRESETS[self.preset]
        return Command([preset.programs[0], *preset.args], cwd=cwd)

    def settle(self, home: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Make the surroundings of this test those that the agent, or who starts it, gets."""
        assert self.programs.exists(), f"{self.programs} is not there: `make interop` installs it"
        settle(home, self.programs, monkeypatch)
        for name, value in self.environment(home, url).items():
            monkeypatch.setenv(name, value)


def settle(home: Path, programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave nothing of the machine but what is needed to start these programs."""
    for name in [name for name in os.environ if name.upper().startswith(OF_THE_MACHINE)]:
        monkeypatch.delenv(name)
    (home / "accord").mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("ACCORD_HOME", str(home / "accord"))
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")


class Gemini(CodingAgent):
    """Gemini CLI, with a key for Google's API, which is told to be elsewhere."""

    preset = "gemini"

    def environment(self, home: Path, url: str) -> dict[str, str]:
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
        }
        path = home / ".gemini" / "settings.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(settings), encoding="utf-8")
        return {
            "GEMINI_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": url,
            "GEMINI_MODEL": "gemini-2.5-flash",  # by default it asks a model first which model to ask
            "GEMINI_CLI_NO_RELAUNCH": "1",  # by default it starts itself again, for more memory, which takes seconds
        }

    def write(self, path: Path, text: str) -> list[dict[str, Any]]:
        return [{"tool": "write_file", "arguments": {"file_path": str(path), "content": text}}]

    def shell(self, command: str) -> dict[str, Any]:
        return {"tool": "run_shell_command", "arguments": {"command": command}}

    def let_time_pass(self, home: Path) -> None:
        # It names a session's file by the minute in which it opens it: a load within that minute overwrites it.
        for kept in home.glob(".gemini/tmp/*/chats/session-*"):
            kept.rename(kept.with_name(re.sub("session-[0-9]{4}", "session-2000", kept.name)))


class Claude(CodingAgent):
    """Claude Code by its ACP adapter, which speaks v1 and the v2 draft; `protocol` holds it to one of them."""

    preset = "claude"

    def __init__(self, protocol: str = "auto") -> None:
        self.protocol = protocol

    def environment(self, home: Path, url: str) -> dict[str, str]:
        return {
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_BASE_URL": url,
            "CLAUDE_AGENT_ACP_PROTOCOL": self.protocol,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",  # reports, updates, marketplaces
            "CLAUDE_CODE_TMPDIR": str(home),
            "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "0",  # by default it asks a model what the user may ask next
            "CLAUDE_CONFIG_DIR": str(home / ".claude"),
            "IS_SANDBOX": "",  # as root, with a value that the adapter believes and the program doesn't, it ends at once
        }

    def write(self, path: Path, text: str) -> list[dict[str, Any]]:
        return [{"tool": "Write", "arguments": {"file_path": str(path), "content": text}}]

    def shell(self, command: str) -> dict[str, Any]:
        return {"tool": "Bash", "arguments": {"command": command, "description": "As asked"}}

    def aside(self) -> list[dict[str, Any]]:
        return [{"when": {"tools": False}, "times": 0, "parts": [{"text": "A scripted title"}]}]


class Codex(CodingAgent):
    """Codex by its ACP adapter, in v2 unless a client offers v1 alone."""

    preset = "codex"
    ends_when_rejected = True

    def __init__(self, version: ProtocolVersion = "auto") -> None:
        self.version_offered = version

    def environment(self, home: Path, url: str) -> dict[str, str]:
        settings = home / ".codex" / "config.toml"
        settings.parent.mkdir(exist_ok=True)
        settings.write_text(CODEX_SETTINGS.format(url=url), encoding="utf-8")
        return {
            "CODEX_HOME": str(settings.parent),
            "INITIAL_AGENT_MODE": "read-only",  # by default a model is asked for permission, not the user
            "NO_BROWSER": "1",
        }

    def write(self, path: Path, text: str) -> list[dict[str, Any]]:
        lines = "".join(f"+{line}\n" for line in text.splitlines())
        patch = f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch"
        return [{"tool": "exec_command", "arguments": {"cmd": f"apply_patch <<'END'\n{patch}\nEND\n"}}]

    def shell(self, command: str) -> dict[str, Any]:
        outside = {"sandbox_permissions": "require_escalated", "justification": "May it run?"}
        return {"tool": "exec_command", "arguments": {"cmd": command, **outside}}

    def aside(self) -> list[dict[str, Any]]:
        title = {"text": '{"title": "A scripted title"}'}
        return [{"when": {"last_user": "generate a very short title"}, "times": 0, "parts": [title]}]


CODEX_SETTINGS = """
model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false

[features]
default_mode_request_user_input = true

[analytics]
enabled = false

[model_providers.scripted]
name = "The model server"
base_url = "{url}/v1"
wire_api = "responses"
"""


class Kimi(CodingAgent):
    """Kimi Code CLI, which reads, writes and runs through its client where that offers it."""

    preset = "kimi"
    shows_diffs = False

    def environment(self, home: Path, url: str) -> dict[str, str]:
        return {
            "KIMI_CODE_HOME": str(home / ".kimi"),
            "KIMI_MODEL_NAME": "scripted",
            "KIMI_MODEL_API_KEY": "none",
            "KIMI_MODEL_BASE_URL": f"{url}/v1",
            "KIMI_DISABLE_TELEMETRY": "1",
            "KIMI_DISABLE_CRON": "1",
        }

    def write(self, path: Path, text: str) -> list[dict[str, Any]]:
        read = {"tool": "Read", "arguments": {"path": str(path)}}
        write = {"tool": "Write", "arguments": {"path": str(path), "content": text}}
        return [read, write] if path.exists() else [write]  # it changes no file that its model has not read

    def shell(self, command: str) -> dict[str, Any]:
        return {"tool": "Bash", "arguments": {"command": command}}


class Coder(CodingAgent):
    """Our own, for the clients of others: `accord agent`, which acpx starts."""

    preset = "accord"

    @property
    def programs(self) -> Path:
        return Path(__file__).parent / "acpx" / "node_modules" / ".bin"

    @property
    def version(self) -> str:
        return __version__

    def command(self, cwd: Path) -> Command:
        program = Path(__file__).parent / "peers" / "accord_coder.py"
        return Command([sys.executable, str(program), "--model", "openai:scripted"], cwd=cwd)

    def environment(self, home: Path, url: str) -> dict[str, str]:
        return {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{url}/v1"}

    def write(self, path: Path, text: str) -> list[dict[str, Any]]:
        read = {"tool": "read", "arguments": {"path": str(path)}}
        write = {"tool": "write", "arguments": {"path": str(path), "content": text}}
        return [read, write] if path.exists() else [write]

    def shell(self, command: str) -> dict[str, Any]:
        return {"tool": "run", "arguments": {"command": command}}


GEMINI = Gemini()
CLAUDE = Claude()
CLAUDE_V1 = Claude("v1")
CODEX = Codex()
CODEX_V1 = Codex(1)
KIMI = Kimi()
CODER = Coder()

CODING_AGENTS = [
    pytest.param(GEMINI, id="gemini"),
    pytest.param(CLAUDE, id="claude"),
    pytest.param(CODEX, id="codex"),
    pytest.param(KIMI, id="kimi"),
]
THEIR_OWN_CHOICE = [*CODING_AGENTS, pytest.param(CLAUDE_V1, id="claude-v1")]
"""In the version that they choose, whatever a client offers: accord's programs offer all."""
IN_EVERY_VERSION = [*THEIR_OWN_CHOICE, pytest.param(CODEX_V1, id="codex-v1")]
