"""An agent made with the official Python SDK. The first block of a prompt says what it should do.

It tells what it has received when it is asked for it by an extension, `_accord/seen`.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from pathlib import Path
from typing import Any, cast

import acp
from acp import schema
from acp.http.asgi import create_asgi_app
from hypercorn.asyncio import serve
from hypercorn.config import Config
from pydantic import BaseModel

STORY = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
PAGE = 2
CALLS = {
    "session/request_permission": ("request_permission", schema.RequestPermissionRequest),
    "fs/read_text_file": ("read_text_file", schema.ReadTextFileRequest),
    "fs/write_text_file": ("write_text_file", schema.WriteTextFileRequest),
    "terminal/create": ("create_terminal", schema.CreateTerminalRequest),
    "terminal/output": ("terminal_output", schema.TerminalOutputRequest),
    "terminal/wait_for_exit": ("wait_for_terminal_exit", schema.WaitForTerminalExitRequest),
    "terminal/kill": ("kill_terminal", schema.KillTerminalRequest),
    "terminal/release": ("release_terminal", schema.ReleaseTerminalRequest),
}


def plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value


class Session:
    def __init__(self, cwd: str, log: list[Any]) -> None:
        self.cwd = cwd
        self.log = log
        self.cancelled = asyncio.Event()
        self.values: dict[str, Any] = {"mode": "quick", "web": False}

    @property
    def modes(self) -> schema.SessionModeState:
        careful = schema.SessionMode(id=STORY["mode"]["id"], name=STORY["mode"]["name"])
        quick = schema.SessionMode(id="quick", name="Quick")
        return schema.SessionModeState(available_modes=[quick, careful], current_mode_id=self.values["mode"])

    @property
    def options(self) -> list[Any]:
        modes = [schema.SessionConfigSelectOption(value=each.id, name=each.name) for each in self.modes.available_modes]
        return [
            schema.SessionConfigOptionSelect(
                type="select",
                id="mode",
                name="Mode",
                category="mode",
                current_value=self.values["mode"],
                options=modes,
            ),
            schema.SessionConfigOptionBoolean(type="boolean", id="web", name="Web", current_value=self.values["web"]),
        ]


class OfficialAgent:
    """What it does not have, the SDK answers with -32601."""

    def __init__(self) -> None:
        self.sessions: dict[str, Session] = {}
        self.seen: list[dict[str, Any]] = []
        self.opened = 0
        self.logged_in = False

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    def note(self, method: str, **params: Any) -> None:
        given = {name: plain(value) for name, value in params.items() if value is not None}
        self.seen.append({"method": method, "params": given})

    async def initialize(
        self, protocol_version: int, client_capabilities: Any, client_info: Any, **_: Any
    ) -> acp.InitializeResponse:
        self.note(
            "initialize",
            protocolVersion=protocol_version,
            clientCapabilities=client_capabilities,
            clientInfo=client_info,
        )
        return acp.InitializeResponse(
            protocol_version=acp.PROTOCOL_VERSION,
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                prompt_capabilities=schema.PromptCapabilities(image=True, audio=True, embedded_context=True),
                mcp_capabilities=schema.McpCapabilities(http=True),
                session_capabilities=schema.SessionCapabilities(
                    list=schema.SessionListCapabilities(),
                    resume=schema.SessionResumeCapabilities(),
                    close=schema.SessionCloseCapabilities(),
                    fork=schema.SessionForkCapabilities(),
                    additional_directories=schema.SessionAdditionalDirectoriesCapabilities(),
                ),
                field_meta={"accord.test": {"seen": True}},
            ),
            auth_methods=[schema.AuthMethodAgent(id="key", name="With a key")],
            agent_info=schema.Implementation(name="official", version="0.12.1", title="Größe"),
        )

    async def authenticate(self, method_id: str, **_: Any) -> schema.AuthenticateResponse:
        self.note("authenticate", methodId=method_id)
        if method_id != "key":
            raise acp.RequestError.invalid_params({"methodId": method_id})
        self.logged_in = True
        return schema.AuthenticateResponse()

    def open(self, cwd: str, log: list[Any]) -> str:
        session_id = f"session-{self.opened}"
        self.opened += 1
        self.sessions[session_id] = Session(cwd, log)
        return session_id

    def session(self, session_id: str) -> Session:
        if session_id not in self.sessions:
            raise acp.RequestError(-32002, "Session not found", {"sessionId": session_id})
        return self.sessions[session_id]

    async def new_session(
        self, cwd: str, mcp_servers: Any = None, additional_directories: Any = None, **_: Any
    ) -> acp.NewSessionResponse:
        self.note("session/new", cwd=cwd, mcpServers=mcp_servers, additionalDirectories=additional_directories)
        if Path(cwd).name == Path(STORY["locked"]).name and not self.logged_in:
            raise acp.RequestError.auth_required({"reason": "auth_required"})
        session_id = self.open(cwd, [])
        session = self.sessions[session_id]
        return acp.NewSessionResponse(session_id=session_id, modes=session.modes, config_options=session.options)

    async def fork_session(self, session_id: str, cwd: str, **_: Any) -> schema.ForkSessionResponse:
        self.note("session/fork", sessionId=session_id, cwd=cwd)
        return schema.ForkSessionResponse(session_id=self.open(cwd, list(self.session(session_id).log)))

    async def load_session(self, session_id: str, cwd: str, **_: Any) -> schema.LoadSessionResponse:
        self.note("session/load", sessionId=session_id, cwd=cwd)
        session = self.session(session_id)
        for update in session.log:
            await self.client.session_update(session_id, update)
        return schema.LoadSessionResponse(modes=session.modes, config_options=session.options)

    async def resume_session(self, session_id: str, cwd: str, **_: Any) -> schema.ResumeSessionResponse:
        self.note("session/resume", sessionId=session_id, cwd=cwd)
        session = self.session(session_id)
        return schema.ResumeSessionResponse(modes=session.modes, config_options=session.options)

    async def close_session(self, session_id: str, **_: Any) -> schema.CloseSessionResponse:
        self.note("session/close", sessionId=session_id)
        self.session(session_id).cancelled.set()
        return schema.CloseSessionResponse()

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_: Any
    ) -> schema.ListSessionsResponse:
        self.note("session/list", cwd=cwd, cursor=cursor)
        begin = int(cursor or 0)
        kept = [(id, each) for id, each in self.sessions.items() if cwd in (None, each.cwd)]
        page = [
            schema.SessionInfo(session_id=id, cwd=each.cwd, title=STORY["title"])
            for id, each in kept[begin : begin + PAGE]
        ]
        further = str(begin + PAGE) if begin + PAGE < len(kept) else None
        return schema.ListSessionsResponse(sessions=page, next_cursor=further)

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> schema.SetSessionModeResponse:
        self.note("session/set_mode", sessionId=session_id, modeId=mode_id)
        self.session(session_id).values["mode"] = mode_id
        update = schema.CurrentModeUpdate(current_mode_id=mode_id, session_update="current_mode_update")
        await self.tell(session_id, update)
        return schema.SetSessionModeResponse()

    async def set_config_option(
        self, session_id: str, config_id: str, value: Any, **_: Any
    ) -> schema.SetSessionConfigOptionResponse:
        self.note("session/set_config_option", sessionId=session_id, configId=config_id, value=value)
        session = self.session(session_id)
        if config_id not in session.values:
            raise acp.RequestError.invalid_params({"field": "configId"})
        session.values[config_id] = value
        return schema.SetSessionConfigOptionResponse(config_options=session.options)

    async def cancel(self, session_id: str, **_: Any) -> None:
        self.note("session/cancel", sessionId=session_id)
        self.session(session_id).cancelled.set()

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        match method:
            case "accord/seen":
                return {"seen": self.seen}
            case "accord/echo":
                return params
            case "accord/boom":
                raise ValueError("the secret cause")
            case _:
                raise acp.RequestError.method_not_found(f"_{method}")

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        self.note(f"_{method}", **params)
        if method == "accord/tell":
            await self.tell_all(params["sessionId"], params["updates"])

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> acp.PromptResponse:
        self.note("session/prompt", sessionId=session_id, prompt=prompt)
        session = self.session(session_id)
        session.cancelled.clear()
        session.log += [acp.update_user_message(block) for block in prompt]
        turn = Turn(self, session_id)
        what, *arguments = prompt[0].text.split()
        reason = await getattr(turn, what)(prompt[1:], *arguments)
        return acp.PromptResponse(stop_reason=reason or "end_turn")

    async def tell(self, session_id: str, update: Any) -> None:
        self.sessions[session_id].log.append(update)
        await self.client.session_update(session_id, update)

    async def tell_all(self, session_id: str, updates: list[Any]) -> None:
        for update in updates:
            notification = schema.SessionNotification.model_validate({"sessionId": session_id, "update": update})
            await self.tell(session_id, notification.update)


class Turn:
    """Each method is something that a prompt can ask for; it gets the blocks after the first, and the words in it."""

    def __init__(self, agent: OfficialAgent, session_id: str) -> None:
        self.agent = agent
        self.client = agent.client
        self.id = session_id
        self.session = agent.sessions[session_id]
        self.path = str(Path(self.session.cwd) / Path(STORY["file"]["path"]).name)

    def tells(self, update: Any) -> Any:
        return self.agent.tell(self.id, update)

    async def say(self, text: str) -> None:
        await self.tells(acp.update_agent_message_text(text))

    async def story(self, _: list[Any]) -> None:
        for piece in STORY["thought"]:
            await self.tells(acp.update_agent_thought_text(piece))
        await self.tells(acp.update_plan(entries("pending")))
        await self.read(STORY["read"])
        await self.edit(STORY["edit"])
        await self.run(STORY["run"])
        await self.tells(acp.update_plan(entries("completed")))
        for piece in STORY["message"]:
            await self.say(piece)
        await self.tells(schema.UsageUpdate(session_update="usage_update", **STORY["usage"]))
        await self.tells(schema.SessionInfoUpdate(session_update="session_info_update", title=STORY["title"]))

    async def read(self, call: dict[str, Any]) -> None:
        await self.begin(call)
        answer = await self.client.read_text_file(self.id, self.path, line=1, limit=2)
        content = [acp.tool_content(acp.text_block(answer.content))]
        await self.tells(acp.update_tool_call(call["id"], status="completed", content=content))

    async def edit(self, call: dict[str, Any]) -> None:
        await self.begin(call)
        file = STORY["file"]
        diff = [acp.tool_diff_content(self.path, file["after"], file["before"])]
        await self.tells(acp.update_tool_call(call["id"], content=diff))
        options = [
            schema.PermissionOption(option_id=each["id"], name=each["name"], kind=each["kind"])
            for each in STORY["options"]
        ]
        asked = schema.ToolCallUpdate(tool_call_id=call["id"], title=call["title"], status="pending")
        answer = await self.client.request_permission(self.id, asked, options)
        if getattr(answer.outcome, "option_id", None) == "yes":
            await self.client.write_text_file(self.id, self.path, file["after"])
            await self.tells(acp.update_tool_call(call["id"], status="completed"))
        else:
            await self.tells(acp.update_tool_call(call["id"], status="failed"))

    async def run(self, call: dict[str, Any]) -> None:
        await self.begin(call)
        command = STORY["command"]
        created = await self.client.create_terminal(
            self.id,
            command["command"],
            args=command["args"],
            env=[schema.EnvVariable(name="LANG", value="C")],
            cwd=self.session.cwd,
            output_byte_limit=1000,
        )
        content = [acp.tool_terminal_ref(created.terminal_id)]
        await self.tells(acp.update_tool_call(call["id"], content=content))
        ended = await self.client.wait_for_terminal_exit(self.id, created.terminal_id)
        shown = await self.client.terminal_output(self.id, created.terminal_id)
        await self.client.release_terminal(self.id, created.terminal_id)
        output = {"output": shown.output, "code": ended.exit_code}
        await self.tells(acp.update_tool_call(call["id"], status="completed", raw_output=output))

    async def begin(self, call: dict[str, Any]) -> None:
        await self.tells(acp.start_tool_call(call["id"], call["title"], kind=call["kind"], status="pending"))
        await self.tells(acp.update_tool_call(call["id"], status="in_progress"))

    async def tell(self, blocks: list[Any]) -> None:
        """Send the updates that the second block holds."""
        await self.agent.tell_all(self.id, json.loads(blocks[0].text))

    async def echo(self, blocks: list[Any]) -> None:
        for block in blocks:
            await self.tells(acp.update_agent_message(block))

    async def many(self, _: list[Any], count: str) -> None:
        for number in range(int(count)):
            await self.say(f"{number} ")

    async def ask(self, blocks: list[Any], method: str) -> None:
        """Ask the client for what the second block holds, and tell what it answered."""
        params = {"sessionId": self.id, **json.loads(blocks[0].text)}
        try:
            answer = {"result": plain(await self.asked(method, params))}
        except acp.RequestError as error:
            answer = {"error": {"code": error.code, "data": error.data}}
        await self.say(json.dumps(answer))

    async def asked(self, method: str, params: dict[str, Any]) -> Any:
        if method.startswith("_"):
            return await self.client.ext_method(method.removeprefix("_"), params)
        if method == "elicitation/create":
            form = "requestedSchema" in params
            mode = schema.ElicitationFormSessionMode if form else schema.ElicitationUrlSessionMode
            members = {key: value for key, value in params.items() if key not in ("message", "mode")}
            return await self.client.create_elicitation(params["message"], mode.model_validate(members))
        name, model = CALLS[method]
        request = model.model_validate(params)
        given = {field: getattr(request, field) for field in request.model_fields_set}
        return await getattr(self.client, name)(**given)

    async def notify(self, blocks: list[Any], method: str) -> None:
        await self.client.ext_notification(method.removeprefix("_"), json.loads(blocks[0].text))

    async def wait(self, _: list[Any]) -> str:
        await self.tells(acp.start_tool_call("call-wait", "Wait", kind="other", status="in_progress"))
        await self.session.cancelled.wait()
        await self.tells(acp.update_tool_call("call-wait", status="failed"))
        return "cancelled"

    async def permission(self, _: list[Any]) -> str:
        """Ask about a call that nobody was told of."""
        options = [schema.PermissionOption(option_id="yes", name="Yes", kind="allow_once")]
        call = schema.ToolCallUpdate(tool_call_id="call-unseen", title=STORY["edit"]["title"], status="pending")
        answer = await self.client.request_permission(self.id, call, options)
        return "end_turn" if answer.outcome.outcome == "selected" else "cancelled"

    async def stop(self, _: list[Any], reason: str) -> str:
        return reason

    async def fail(self, _: list[Any]) -> None:
        raise ValueError("the model is gone")


def entries(status: Any) -> list[Any]:
    return [acp.plan_entry(each["content"], priority=each["priority"], status=status) for each in STORY["plan"]]


async def serve_http() -> None:
    """Over HTTP and WebSocket; says its URL."""
    listener = socket.create_server(("127.0.0.1", 0))
    sys.stderr.write(f"listens on http://127.0.0.1:{listener.getsockname()[1]}/acp\n")
    config = Config()
    config.bind = [f"fd://{listener.detach()}"]
    config.errorlog = None
    await serve(cast("Any", create_asgi_app(lambda _: cast("Any", OfficialAgent()))), config)


if __name__ == "__main__":
    if "ACP_HTTP" in os.environ:
        sys.exit(asyncio.run(serve_http()))
    asyncio.run(acp.run_agent(cast("Any", OfficialAgent()), use_unstable_protocol=True))
