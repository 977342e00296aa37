"""The wire of each API as its documentation has it. That the providers' own libraries read it is tested with the models."""

from __future__ import annotations

import asyncio
import http.client
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.model_server.server import ModelServer

HELLO = [
    {"times": 0, "parts": [{"thinking": "Hm"}, {"text": ["Hel", "lo"]}, {"tool": "read", "arguments": {"path": "a"}}]}
]
ROUTES = {
    "openai-chat": ("/v1/chat/completions", {"messages": [{"role": "user", "content": "hi"}]}),
    "openai-responses": ("/v1/responses", {"input": "hi"}),
    "anthropic": ("/v1/messages?beta=true", {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 9}),
    "google": ("/v1beta/models/gemini:streamGenerateContent?alt=sse", {"contents": [{"parts": [{"text": "hi"}]}]}),
}
every_api = pytest.mark.parametrize("api", ROUTES)


async def request(
    server: ModelServer, method: str, path: str, body: Any = None, **headers: str
) -> tuple[int, Any, str]:
    """Status, headers and text of an answer."""

    def send() -> tuple[int, Any, str]:
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        with connection.getresponse() as response:
            told = (response.status, dict(response.getheaders()), response.read().decode())
        connection.close()
        return told

    return await asyncio.to_thread(send)


def events_of(text: str) -> list[tuple[str, Any]]:
    """The events of a stream: name and data."""
    found: list[tuple[str, Any]] = []
    for block in text.replace("\r\n", "\n").strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        data = fields["data"]
        found.append((fields.get("event", ""), data if data == "[DONE]" else json.loads(data)))
    return found


async def stream(api: str) -> list[tuple[str, Any]]:
    path, body = ROUTES[api]
    async with ModelServer(HELLO) as server:
        status, headers, text = await request(server, "POST", path, {**body, "model": "m", "stream": True})
    assert (status, headers["Content-Type"]) == (200, "text/event-stream")
    return events_of(text)


async def test_the_chat_api_streams_chunks_and_ends_with_done():
    events = [data for _, data in await stream("openai-chat")]
    assert events[-1] == "[DONE]"
    deltas = [event["choices"][0]["delta"] for event in events[:-1]]
    assert deltas[0]["role"] == "assistant"
    assert "".join(delta.get("content") or "" for delta in deltas) == "Hello"
    assert "".join(delta.get("reasoning_content", "") for delta in deltas) == "Hm"
    calls = [delta["tool_calls"][0] for delta in deltas if "tool_calls" in delta]
    assert (calls[0]["function"]["name"], calls[0]["id"]) == ("read", "call_1_2")
    assert "".join(call["function"]["arguments"] for call in calls) == '{"path": "a"}'
    assert events[-2]["choices"][0]["finish_reason"] == "tool_calls"


