"""`accord run --batch`: several prompts in one session, and a result for each line."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from accord.apps.console.errors import ExitStatus
from accord.session.updates import ToolCallPatch, UsagePatch
from accord.testing import ScriptedAgent, program


def text_of(asked: Any) -> str:
    return asked.params["prompt"][0]["text"]


def repeating(version: Any = 2) -> ScriptedAgent:
    """Says each prompt again, with a tool call and its usage."""
    agent = ScriptedAgent(version)

    def answer(asked: Any) -> None:
        said = text_of(asked)
        if said == "fail":
            asked.fail(-32603, "The model is down")
            return
        agent.begin(asked)
        agent.tell(
            ToolCallPatch(id=f"c-{said}", title=f"Look at {said}", kind="read", status="completed", creates=True)
        )
        agent.tell(UsagePatch(used=10, size=100))
        agent.say(said)
        agent.finish(asked, "refusal" if said == "refuse" else "end_turn")

    agent.on("session/prompt", answer)
    return agent


def lines(*prompts: Any) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in prompts)


class TestResults:
    async def test_each_prompt_gets_one_in_order_and_in_one_session(self, typed, version):
        agent = repeating(version)
        given = lines({"prompt": "one", "id": "a"}, {"prompt": "two", "note": "ignored"})
        async with program(agent) as command:
            finished = await typed("run", "--batch", "-", "--", *command.args, stdin=given)
        assert finished.status == 0
        first, second = finished.events
        assert first == {
            "line": 1,
            "id": "a",
            "exit": 0,
            "stop_reason": "end_turn",
            "text": "one",
            "tool_calls": [
                {
                    "id": "c-one",
                    "title": "Look at one",
                    "name": None,
                    "kind": "read",
                    "status": "completed",
                    "locations": [],
                    "content": [],
                    "raw_input": None,
                    "raw_output": None,
                    "ended_without_result": False,
                }
            ],
            "files_changed": [],
            "usage": {"meta": None, "used": 10, "size": 100, "cost": None},
            "token_usage": None,
            "seconds": first["seconds"],
            "session_id": agent.session_id,
            "error": None,
        }
        assert (second["line"], second["id"], second["text"]) == (2, None, "two")
        assert [call["id"] for call in second["tool_calls"]] == ["c-two"]
        assert len(agent.calls("session/new")) == 1
        assert finished.notes[1:] == ["line 1: done", "line 2: done", "2 lines, 0 failed"]

    async def test_come_as_soon_as_they_are_known(self, start):
        async with program(repeating()) as command:
            process = await start("run", "--batch", "-", "--", *command.args, stdin=asyncio.subprocess.PIPE)
            for word in ("one", "two"):
                process.stdin.write(lines({"prompt": word}))
                assert json.loads(await process.stdout.readline())["text"] == word
            process.stdin.close()
            assert await process.wait() == 0

    async def test_tell_the_tokens_of_each_prompt(self, typed):
        agent = ScriptedAgent(1)

        def answer(asked: Any) -> dict[str, Any]:
            agent.say("Hm")
            return {"stopReason": "end_turn", "usage": {"totalTokens": 3, "inputTokens": 2, "outputTokens": 1}}

        agent.on("session/prompt", answer)
        async with program(agent) as command:
            finished = await typed("run", "-q", "--batch", "-", "--", *command.args, stdin=lines({"prompt": "x"}))
        assert finished.events[0]["token_usage"]["total"] == 3
        assert finished.err == ""

    async def test_go_to_a_file_as_well(self, typed, project: Path):
        (project / "cases.jsonl").write_bytes(lines({"prompt": "one"}, {"prompt": "fail"}))
        async with program(repeating()) as command:
            finished = await typed("run", "--batch", "cases.jsonl", "--output", "results.jsonl", "--", *command.args)
        assert (finished.status, finished.out) == (1, "")
        written = (project / "results.jsonl").read_text().splitlines()
        assert [json.loads(line)["exit"] for line in written] == [0, 1]


class TestErrors:
    async def test_a_bad_line_is_told_with_its_number_and_the_next_one_follows(self, typed):
        given = b'{"prompt": "one"}\nnonsense\n\n[1]\n{"id": 5}\n{"prompt": " "}\n\xff\n{"prompt": "two"}'
        async with program(repeating()) as command:
            finished = await typed("run", "-q", "--batch", "-", "--", *command.args, stdin=given)
        assert finished.status == 1
        told = [(result["line"], result["exit"], result["id"]) for result in finished.events]
        assert told == [(1, 0, None), (2, 2, None), (4, 2, None), (5, 2, 5), (6, 2, None), (7, 2, None), (8, 0, None)]
        reasons = [result["error"]["reason"] for result in finished.events if result["error"]]
        assert reasons[0].startswith("line 2: not JSON: ")
        assert reasons[1:4] == [
            'line 4: not a JSON object such as {"prompt": "..."}',
            'line 5: no "prompt": it must be a text that is not empty',
            'line 6: no "prompt": it must be a text that is not empty',
        ]
        assert finished.err.splitlines() == reasons

    async def test_a_prompt_that_fails_does_not_end_the_batch(self, typed, version):
        given = lines({"prompt": "fail", "id": 1}, {"prompt": "refuse", "id": 2}, {"prompt": "one", "id": 3})
        async with program(repeating(version)) as command:
            finished = await typed("run", "--batch", "-", "--", *command.args, stdin=given)
        assert finished.status == 1
        assert [(each["id"], each["exit"], each["stop_reason"]) for each in finished.events] == [
            (1, 1, None),
            (2, 5, "refusal"),
            (3, 0, "end_turn"),
        ]
        assert "The model is down" in finished.events[0]["error"]["reason"]
        assert finished.err.endswith("3 lines, 2 failed\n")

    async def test_an_agent_that_ends_does(self, typed, project: Path):
        (project / "agent.py").write_text(
            "from accord import Agent\nimport os\nagent = Agent('short')\n"
            "@agent.prompt\nasync def answer(turn):\n    if turn.text == 'die': os._exit(3)\n    await turn.say('ok')\n"
            "agent.run()\n"
        )
        given = lines({"prompt": "one"}, {"prompt": "die"}, {"prompt": "two"})
        finished = await typed("run", "--batch", "-", "--", sys.executable, "agent.py", stdin=given)
        assert finished.status == ExitStatus.AGENT_GONE, finished
        assert [each["exit"] for each in finished.events] == [0, ExitStatus.AGENT_GONE]

    async def test_each_prompt_has_its_own_time(self, typed):
        agent = ScriptedAgent(2)
        open_turns: list[Any] = []

        def answer(asked: Any) -> None:
            agent.begin(asked)
            agent.say(text_of(asked))
            if text_of(asked) == "slow":
                open_turns.append(asked)
            else:
                agent.finish(asked)

        agent.on("session/prompt", answer)
        agent.on("session/cancel", lambda asked: agent.finish(open_turns.pop(), "cancelled"))
        async with program(agent) as command:
            given = lines({"prompt": "slow"}, {"prompt": "quick"})
            finished = await typed("run", "--timeout", "1", "--batch", "-", "--", *command.args, stdin=given)
        assert finished.status == 1
        slow, quick = finished.events
        assert (slow["exit"], slow["stop_reason"], slow["text"]) == (124, "cancelled", "slow")
        assert slow["error"]["reason"] == "the time is up: 1 s"
        assert (quick["exit"], quick["text"]) == (0, "quick")

    async def test_ctrl_c_ends_the_turn_and_the_batch(self, start, project: Path):
        agent = ScriptedAgent(2)
        open_turns: list[Any] = []

        def answer(asked: Any) -> None:
            agent.begin(asked)
            agent.say("Half of")
            open_turns.append(asked)

        agent.on("session/prompt", answer)
        agent.on("session/cancel", lambda asked: agent.finish(open_turns.pop(), "cancelled"))
        (project / "cases.jsonl").write_bytes(lines({"prompt": "one"}, {"prompt": "two"}))
        async with program(agent) as command:
            process = await start("run", "--batch", "cases.jsonl", "--", *command.args)
            await agent.seen("session/prompt")
            process.send_signal(signal.SIGINT)
            out, _ = await process.communicate()
        assert process.returncode == ExitStatus.INTERRUPTED
        (result,) = [json.loads(line) for line in out.splitlines()]
        assert (result["exit"], result["stop_reason"], result["text"]) == (130, "cancelled", "Half of")

    async def test_ctrl_c_while_no_prompt_runs_ends_it_at_once(self, start):
        async with program(repeating()) as command:
            process = await start("run", "--batch", "-", "--", *command.args, stdin=asyncio.subprocess.PIPE)
            process.stdin.write(lines({"prompt": "one"}))
            await process.stdout.readline()
            process.send_signal(signal.SIGINT)
            assert await process.wait() == ExitStatus.INTERRUPTED


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--batch", "cases.jsonl", "Hi"], "--batch and a PROMPT are mutually exclusive"),
        (["--batch", "cases.jsonl", "--json"], "--batch and --json are mutually exclusive"),
        (["--batch", "cases.jsonl", "--file", "notes.md"], "--batch and --file are mutually exclusive"),
        (["--batch", "missing.jsonl"], "--batch: missing.jsonl can't be read: No such file or directory"),
        (["--batch", "."], "--batch: . is a directory"),
        (["--batch", "/dev/null"], "there is no prompt in /dev/null"),
    ],
)
async def test_what_can_not_be_a_batch(typed, project: Path, words, said):
    (project / "cases.jsonl").write_bytes(lines({"prompt": "one"}))
    finished = await typed("run", *words)
    assert finished.status == 2
    assert said in finished.err
