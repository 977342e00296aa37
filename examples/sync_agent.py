"""An agent of plain functions, for libraries that block: they run in a thread. Have an editor run it: python sync_agent.py

Tell it a pattern such as *.py, and it counts the lines of the files there are.
"""

from __future__ import annotations

from accord import Agent, SyncTurn

agent = Agent("counter", version="1.0")


@agent.prompt
def count(turn: SyncTurn) -> None:
    total = 0
    with turn.tool_call(f"Count the lines of {turn.text}", kind="search") as call:
        for path in sorted(turn.cwd.glob(turn.text)):
            lines = len(turn.files.read(path).splitlines())
            call.locate(path)
            call.say(f"{path.name}: {lines}")
            total += lines
    turn.say(f"{total} lines.")


if __name__ == "__main__":
    agent.run()
