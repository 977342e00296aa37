"""A small agent that keeps the whole checklist."""

from accord import Agent, Turn
from accord.store import MemoryStore

agent = Agent("small", version="1.0", store=MemoryStore())
agent.option("mode", choices=["ask", "code"])


@agent.login("key", name="With a key")
def log_in() -> None: ...


@agent.command("list", "List the files")
async def list_files(turn: Turn) -> None:
    await turn.say((await turn.run("ls")).output)


@agent.prompt
async def work(turn: Turn) -> None:
    await turn.plan(["Read", "Answer"])
    async with turn.tool_call("Read the note", kind="read", locations=["note.txt"]) as call:
        if await turn.allowed(call):
            await call.locate("note.txt", 2)
            await call.say(await turn.files.read("note.txt", line=2, limit=1))
    await turn.set_mode("code")
    await turn.say(f"Done: {turn.whole_text}")


if __name__ == "__main__":
    agent.run()
