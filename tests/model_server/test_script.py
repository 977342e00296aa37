from __future__ import annotations

from typing import Any

import pytest

from tests.model_server.script import Script, Seen


def seen(
    last_user: str = "", *, result: bool = False, api: str = "anthropic", model: str = "m", body: Any = None
) -> Seen:
    return Seen(api, model, last_user, result, body)


def text(script: Script, request: Seen) -> str | None:
    reply = script.next(request)
    return None if reply is None else reply.parts[0].whole


def test_replies_come_in_order_and_then_no_more():
    script = Script([{"parts": [{"text": "one"}]}, {"parts": [{"text": "two"}]}])
    assert [text(script, seen()) for _ in range(3)] == ["one", "two", None]


def test_a_reply_waits_for_the_request_that_it_is_for():
    script = Script(
        [
            {"when": {"tool_result": True}, "parts": [{"text": "after a tool"}]},
            {"when": {"last_user": "weather"}, "parts": [{"text": "sunny"}]},
            {"when": {"api": "google"}, "parts": [{"text": "to google"}]},
            {"when": {"request": 5}, "parts": [{"text": "the fifth"}]},
            {"when": {"model": "other"}, "parts": [{"text": "to the other"}]},
        ]
    )
    assert text(script, seen("the weather?")) == "sunny"
    assert text(script, seen("the weather?")) is None
    assert text(script, seen(result=True)) == "after a tool"
    assert text(script, seen(api="google")) == "to google"
    assert text(script, seen()) == "the fifth"
    assert text(script, seen(model="other")) == "to the other"


def test_what_is_asked_on_the_side_does_not_use_up_the_story():
    script = Script(
        [{"when": {"tools": False}, "times": 0, "parts": [{"text": "A title"}]}, {"parts": [{"text": "Hi"}]}]
    )
    bodies: list[Any] = [{}, {"tools": [{"name": "read"}]}, {"tools": []}]
    assert [text(script, seen(body=body)) for body in bodies] == ["A title", "Hi", "A title"]


def test_a_reply_can_be_used_again():
    script = Script([{"times": 2, "parts": [{"text": "twice"}]}, {"times": 0, "parts": [{"text": "always"}]}])
    assert [text(script, seen()) for _ in range(5)] == ["twice", "twice", "always", "always", "always"]


def test_a_text_is_cut_into_words_and_loses_nothing():
    reply = Script([{"parts": [{"text": " One two\n\nthree "}]}]).next(seen())
    assert reply is not None
    assert reply.parts[0].pieces == [" One", " two", "\n\nthree "]


@pytest.mark.parametrize("wrong", [{"part": []}, {"parts": [{"txt": "a"}]}])
def test_a_script_that_is_wrong_says_so_at_once(wrong: dict[str, object]):
    with pytest.raises(ValueError):
        Script([wrong])
