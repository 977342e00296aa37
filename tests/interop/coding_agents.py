"""Coding agents of others, from npm, each with the loopback model server behind it.

Law: an agent under test knows nothing of the machine that it runs on. It has a home of its own, a key that no provider
would take, and no address but the model server's.
"""

from __future__ import annotations

import json
import os
import re
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import pytest

from accord import Command
from accord.apps.console.presets import PRESETS

# Strictness goes, too: agents say more than any schema has, and nobody's client is strict with them.
OF_THE_MACHINE = ("ACCORD_", "ANTHROPIC_", "CLAUDE", "GEMINI_", "GOOGLE_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


class CodingAgent(ABC):
    """One of them: how it is started, and how a model asks for its tools."""

    preset: ClassVar[str]
    """The name that `accord --agent` takes."""

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
    def write(self, path: Path, text: str) -> dict[str, Any]:
        """Part of a model's reply: write this file."""

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
        """Make the surroundings of this test those that the agent, or an accord that starts it, gets."""
        program = self.programs / PRESETS[self.preset].programs[0]
        assert program.exists(), f"{program} is not there: `make interop` installs it"
        for name in [name for name in os.environ if name.upper().startswith(OF_THE_MACHINE)]:
            monkeypatch.delenv(name)
        home.mkdir(exist_ok=True)
        (home / "accord").mkdir(exist_ok=True)
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("ACCORD_HOME", str(home / "accord"))
        monkeypatch.setenv("PATH", f"{self.programs}{os.pathsep}{os.environ['PATH']}")
        for name, value in self.environment(home, url).items():
            monkeypatch.setenv(name, value)


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

    def write(self, path: Path, text: str) -> dict[str, Any]:
        return {"tool": "write_file", "arguments": {"file_path": str(path), "content": text}}

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

    def write(self, path: Path, text: str) -> dict[str, Any]:
        return {"tool": "Write", "arguments": {"file_path": str(path), "content": text}}

    def shell(self, command: str) -> dict[str, Any]:
        return {"tool": "Bash", "arguments": {"command": command, "description": "As asked"}}

    def aside(self) -> list[dict[str, Any]]:
        return [{"when": {"tools": False}, "times": 0, "parts": [{"text": "A scripted title"}]}]


GEMINI = Gemini()
CLAUDE = Claude()
CLAUDE_V1 = Claude("v1")

CODING_AGENTS = [pytest.param(GEMINI, id="gemini"), pytest.param(CLAUDE, id="claude")]
IN_EVERY_VERSION = [*CODING_AGENTS, pytest.param(CLAUDE_V1, id="claude-v1")]
