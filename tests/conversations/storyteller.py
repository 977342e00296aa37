"""What our agent does with a prompt: it tells the story, with the client's files and terminals where the version has them."""

from __future__ import annotations

import asyncio
from typing import Any

from accord.errors import RequestFailed
from accord.session.content import Text
from accord.session.diffs import GIT_PATCH, git_patch
from accord.session.entities import (
    AGENT,
    THOUGHT,
    ContentItem,
    Diff,
    DiffPatch,
    Exit,
    FileChange,
    Plan,
    PlanEntry,
    State,
    TerminalItem,
)
from accord.session.requests import (
    CreateTerminal,
    ElicitationAnswer,
    ElicitationRequest,
    PermissionAnswer,
    PermissionOption,
    PermissionRequest,
    Prompt,
    ReadFile,
    ReadTerminal,
    ReleaseTerminal,
    ToolCallSubject,
    WaitForExit,
    WriteFile,
)
from accord.session.updates import (
    InfoPatch,
    MessageAppend,
    PlanPatch,
    StatePatch,
    TerminalAppend,
    TerminalPatch,
    ToolCallAppend,
    ToolCallPatch,
    UsagePatch,
)
from tests.conversations.agent_side import AgentSide, Session
from tests.conversations.story import STORY

__all__ = ["tell_story"]

FILE, COMMAND, QUESTION = STORY["file"], STORY["command"], STORY["question"]
TERMINAL = "terminal-of-the-agent"


async def tell_story(agent: AgentSide, session: Session, asked: Prompt) -> str:
    teller = Storyteller(agent, session)
    first, *others = [block.text for block in asked.content if isinstance(block, Text)]
    match first.split():
        case ["story"]:
            await teller.story()
        case ["many", count]:
            for number in range(int(count)):
                await teller.say(f"{number} ")
        case ["echo"]:
            await teller.say(others[0])
        case ["wait"]:
            await teller.tell(ToolCallPatch(id="call-wait", title="Wait", status="in_progress"))
            await asyncio.get_running_loop().create_future()
        case ["permission"]:
            return "end_turn" if await teller.allowed("call-unseen") else "cancelled"
        case ["refuse"]:
            return "refusal"
        case ["unknown"]:
            try:
                await agent.peer.request("_accord/nothing", {}, deadline=30)
            except RequestFailed as error:
                await teller.say(str(error.code))
        case ["fail"]:
            raise ValueError("the model is gone")
        case _:
            await teller.say("What?")
    return "end_turn"