async def test_the_chat_api_tells_usage_only_if_it_is_asked_to():
    path, body = ROUTES["openai-chat"]
    asked = {**body, "stream": True, "stream_options": {"include_usage": True}}
    async with ModelServer(HELLO) as server:
        _, _, text = await request(server, "POST", path, asked)
    assert events_of(text)[-2][1]["usage"] == {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    assert not any("usage" in data for _, data in await stream("openai-chat"))


async def test_the_messages_api_names_its_events():
    names = [name for name, _ in await stream("anthropic")]
    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    assert [name for index, name in enumerate(names) if name != names[index - 1]] == [
        "message_start",
        "ping",
        *block,
        *block,
        *block,
        "message_delta",
        "message_stop",
    ]
    assert all(data["type"] == name for name, data in await stream("anthropic"))


async def test_every_message_has_an_id_of_its_own():
    async with ModelServer(HELLO) as server:
        path, body = ROUTES["anthropic"]
        told = [json.loads((await request(server, "POST", path, body))[2]) for _ in range(2)]
        assert told[0]["id"] != told[1]["id"]
        path, body = ROUTES["openai-responses"]
        told = [json.loads((await request(server, "POST", path, body))[2]) for _ in range(2)]
        assert len({item["id"] for each in told for item in each["output"]}) == 6


async def test_what_an_agent_reminds_the_model_of_is_not_what_the_user_said():
    said = [
        {"role": "user", "content": text} for text in ("hi", "<system-reminder>\nIt is Monday.\n</system-reminder>")
    ]
    async with ModelServer([{"when": {"last_user": "hi"}, "parts": [{"text": "Hello"}]}]) as server:
        status, _, _ = await request(server, "POST", "/v1/chat/completions", {"messages": said})
    assert status == 200


async def test_the_responses_api_numbers_its_events():
    events = await stream("openai-responses")
    numbers = [data["sequence_number"] for _, data in events]
    assert numbers == sorted(set(numbers))
    assert [events[0][0], events[-1][0]] == ["response.created", "response.completed"]
    assert [item["type"] for item in events[-1][1]["response"]["output"]] == ["reasoning", "message", "function_call"]


async def test_googles_api_has_no_names_and_ends_with_a_reason():
    events = await stream("google")
    assert {name for name, _ in events} == {""}
    parts = [part for _, data in events for part in data["candidates"][0]["content"]["parts"]]
    assert "".join(part.get("text", "") for part in parts if not part.get("thought")) == "Hello"
    assert events[-1][1]["candidates"][0]["finishReason"] == "STOP"
    assert events[-1][1]["usageMetadata"]["totalTokenCount"] == 15


@every_api
async def test_every_api_answers_whole_too(api: str):
    path, body = ROUTES[api]
    path = path.replace("streamGenerateContent", "generateContent")
    async with ModelServer(HELLO) as server:
        status, headers, text = await request(server, "POST", path, {**body, "model": "m"})
    assert (status, headers["Content-Type"]) == (200, "application/json")
    for words in ("Hm", "Hello", "read", "path"):
        assert words in json.dumps(json.loads(text))


@every_api
async def test_a_request_without_a_reply_is_told_so(api: str):
    path, body = ROUTES[api]
    async with ModelServer([]) as server:
        status, _, text = await request(server, "POST", path, {**body, "stream": True})
    assert status == 400
    assert "the script has no reply to request 1, which ends in 'hi'" in json.loads(text)["error"]["message"]


@every_api
async def test_a_status_comes_with_the_errors_of_its_api(api: str):
    path, body = ROUTES[api]
    async with ModelServer([{"fault": "status", "status": 429, "retry_after": 3, "message": "slowly"}]) as server:
        status, headers, text = await request(server, "POST", path, body)
    assert (status, headers["Retry-After"]) == (429, "3")
    assert json.loads(text)["error"]["message"] == "slowly"


@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("HEAD", "/"), ("GET", "/health"), ("HEAD", "/health")])
async def test_it_says_that_it_is_there(method: str, path: str):
    async with ModelServer([]) as server:
        assert (await request(server, method, path))[0] == 200


@pytest.mark.parametrize(
    ("path", "headers", "member"),
    [
        ("/v1/models", {}, "data"),
        ("/v1/models", {"anthropic-version": "2023-06-01"}, "data"),
        ("/v1beta/models", {}, "models"),
    ],
)
async def test_the_models_of_the_script_are_listed(path: str, headers: dict[str, str], member: str):
    async with ModelServer({"models": ["one", "two"], "replies": []}) as server:
        _, _, text = await request(server, "GET", path, **headers)
    assert len(json.loads(text)[member]) == 2


@pytest.mark.parametrize("path", ["/v1/messages/count_tokens", "/v1beta/models/gemini:countTokens"])
async def test_tokens_are_counted_roughly(path: str):
    async with ModelServer([]) as server:
        status, _, text = await request(server, "POST", path, {"messages": "x" * 400})
    assert status == 200
    assert next(iter(json.loads(text).values())) > 100


async def test_what_is_served_nowhere_is_told_so():
    async with ModelServer([]) as server:
        status, _, text = await request(server, "GET", "/v2/nothing")
    assert status == 404
    assert "GET /v2/nothing" in text


async def test_it_records_what_was_asked():
    path, body = ROUTES["anthropic"]
    async with ModelServer(HELLO) as server:
        await request(server, "POST", path, body)
        _, _, text = await request(server, "GET", "/requests")
    (record,) = json.loads(text)
    assert (record["api"], record["path"], record["body"], record["ended"]) == ("anthropic", path, body, "whole")


def test_it_is_a_program_of_its_own(tmp_path: Path):
    script = tmp_path / "script.json"
    script.write_text(json.dumps(HELLO), encoding="utf-8")
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-S", "-m", "tests.model_server", "--script", str(script)]  # -S: only what Python brings
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=root) as program:
        assert program.stdout is not None
        told = json.loads(program.stdout.readline())
        connection = http.client.HTTPConnection("127.0.0.1", told["port"])
        connection.request("POST", "/v1/chat/completions", json.dumps({"messages": [], "model": "m"}))
        assert "Hello" in connection.getresponse().read().decode()
        connection.close()
        program.terminate()
