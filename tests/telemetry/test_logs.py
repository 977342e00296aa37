"""Logs as JSON: one object per line, with who and where, without prompts and tokens."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from typing import Any

from accord.telemetry.logs import json_logs
from accord.telemetry.traffic import Traffic
from tests.telemetry.conftest import Conversation


def entries(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_request_is_one_line_with_its_connection_user_and_session(traffic: Traffic):
    stream = io.StringIO()
    with json_logs(stream):
        conversation = Conversation(traffic, user="ada")
        conversation.new_session("s")
        request = conversation.ask("session/prompt", sessionId="s", prompt=[{"type": "text", "text": "very secret"}])
        conversation.answer(request, stopReason="end_turn")
        conversation.tap.ended()
    lines = entries(stream)
    assert [line["message"].split(" of ")[0].split(" by ")[0] for line in lines] == [
        "connected", "session/new", "session/prompt", "disconnected",
    ]  # fmt: skip
    entry = lines[2]
    assert entry["time"].endswith("Z")
    assert (entry["level"], entry["logger"]) == ("info", "accord.traffic")
    assert (entry["connection"], entry["user"], entry["session"]) == ("00000001", "ada", "s")
    assert (entry["method"], entry["outcome"]) == ("session/prompt", "ok")
    assert entry["seconds"] >= 0
    assert "very secret" not in stream.getvalue()
    assert "the-secret-part" not in stream.getvalue()


async def test_whatever_the_task_of_a_connection_logs_names_the_connection(traffic: Traffic):
    stream = io.StringIO()

    async def serve() -> None:
        Conversation(traffic, user="ada")
        await asyncio.create_task(work())

    async def work() -> None:
        logging.getLogger("accord.relay").warning("the process ended")

    with json_logs(stream):
        await asyncio.create_task(serve())
        logging.getLogger("accord.serve").warning("elsewhere")
    inside, outside = entries(stream)[-2:]
    assert (inside["connection"], inside["user"]) == ("00000001", "ada")
    assert "connection" not in outside


def test_tokens_and_passwords_are_hidden_and_lines_stay_lines():
    stream = io.StringIO()
    with json_logs(stream):
        log = logging.getLogger("accord.http")
        log.warning("token accord_%s, header Authorization: Bearer %s", "x" * 43, "y" * 30)
        log.warning("https://ada:secret@example.org/?key=%s\nsecond line", "z" * 20)
        try:
            raise ValueError("Bearer " + "w" * 20)
        except ValueError:
            log.exception("failed")
    text = stream.getvalue()
    assert not any(secret in text for secret in ("xxxx", "yyyy", "secret", "zzzz", "wwww"))
    assert len(entries(stream)) == 3
    assert "ValueError" in entries(stream)[2]["error"]


def test_the_log_is_as_before_when_it_ends():
    own = logging.getLogger("accord")
    before = own.level, list(logging.getLogger().handlers)
    with json_logs(io.StringIO()):
        pass
    assert (own.level, logging.getLogger().handlers) == before


def test_libraries_are_heard_from_warnings_on():
    stream = io.StringIO()
    with json_logs(stream):
        logging.getLogger("hpack").info("frame")
        logging.getLogger("hpack").warning("odd frame")
    assert [entry["logger"] for entry in entries(stream)] == ["hpack"]
