"""The keys of the screen's actions: their defaults, those that the user's settings give them, and their names in hints.

Law: a key that the user gives to an action is taken from the action that has it by default. Esc and Ctrl+C cannot be given
away: they stop the agent. A hint names the key in force, never the default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.binding import Binding

_NAMES = {
    "escape": "Esc",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
    "enter": "Enter",
}


def _key(keys: str, action: str, meaning: str, *, name: str = "", first: bool = True) -> Binding:
    """`name` is what the user's settings call it, by default the name of the action."""
    name = name or action.rpartition(".")[2]
    return Binding(keys, action, meaning, show=False, priority=first, id=name)


KEYS = [
    _key("escape", "app.stop", "stop the agent; again, kill it", first=False),
    _key("ctrl+c", "app.interrupt", "copy the selection; else stop; else clear the prompt; else, pressed twice, quit"),
    _key("shift+tab", "app.next_mode", "next mode"),
    _key("tab", "app.next_focus", "move between prompt, question, queue and conversation"),
    _key("ctrl+p", "app.command_palette", "command palette"),
    _key("ctrl+t", "app.fold_thoughts", "fold or unfold thoughts"),
    _key("ctrl+o", "app.fold_tool_calls", "fold or unfold all tool calls"),
    _key("ctrl+f", "app.find", "search in the conversation"),
    _key("ctrl+r", "app.history", "search the prompt history"),
    _key("ctrl+s", "app.send_now", "send now: stop the running turn and send this first"),
    _key("ctrl+g", "app.edit_prompt", "edit the prompt in $EDITOR"),
    _key("pageup", "scroll_page(-1)", "scroll up", name="scroll_up"),
    _key("pagedown", "scroll_page(1)", "scroll down", name="scroll_down"),
    _key("ctrl+end", "follow", "go to the end of the conversation and follow it"),
    _key("ctrl+n", "app.new_session", "new session in a tab"),
    _key("alt+w", "app.close_session", "close this tab"),
    _key("alt+right,ctrl+pagedown", "app.next_tab(1)", "next tab", name="next_tab"),
    _key("alt+left,ctrl+pageup", "app.next_tab(-1)", "previous tab", name="previous_tab"),
    _key("ctrl+l", "app.log", "wire log: messages and stderr"),
    _key("f1", "app.keys", "all keys"),
    _key("f2", "app.options", "modes, models and all options"),
    _key("f3", "app.sessions", "sessions: open, fork or delete"),
    _key("f4", "app.review", "review all changed files"),
    _key("f5", "app.restart", "restart the agent and reopen its sessions"),
    _key("ctrl+z", "app.suspend_process", "suspend; fg in the shell continues (not on Windows)", name="suspend"),
    _key("ctrl+q", "app.exit", "quit"),
]

SEND, NEWLINE = "send", "newline"
_DEFAULTS = {binding.id or "": binding.key.split(",") for binding in KEYS} | {
    SEND: ["enter"],
    NEWLINE: ["alt+enter", "shift+enter", "ctrl+j"],
}
ACTIONS = tuple(name for name in _DEFAULTS if name not in ("stop", "interrupt"))
"""The actions that can have other keys, by the names that the settings use."""
_UNBOUND = "unbound"
"""The name of a key that no keyboard has."""
_OTHER_WAYS = {
    "restart": "/restart",
    "log": "/log",
    "sessions": "/resume",
    "options": "/options",
    "next_mode": "/options",
    "review": "/diff",
    "keys": "/help",
    "exit": "/quit",
    "new_session": "/new",
    "find": "/find",
    "next_focus": "a click",
}
"""What does the same as an action that has no key; for all others the command palette does."""


class KeyBindings:
    """`chosen` are the keys that the settings give to some of the actions; an empty list for none."""

    def __init__(self, chosen: Mapping[str, Sequence[str]] | None = None) -> None:
        chosen = {name: [_normal(key) for key in keys] for name, keys in (chosen or {}).items()}
        taken = {key for keys in chosen.values() for key in keys}
        self._keys = {
            name: chosen.get(name, [key for key in keys if key not in taken]) for name, keys in _DEFAULTS.items()
        }

    def keymap(self) -> dict[str, str]:
        """The keys that differ from the defaults, as Textual takes them. It does not know the action `send`."""
        changed = {name: keys for name, keys in self._keys.items() if keys != _DEFAULTS[name]}
        return {name: ",".join(keys) or _UNBOUND for name, keys in changed.items() if name != SEND}

    def of(self, name: str) -> Sequence[str]:
        """The keys of an action, as Textual names them."""
        return self._keys[name]

    def label(self, name: str) -> str:
        """The keys of an action, for people; empty if it has none."""
        return key_label(",".join(self._keys[name])) if self._keys[name] else ""

    def hint(self, name: str) -> str:
        """The first key of an action, for a sentence; if it has none, what else does the same."""
        if self._keys[name]:
            return key_label(self._keys[name][0])
        return _OTHER_WAYS.get(name, "the command palette")


def _normal(key: str) -> str:
    """A key as Textual names it: in small letters, with its modifiers in alphabetical order."""
    *modifiers, name = key.lower().replace(" ", "").split("+")
    return "+".join([*sorted(modifiers), name])


def key_label(keys: str) -> str:
    """The names of keys as printed on a keyboard."""
    return ", ".join(
        "+".join(_NAMES.get(part, part.capitalize() if len(part) > 1 else part.upper()) for part in key.split("+"))
        for key in keys.split(",")
    )
