"""Agents that many people have: how each is started and installed, how it is recognised, and what it needs.

Where each row was looked up is told in docs/run.md. A name in the user's config.toml wins over one from here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

from msgspec import Struct

__all__ = ["PRESETS", "Preset", "is_launcher", "preset_of"]


class Preset(Struct, frozen=True, kw_only=True):
    """One of them; `programs` are the names it is started by, the most telling first.

    `names` are what it calls itself in `initialize`, and what its packages are called: in lower case, without the scope,
    with hyphens. With `reads_itself` it reads files from the disk, because it takes a client's answer that there is none
    for a failure. With `runs_unasked` it runs commands itself, and asks nobody, where its client offers no terminals; in those
    it asks.
    """

    title: str
    programs: tuple[str, ...]
    args: tuple[str, ...] = ()
    install: str
    names: tuple[str, ...]
    reads_itself: bool = False
    runs_unasked: bool = False


PRESETS: dict[str, Preset] = {
    "auggie": Preset(
        title="Auggie",
        programs=("auggie",),
        args=("--acp",),
        install="npm install -g @augmentcode/auggie",
        names=("auggie", "auggie-cli"),
    ),
    "claude": Preset(
        title="Claude Code, by its ACP adapter",
        programs=("claude-agent-acp",),
        install="npm install -g @agentclientprotocol/claude-agent-acp",
        names=("claude-agent-acp", "claude-code-acp"),
    ),
    "codex": Preset(
        title="Codex, by its ACP adapter",
        programs=("codex-acp",),
        install="npm install -g @agentclientprotocol/codex-acp",
        names=("codex-acp",),
    ),
    "copilot": Preset(
        title="GitHub Copilot CLI",
        programs=("copilot",),
        args=("--acp", "--stdio"),
        install="npm install -g @github/copilot",
        names=("copilot", "github-copilot", "github-copilot-cli", "copilot-cli"),
    ),
    "cursor": Preset(
        title="Cursor CLI",
        programs=("cursor-agent", "agent"),
        args=("acp",),
        install="see https://cursor.com/docs/cli/installation",
        names=("cursor", "cursor-agent", "cursor-cli"),
    ),
    "fast-agent": Preset(
        title="fast-agent",
        programs=("fast-agent-acp",),
        install="uv tool install fast-agent-mcp",
        names=("fast-agent", "fast-agent-acp", "fast-agent-mcp"),
        runs_unasked=True,
    ),
    "gemini": Preset(
        title="Gemini CLI",
        programs=("gemini",),
        args=("--acp",),
        install="npm install -g @google/gemini-cli",
        names=("gemini", "gemini-cli"),
        reads_itself=True,
    ),
    "goose": Preset(
        title="goose",
        programs=("goose",),
        args=("acp",),
        install="see https://block.github.io/goose/docs/getting-started/installation",
        names=("goose", "goose-cli"),
    ),
    "kimi": Preset(
        title="Kimi CLI",
        programs=("kimi",),
        args=("acp",),
        install="see https://github.com/MoonshotAI/kimi-cli",
        names=("kimi", "kimi-cli", "kimi-code", "kimi-code-cli"),
        reads_itself=True,
    ),
    "opencode": Preset(
        title="OpenCode",
        programs=("opencode",),
        args=("acp",),
        install="see https://opencode.ai/docs",
        names=("opencode", "opencode-ai"),
    ),
    "qoder": Preset(
        title="Qoder CLI",
        programs=("qodercli",),
        args=("--acp",),
        install="npm install -g @qoder-ai/qodercli",
        names=("qoder", "qodercli", "qoder-cli"),
    ),
    "qwen": Preset(
        title="Qwen Code",
        programs=("qwen",),
        args=("--acp",),
        install="npm install -g @qwen-code/qwen-code",
        names=("qwen", "qwen-code"),
    ),
    "vibe": Preset(
        title="Mistral Vibe",
        programs=("vibe-acp",),
        install="see https://github.com/mistralai/mistral-vibe",
        names=("vibe", "vibe-acp", "mistral-vibe"),
    ),
}

_LAUNCHER = re.compile(
    r"(?:node|npx|npm|bun|bunx|deno|pnpm|yarn|tsx|python|pypy|uv|uvx|pipx|ruby|java|dotnet|sh|bash|dash|zsh|env)[\d.]*(?:js)?"
)
_STEPS = frozenset(["exec", "dlx", "x", "run", "tool"])


def is_launcher(program: str) -> bool:
    """Whether it only starts another program, so that its name says nothing."""
    return _LAUNCHER.fullmatch(PurePath(program).name.lower().removesuffix(".exe").removesuffix(".cmd")) is not None


def preset_of(command: Sequence[str], name: str = "") -> Preset | None:
    """By the name that an agent has given in `initialize`, else by the program or package of its command."""
    by_name = {each: preset for preset in PRESETS.values() for each in preset.names}
    if (found := by_name.get(_plain(name))) is not None:
        return found
    if is_launcher(command[0]):
        return by_name.get(_plain(_package_in(command[1:])))
    by_program = {each: preset for preset in PRESETS.values() for each in preset.programs}
    program = PurePath(command[0]).stem
    return by_program.get(program) or by_name.get(program)


def _plain(name: str) -> str:
    without_scope = name.rpartition("/")[2] if name.startswith("@") else name
    return re.sub(r"[^a-z0-9]+", "-", without_scope.casefold()).strip("-")


def _package_in(words: Sequence[str]) -> str:
    """What a launcher starts: a package without its version, or the one that a script belongs to."""
    word = next((each for each in words if not each.startswith("-") and each not in _STEPS), "").replace("\\", "/")
    _, inside, place = word.rpartition("node_modules/")
    if not inside and "/" in word and not word.startswith("@"):
        return PurePath(word).name
    found = re.match(r"(?:@[^/]*/|\.bin/)?([^/@=]+)", place)
    return found[1] if found else ""
