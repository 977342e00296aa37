"""An agent that asks before it changes a file, and shows the change. Have an editor run it: python permission_and_diff.py

Whatever it is told it writes into notes.md: with the client's files where it offers them, on the disk otherwise.
"""

from __future__ import annotations

from accord import Agent, Turn

agent = Agent("notebook", version="1.0")


@agent.prompt
async def write_down(turn: Turn) -> None:
    path = turn.cwd / "notes.md"
    try:
        before = await turn.files.read(path)
    except FileNotFoundError:
        before = None
    after = f"{before or ''}- {turn.text}\n"

    async with turn.tool_call("Write into notes.md", kind="edit", diff=(path, before, after)) as call:
        allowed = await turn.allowed(call)
        if allowed:
            await turn.files.write(path, after)
    await turn.say(f"I wrote down: {turn.text}" if allowed else "As you like.")


if __name__ == "__main__":
    agent.run()
