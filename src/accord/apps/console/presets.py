"""Agents that many people have, and how each is started and installed.

Where each row was looked up is told in docs/run.md. A name in the user's config.toml wins over one from here.
"""

from __future__ import annotations

from msgspec import Struct

__all__ = ["PRESETS", "Preset"]


class Preset(Struct, frozen=True, kw_only=True):
    """One of them; `programs` are the names it goes by, the most telling first.

    With `reads_itself` it reads files from the disk, because it takes a client's answer that there is none for a failure.
    """

    title: str
    programs: tuple[str, ...]
    args: tuple[str, ...] = ()
    install: str
    reads_itself: bool = False


PRESETS: dict[str, Preset] = {
    "auggie": Preset(
        title="Auggie", programs=("auggie",), args=("--acp",), install="npm install -g @augmentcode/auggie"
    ),
    "claude": Preset(
        title="Claude Code, by its ACP adapter",
        programs=("claude-agent-acp",),
        install="npm install -g @agentclientprotocol/claude-agent-acp",
    ),
    "codex": Preset(
        title="Codex, by its ACP adapter",
        programs=("codex-acp",),
        install="npm install -g @agentclientprotocol/codex-acp",
    ),
    "copilot": Preset(
        title="GitHub Copilot CLI",
        programs=("copilot",),
        args=("--acp", "--stdio"),
        install="npm install -g @github/copilot",
    ),
    "cursor": Preset(
        title="Cursor CLI",
        programs=("cursor-agent", "agent"),
        args=("acp",),
        install="see https://cursor.com/docs/cli/installation",
    ),
    "gemini": Preset(
        title="Gemini CLI",
        programs=("gemini",),
        args=("--acp",),
        install="npm install -g @google/gemini-cli",
        reads_itself=True,
    ),
    "goose": Preset(
        title="goose",
        programs=("goose",),
        args=("acp",),
        install="see https://block.github.io/goose/docs/getting-started/installation",
    ),
    "kimi": Preset(
        title="Kimi CLI", programs=("kimi",), args=("acp",), install="see https://github.com/MoonshotAI/kimi-cli"
    ),
    "opencode": Preset(title="OpenCode", programs=("opencode",), args=("acp",), install="see https://opencode.ai/docs"),
    "qoder": Preset(
        title="Qoder CLI", programs=("qodercli",), args=("--acp",), install="npm install -g @qoder-ai/qodercli"
    ),
    "qwen": Preset(
        title="Qwen Code", programs=("qwen",), args=("--acp",), install="npm install -g @qwen-code/qwen-code"
    ),
    "vibe": Preset(
        title="Mistral Vibe", programs=("vibe-acp",), install="see https://github.com/mistralai/mistral-vibe"
    ),
}
