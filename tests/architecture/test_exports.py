"""The public names of `accord` and `accord.testing`: pinned, visible to type checkers, and documented with an example."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from pathlib import Path
from types import ModuleType

import pytest

import accord
import accord.store
from accord import testing

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "guide").glob("*.md"))]
PYTHON = re.compile(r"^```python[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FOR_USERS = ("accord", "accord.testing", "accord.store")
"""The modules from which programs for users import."""

# A name that leaves this list breaks somebody's program; a new one is a promise. Either way: on purpose.
PUBLIC = [
    "AccordError", "Agent", "AgentConnection", "AgentSession", "AgentToolCall", "Audio", "AuthMethod", "AuthRequired",
    "Client", "Command", "CommandSubject", "CommandsChanged", "CompactionChanged", "ConnectionClosed", "Content",
    "DeadlineExceeded", "Deadlines", "Denied", "Diff", "ElicitationAnswer", "ElicitationRequest", "FileChange",
    "FileWrite", "HttpServer", "Image", "Implementation", "InfoChanged", "InvalidParams", "Location", "Message",
    "MessageChanged", "MessageChunk", "MethodNotFound", "ModeChanged", "NotFound", "NoticeShown", "OptionsChanged",
    "PermissionAnswer", "PermissionOption", "PermissionRequest", "Plan", "PlanChanged", "PlanEntry", "PromptChanged",
    "ProtocolVersion", "RateLimited", "Remote", "Reply", "RequestFailed", "Resource", "ResourceLink", "Session",
    "SessionUpdate", "SseServer", "StateChanged", "StdioServer", "StopReason", "SyncToolCall", "SyncTurn",
    "TerminalChanged", "TerminalEvent", "TerminalOutput", "Text", "TokenUsage", "ToolCall", "ToolCallChanged",
    "ToolCallSubject", "ToolKind", "ToolStatus", "Transcript", "Turn", "Unknown", "UnknownUpdate", "Update",
    "UsageChanged", "VersionRefused", "Workspace", "diff_text", "permissions", "run_in_terminal", "text_of",
]  # fmt: skip
TESTING = [
    "AnswersFirst", "AnswersSwapped", "Dies", "Fault", "Noisy", "ReceivedFrame", "Recording", "ReplayedAgent",
    "ScriptedAgent", "ScriptedClient", "SentRequest", "Silent", "Slow", "faulty", "program", "replay",
]  # fmt: skip


def page_programs(page: Path) -> list[ast.Module]:
    blocks = PYTHON.findall(page.read_text(encoding="utf-8"))
    return [ast.parse(block) for block in blocks if ">>>" not in block]


def imports(program: ast.AST) -> set[tuple[str, str]]:
    """Module and name of each `from ... import ...`; for `import ...` the name is empty."""
    found: set[tuple[str, str]] = set()
    for node in ast.walk(program):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.update((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            found.update((alias.name, "") for alias in node.names)
    return found


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize(("module", "names"), [(accord, PUBLIC), (testing, TESTING)], ids=["accord", "accord.testing"])
def test_the_public_names_are_these(module: ModuleType, names: list[str]):
    assert sorted(module.__all__) == sorted(names)


@pytest.mark.parametrize(("module", "names"), [(accord, PUBLIC), (testing, TESTING)], ids=["accord", "accord.testing"])
def test_every_public_name_can_be_imported(module: ModuleType, names: list[str]):
    for public in names:
        assert getattr(module, public) is not None
        assert public in dir(module)
    assert not hasattr(module, "Nothing")


@pytest.mark.parametrize("module", [accord, testing], ids=["accord", "accord.testing"])
def test_type_checkers_see_the_public_names(module: ModuleType):
    assert module.__file__ is not None
    source = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    block = next(node for node in source.body if isinstance(node, ast.If))
    exported = {
        (node.module, alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }
    package = "" if module is accord else f"{module.__name__}."
    assert exported == {(package + home, public) for public, home in module._HOME_OF.items()}


@pytest.mark.parametrize("page", [*EXAMPLES, *PAGES[:1], *sorted((ROOT / "docs" / "guide").glob("*.md"))], ids=name)
def test_examples_and_the_guide_import_public_names_only(page: Path):
    programs = [ast.parse(page.read_text(encoding="utf-8"))] if page.suffix == ".py" else page_programs(page)
    modules = {module for program in programs for module, _ in imports(program)}
    assert {module for module in modules if module.split(".")[0] == "accord"} <= set(FOR_USERS)


def test_every_public_name_has_a_row_on_the_page_of_public_names():
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (`[^|]*`) \|", page, re.MULTILINE)
    listed = [word for cell in cells for word in re.findall(r"`(\w+)[^`]*`", cell)]
    assert sorted(listed) == sorted(PUBLIC)


@pytest.mark.parametrize(("module", "names"), [("accord", PUBLIC), ("accord.testing", TESTING)])
def test_every_public_name_is_in_an_example(module: str, names: list[str]):
    programs = [program for page in PAGES for program in page_programs(page)]
    programs += [ast.parse(example.read_text(encoding="utf-8")) for example in EXAMPLES]
    used = {public for program in programs for home, public in imports(program) if home == module}
    assert set(names) - used == set()


# What a user finds on the objects that a client gives: nothing of how they work inside.
MEMBERS = {
    accord.Client: (
        "aclose agent authenticate delete_session dialect forget_all_writes fork_session kill_agent list_sessions "
        "load_session login logout method new_session notification notify open peer request resume_session sessions "
        "wait_closed"
    ),
    accord.Session: (
        "additional_directories cancel cancel_terminal cancel_tool_call close commands cwd dialect id is_busy is_closed "
        "is_resumed kill_agent modes on_update options prompt set_mode set_option show_terminal transcript wait_delivered"
    ),
    accord.Reply: ("cancel cancel_requested error is_over message_id stop_reason text token_usage updates_may_follow"),
    accord.Workspace: "aclose answer capabilities enter leave missing_file offer_terminals terminals",
}


@pytest.mark.parametrize("kind", MEMBERS, ids=lambda kind: kind.__name__)
def test_objects_that_users_hold_have_no_internals_among_their_public_names(kind: type):
    source = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    assigned = {
        node.attr
        for node in ast.walk(source)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self"
    }
    public = {member for member in {*vars(kind), *assigned} if not member.startswith("_")}
    assert sorted(public) == MEMBERS[kind].split()
