"""What people say to somebody they meet, and what the offline model says to that and to what it does not understand.

Law: only a remark that can mean nothing else is answered as one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from accord.apps.coder.tools.tool import in_code
from accord.transports.installation import program_command

_LONGEST_COMMAND = 100

_REAL_MODEL = """\
For a language model, set the key of its provider and name the model: `accord --model anthropic:NAME` with `ANTHROPIC_API_KEY`,
`openai:NAME` with `OPENAI_API_KEY` and so on; `ollama:NAME` for one on this machine; `local:FILE.gguf` for a file. To keep it, set
`model` in `config.toml`. `accord help models` tells more.
"""
_ABILITIES = """\
- `explain this project`
- `find TODO`, `read FILE`, `list files`, `what changed?`
- `replace OLD with NEW in FILE`: you see the change before it is made
- `create notes.txt with hello world`
- `run the tests`, or any command in quotation marks, as in "run `make lint`"

`/help` lists the same as commands.
"""
_HELLO_ANSWER = f"""\
Hello! I work without a language model: I do what you say word for word. For example:

{_ABILITIES}
{_REAL_MODEL}"""
_ABOUT_ANSWER = f"""\
I am accord's coding agent, here with the model `offline`: not a language model, but rules that follow plain requests. Reading,
searching, changing and running are real. You can say:

{_ABILITIES}
{_REAL_MODEL}"""
_MODEL_ANSWER = f"""\
The model is `offline`: not a language model, but rules that do what you say word for word.

{_REAL_MODEL}"""
_UNDO_ANSWER = """\
I can't undo by myself. On accord's screen `/undo` puts the files back to what they were before a prompt. `/review` shows what has
changed since the last commit.
"""
_UNKNOWN_ANSWER = f"""\
That takes a language model, and I am not one: this is accord's model `offline`, which does what is said word for word. What works:

{_ABILITIES}
{_REAL_MODEL}"""

_UNKNOWN_AGAIN_ANSWER = """\
That takes a language model, too. `help` shows what I can do, and how to use one.
"""
_LEAVE_ANSWER = """\
I can't end the program that you type this in. On accord's screen `/exit` leaves, or Ctrl+C pressed twice.
"""

_HELLO = r"(?:hi|hello|hey|hiya|howdy|greetings|good (?:morning|afternoon|evening))(?: there| accord)?"
_USE = r"(?:use|set|switch to|choose|connect|configure)"
_REMARKS = {
    rf"{_HELLO}(?:[,.!]? how are you)?": _HELLO_ANSWER,
    r"thanks?(?: you)?(?: a lot| very much)?|thx|great|nice|cool|perfect": "You are welcome.\n",
    rf"(?:{_HELLO}[,.!]? )?(?:(?:who|what) are you|what can (?:you|i) do(?: here)?)": _ABOUT_ANSWER,
    r"help(?: me)?|how does this work|what now|what is accord|test": _ABOUT_ANSWER,
    r"(?:what|which) (?:language )?(?:model|llm) (?:are you|is this|do you use)(?: using)?": _MODEL_ANSWER,
    r"are you (?:an? )?(?:ai|llm|language model|chatgpt|claude|gpt)": _MODEL_ANSWER,
    rf"(?:how (?:do|can) (?:i|we) |i want to )?{_USE} (?:a |an |another |the |my )?(?:real |other |better |different |language |ai )?"
    r"(?:model|llm|api key)": _MODEL_ANSWER,
    r"(?:undo|revert)(?: (?:it|that|this|the (?:last )?changes?|everything))?": _UNDO_ANSWER,
    r"exit|quit|bye|good ?bye|stop|leave|:q": _LEAVE_ANSWER,
}
"""By what is said, without please and the sign at its end, the answer."""

_ONE_NAME = re.compile(r"(?:read|show|open|view|list|explain)\s+(?:me\s+)?([\w-]+)[.!?]?", re.IGNORECASE)
_PROGRAMS = frozenset(
    (
        "bash", "brew", "bun", "cargo", "cat", "cd", "cmake", "curl", "docker", "find", "git", "go", "gradle", "grep", "head", "ls",
        "make", "mkdir", "mv", "mvn", "node", "npm", "npx", "pip", "pnpm", "poetry", "pwd", "pytest", "python", "python3", "rm",
        "ruff", "rustc", "sed", "sh", "tail", "touch", "tree", "tsc", "uv", "wc", "wget", "yarn",
    )
)  # fmt: skip


def answer_without_tools(text: str, answers: Sequence[str] = ()) -> str:
    """The answer to what is no request: to a remark, or how to say what can be done, unless one of the answers before said that."""
    said = re.sub(r"^please |,? please$", "", " ".join(text.lower().split()).rstrip(".!?"))
    for pattern, answer in _REMARKS.items():
        if re.fullmatch(pattern, said):
            return _as_typed(answer)
    words = text.split()
    if len(words) > 1 and words[0].lower() in ("run", "execute"):
        command = " ".join(words[1:]).rstrip(".!")
        return f"A command has to be in quotation marks: run {in_code(command)}. Or say {in_code(f'/run {command}')}.\n"
    if words and words[0] in _PROGRAMS and len(text) < _LONGEST_COMMAND and "\n" not in text.strip():
        return (
            f"If that is a command, say {in_code(f'/run {text.strip()}')}. I run only what is plainly meant as one.\n"
        )
    named = _ONE_NAME.fullmatch(text.strip())
    if named is not None:
        file, directory = in_code(f"read the file {named[1]}"), in_code(f"list {named[1]}/")
        return f"If {in_code(named[1])} is a file, say {file}; if it is a directory, {directory}.\n"
    again = any(answer.startswith(_UNKNOWN_ANSWER.partition("\n")[0]) for answer in answers)
    return _UNKNOWN_AGAIN_ANSWER if again else _as_typed(_UNKNOWN_ANSWER)


def _as_typed(answer: str) -> str:
    """The answer with the commands of accord as this installation's user types them."""
    return answer.replace("`accord ", f"`{program_command()} ")
