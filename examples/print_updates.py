"""A client that prints what an agent does: python print_updates.py "What to do" python echo_agent.py

What the agent may do is asked on the terminal. Ctrl-C cancels the turn.
"""

from __future__ import annotations

import asyncio
import sys

from accord import Client, MessageChunk, PlanChanged, TerminalOutput, ToolCallChanged, Workspace, permissions

ask = permissions.ask(lambda request: input(f"{request.title}? (y/n) ") == "y")


async def main(prompt: str, *command: str) -> None:
    workspace = Workspace(on_terminal=lambda event: print(event.data.decode(errors="replace"), end=""))
    async with Client(command, on_permission=ask, workspace=workspace) as client:
        session = await client.new_session(cwd=".")
        reply = session.prompt(prompt)
        try:
            async for update in reply:
                match update:
                    case MessageChunk(role="agent", text=text):
                        print(text, end="", flush=True)
                    case PlanChanged(plan=plan):
                        print("Plan:", ", ".join(f"{step.content} ({step.status})" for step in plan.entries))
                    case ToolCallChanged(call=call):
                        print(f"[{call.status}] {call.title}")
                    case TerminalOutput(data=data):
                        print(data.decode(errors="replace"), end="", flush=True)
        except asyncio.CancelledError:  # Ctrl-C: the agent is told, and has the last word
            await reply.cancel()
        print(f"\n({(await reply).stop_reason})")


asyncio.run(main(*sys.argv[1:]))
