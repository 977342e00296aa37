"""An agent that wraps another program, robot.py: its words become the protocol's. Have an editor run: python adapter.py"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

from accord import Agent, Turn

ROBOT = (sys.executable, str(Path(__file__).with_name("robot.py")))
KINDS = {"cat": "read", "put": "edit", "rm": "delete", "mv": "move", "grep": "search", "sh": "execute", "get": "fetch"}
KINDS |= {"think": "think", "mode": "switch_mode"}
REASONS = {"ready": "end_turn", "tired": "max_turn_requests", "unwilling": "refusal"}
agent = Agent("robot", version="1.0")


@agent.prompt
async def adapt(turn: Turn) -> str:
    pipes: dict[str, Any] = {"stdin": PIPE, "stdout": PIPE, "start_new_session": True}
    robot: Any = await asyncio.create_subprocess_exec(*ROBOT, turn.text, cwd=turn.cwd, **pipes)
    try:
        while "stops" not in (event := json.loads(await robot.stdout.readline())):
            tool, words = event["uses"], event["words"]
            async with turn.tool_call(" ".join([tool, *words]), kind=KINDS.get(tool, "other"), raw_input=event) as call:
                while "done" not in (event := json.loads(await robot.stdout.readline())):
                    robot.stdin.write(b"y\n" if await turn.allowed(call) else b"n\n")
                await (call.say(event["text"]) if event["done"] else call.fail(event["text"]))
        return REASONS[event["stops"]]
    finally:
        if robot.returncode is None:  # it ends with all that it started, whether the turn is over or cancelled
            os.killpg(robot.pid, 9)
        await robot.wait()


agent.run()
