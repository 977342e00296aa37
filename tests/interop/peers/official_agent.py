"""An agent made with the official Python SDK. The first block of a prompt says what it should do."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any, cast

import acp
from acp import schema

STORY = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
FILE, COMMAND = STORY["file"], STORY["command"]


class StoryAgent:
    """What it does not have, the SDK answers with -32601."""

    def __init__(self) -> None:
        self.cancels: dict[str, asyncio.Event] = {}
        self.logged_in = False

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, **_: Any) -> acp.InitializeResponse:
        return acp.InitializeResponse(
            protocol_version=acp.PROTOCOL_VERSION,
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                prompt_capabilities=schema.PromptCapabilities(embedded_context=True),
                session_capabilities=schema.SessionCapabilities(list=schema.SessionListCapabilities()),
            ),
            auth_methods=[schema.AuthMethodAgent(id="key", name="With a key")],
            agent_info=schema.Implementation(name="official", version="0.12.1"),
        )

    async def authenticate(self, method_id: str, **_: Any) -> schema.AuthenticateResponse:
        if method_id != "key":
            raise acp.RequestError.invalid_params({"methodId": method_id})
        self.logged_in = True
        return schema.AuthenticateResponse()

    async def new_session(self, cwd: str, **_: Any) -> acp.NewSessionResponse:
        if cwd == STORY["locked"] and not self.logged_in:
            raise acp.RequestError.auth_required({"reason": "auth_required"})
        session_id = f"session-{len(self.cancels)}"
        self.cancels[session_id] = asyncio.Event()
        mode = schema.SessionMode(id=STORY["mode"]["id"], name=STORY["mode"]["name"])
        modes = schema.SessionModeState(
            available_modes=[schema.SessionMode(id="quick", name="Quick"), mode], current_mode_id="quick"
        )
        return acp.NewSessionResponse(session_id=session_id, modes=modes)

    async def load_session(self, session_id: str, **_: Any) -> schema.LoadSessionResponse:
        if session_id not in self.cancels:
            raise acp.RequestError.resource_not_found(session_id)
        await self.tell(session_id, acp.update_user_message_text("story"))
        for piece in STORY["message"]:
            await self.tell(session_id, acp.update_agent_message_text(piece))
        return schema.LoadSessionResponse()

    async def list_sessions(self, **_: Any) -> schema.ListSessionsResponse:
        sessions = [
            schema.SessionInfo(session_id=each, cwd=STORY["cwd"], title=STORY["title"]) for each in self.cancels
        ]
        return schema.ListSessionsResponse(sessions=sessions)

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> schema.SetSessionModeResponse:
        update = schema.CurrentModeUpdate(current_mode_id=mode_id, session_update="current_mode_update")
        await self.tell(session_id, update)
        return schema.SetSessionModeResponse()

    async def cancel(self, session_id: str, **_: Any) -> None:
        self.cancels[session_id].set()

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> acp.PromptResponse:
        self.cancels[session_id].clear()
        match prompt[0].text.split():
            case ["story"]:
                await self.story(session_id)
            case ["many", count]:
                for number in range(int(count)):
                    await self.tell(session_id, acp.update_agent_message_text(f"{number} "))
            case ["echo"]:
                await self.tell(session_id, acp.update_agent_message_text(prompt[1].text))
            case ["wait"]:
                await self.tell(
                    session_id, acp.start_tool_call("call-wait", "Wait", kind="other", status="in_progress")
                )
                await self.cancels[session_id].wait()
                await self.tell(session_id, acp.update_tool_call("call-wait", status="failed"))
                return acp.PromptResponse(stop_reason="cancelled")
            case ["permission"]:
                outcome = await self.permission(session_id, "call-unseen")
                return acp.PromptResponse(stop_reason="end_turn" if outcome == "yes" else "cancelled")
            case ["refuse"]:
                return acp.PromptResponse(stop_reason="refusal")
            case ["unknown"]:
                await self.unknown(session_id)
            case ["fail"]:
                raise ValueError("the model is gone")
        return acp.PromptResponse(stop_reason="end_turn")

    async def tell(self, session_id: str, update: Any) -> None:
        await self.client.session_update(session_id, update)

    async def story(self, session_id: str) -> None:
        for piece in STORY["thought"]:
            await self.tell(session_id, acp.update_agent_thought_text(piece))
        await self.tell(session_id, acp.update_plan(self.entries("pending")))
        await self.read(session_id, STORY["read"])
        await self.edit(session_id, STORY["edit"])
        await self.run(session_id, STORY["run"])
        await self.tell(session_id, acp.update_plan(self.entries("completed")))
        for piece in STORY["message"]:
            await self.tell(session_id, acp.update_agent_message_text(piece))
        usage = schema.UsageUpdate(session_update="usage_update", **STORY["usage"])
        await self.tell(session_id, usage)
        info = schema.SessionInfoUpdate(session_update="session_info_update", title=STORY["title"])
        await self.tell(session_id, info)

    def entries(self, status: Any) -> list[Any]:
        return [acp.plan_entry(each["content"], priority=each["priority"], status=status) for each in STORY["plan"]]

    async def read(self, session_id: str, call: dict[str, Any]) -> None:
        await self.begin(session_id, call)
        answer = await self.client.read_text_file(session_id, FILE["path"], line=1, limit=2)
        content = [acp.tool_content(acp.text_block(answer.content))]
        await self.tell(session_id, acp.update_tool_call(call["id"], status="completed", content=content))

    async def edit(self, session_id: str, call: dict[str, Any]) -> None:
        await self.begin(session_id, call)
        diff = [acp.tool_diff_content(FILE["path"], FILE["after"], FILE["before"])]
        await self.tell(session_id, acp.update_tool_call(call["id"], content=diff))
        if await self.permission(session_id, call["id"]) == "yes":
            await self.client.write_text_file(session_id, FILE["path"], FILE["after"])
            await self.tell(session_id, acp.update_tool_call(call["id"], status="completed"))
        else:
            await self.tell(session_id, acp.update_tool_call(call["id"], status="failed"))

    async def permission(self, session_id: str, call_id: str) -> str | None:
        options = [
            schema.PermissionOption(option_id=each["id"], name=each["name"], kind=each["kind"])
            for each in STORY["options"]
        ]
        call = schema.ToolCallUpdate(tool_call_id=call_id, title=STORY["edit"]["title"], status="pending")
        answer = await self.client.request_permission(session_id, call, options)
        return getattr(answer.outcome, "option_id", None)

    async def run(self, session_id: str, call: dict[str, Any]) -> None:
        await self.begin(session_id, call)
        created = await self.client.create_terminal(
            session_id, COMMAND["command"], args=COMMAND["args"], cwd=STORY["cwd"], output_byte_limit=1000
        )
        content = [acp.tool_terminal_ref(created.terminal_id)]
        await self.tell(session_id, acp.update_tool_call(call["id"], content=content))
        ended = await self.client.wait_for_terminal_exit(session_id, created.terminal_id)
        shown = await self.client.terminal_output(session_id, created.terminal_id)
        await self.client.release_terminal(session_id, created.terminal_id)
        output = {"output": shown.output, "code": ended.exit_code}
        await self.tell(session_id, acp.update_tool_call(call["id"], status="completed", raw_output=output))

    async def begin(self, session_id: str, call: dict[str, Any]) -> None:
        start = acp.start_tool_call(call["id"], call["title"], kind=call["kind"], status="pending")
        await self.tell(session_id, start)
        await self.tell(session_id, acp.update_tool_call(call["id"], status="in_progress"))

    async def unknown(self, session_id: str) -> None:
        try:
            await self.client.ext_method("accord/nothing", {})
        except acp.RequestError as error:
            method = (error.data or {})["method"]
            await self.tell(session_id, acp.update_agent_message_text(f"{error.code} {method}"))


if __name__ == "__main__":
    asyncio.run(acp.run_agent(cast("Any", StoryAgent())))
