"""An agent with two modes and a slash command. Have an editor run it: python modes_and_commands.py

Tell it what to do, step by step: "tidy up, run the tests". In one mode it makes a plan, in the other it carries it out.
"""

from __future__ import annotations

from accord import Agent, PlanEntry, Turn

agent = Agent("planner", version="1.0")
agent.option("mode", choices=[("plan", "Only plan"), ("work", "Plan and do")])


@agent.prompt
async def answer(turn: Turn) -> None:
    turn.session.state["steps"] = [step.strip() for step in turn.text.split(",")]
    await turn.plan(turn.session.state["steps"])
    if turn.options["mode"] == "work":
        await work(turn)


@agent.command("go", "Carry out the plan, and whatever comes next at once")
async def go(turn: Turn) -> None:
    await turn.set_mode("work")
    await work(turn)


async def work(turn: Turn) -> None:
    steps: list[str] = turn.session.state.pop("steps", [])
    for done in range(1, len(steps) + 1):
        finished = [PlanEntry(content=step, status="completed") for step in steps[:done]]
        await turn.plan([*finished, *steps[done:]])
    await turn.say(f"Did {len(steps)} steps." if steps else "There is no plan.")


if __name__ == "__main__":
    agent.run()