class Storyteller:
    def __init__(self, agent: AgentSide, session: Session) -> None:
        assert agent.dialect is not None
        self.agent = agent
        self.session = session
        self.client = agent.dialect.client
        self.is_v2 = not agent.dialect.result_ends_turn

    async def tell(self, report: Any) -> None:
        await self.agent.tell(self.session, report)

    async def say(self, text: str, role: str = AGENT) -> None:
        await self.tell(MessageAppend(role=role, id=None, content=Text(text)))

    async def story(self) -> None:
        for piece in STORY["thought"]:
            await self.say(piece, THOUGHT)
        await self.plan("pending")
        await self.read(STORY["read"])
        await self.edit(STORY["edit"])
        await self.run(STORY["run"])
        if self.client.form_elicitation and self.is_v2:
            await self.question()
        await self.plan("completed")
        for piece in STORY["message"]:
            await self.say(piece)
        await self.tell(UsagePatch(**STORY["usage"]))
        await self.tell(InfoPatch(title=STORY["title"]))

    async def plan(self, status: str) -> None:
        entries = [
            PlanEntry(content=each["content"], priority=each["priority"], status=status) for each in STORY["plan"]
        ]
        await self.tell(PlanPatch(plan=Plan(id="main", entries=entries)))

    async def begin(self, call: dict[str, Any]) -> None:
        await self.tell(ToolCallPatch(id=call["id"], title=call["title"], kind=call["kind"], status="pending"))
        await self.tell(ToolCallPatch(id=call["id"], status="in_progress"))

    async def read(self, call: dict[str, Any]) -> None:
        await self.begin(call)
        text = FILE["before"]
        if self.client.read_files:
            asked = ReadFile(session_id=self.session.id, path=FILE["path"], line=1, limit=2)
            text = (await self.agent.ask(asked)).content
        await self.tell(ToolCallAppend(id=call["id"], item=ContentItem(content=Text(text))))
        await self.tell(ToolCallPatch(id=call["id"], status="completed"))

    async def edit(self, call: dict[str, Any]) -> None:
        await self.begin(call)
        path, before, after = FILE["path"], FILE["before"], FILE["after"]
        change = FileChange(operation="modify", path=path, old_text=before, new_text=after)
        diff = Diff(changes=[change], patch=DiffPatch(format=GIT_PATCH, text=git_patch(path, before, after)))
        await self.tell(ToolCallPatch(id=call["id"], content=[diff]))
        if await self.allowed(call["id"]):
            if self.client.write_files:
                await self.agent.ask(WriteFile(session_id=self.session.id, path=path, content=after))
            await self.tell(ToolCallPatch(id=call["id"], status="completed"))
        else:
            await self.tell(ToolCallPatch(id=call["id"], status="failed"))

    async def allowed(self, call_id: str) -> bool:
        call = ToolCallPatch(id=call_id, title=STORY["edit"]["title"], status="pending")
        asked = PermissionRequest(
            session_id=self.session.id,
            title="May the notes be changed?",
            subject=ToolCallSubject(call=call),
            options=[
                PermissionOption(id=each["id"], name=each["name"], kind=each["kind"]) for each in STORY["options"]
            ],
        )
        self.session.transcript.apply(call)
        await self.tell(StatePatch(state=State(state="requires_action")))
        answer: PermissionAnswer = await self.agent.ask(asked)
        await self.tell(StatePatch(state=State(state="running")))
        return answer.outcome == "selected" and answer.option_id == "yes"

    async def run(self, call: dict[str, Any]) -> None:
        await self.begin(call)
        output = await (self.run_at_client(call) if self.client.terminals else self.run_here(call))
        await self.tell(ToolCallPatch(id=call["id"], status="completed", raw_output=output))

    async def run_at_client(self, call: dict[str, Any]) -> dict[str, Any]:
        session_id = self.session.id
        asked = CreateTerminal(
            session_id=session_id,
            command=COMMAND["command"],
            args=COMMAND["args"],
            env={"LANG": "C"},
            cwd=STORY["cwd"],
            output_byte_limit=1000,
        )
        terminal_id = (await self.agent.ask(asked)).terminal_id
        await self.tell(ToolCallPatch(id=call["id"], content=[TerminalItem(terminal_id=terminal_id)]))
        ended = await self.agent.ask(WaitForExit(session_id=session_id, terminal_id=terminal_id))
        shown = await self.agent.ask(ReadTerminal(session_id=session_id, terminal_id=terminal_id))
        await self.agent.ask(ReleaseTerminal(session_id=session_id, terminal_id=terminal_id))
        return {"output": shown.output, "code": ended.code}

    async def run_here(self, call: dict[str, Any]) -> dict[str, Any]:
        await self.tell(TerminalPatch(id=TERMINAL, command=COMMAND["command"], cwd=STORY["cwd"]))
        await self.tell(ToolCallPatch(id=call["id"], content=[TerminalItem(terminal_id=TERMINAL)]))
        output = COMMAND["output"].encode()
        for place in range(0, len(output), 5):  # cuts the check mark in two
            await self.tell(TerminalAppend(id=TERMINAL, data=output[place : place + 5]))
        await self.tell(TerminalPatch(id=TERMINAL, exit=Exit(code=COMMAND["code"])))
        return {"output": COMMAND["output"], "code": COMMAND["code"]}

    async def question(self) -> None:
        schema = {"properties": {QUESTION["field"]: {"type": "string"}}, "required": [QUESTION["field"]]}
        asked = ElicitationRequest(message=QUESTION["message"], mode="form", session_id=self.session.id, schema=schema)
        answer: ElicitationAnswer = await self.agent.ask(asked)
        assert answer.action == "accept"
        assert answer.content == {QUESTION["field"]: QUESTION["answer"]}
