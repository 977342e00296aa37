"""Our agent and the clients made with the official TypeScript SDK, v1 and v2. Each runs once; the tests read its report."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conversations.story import MANY, STORY, TEXT, THOUGHT
from tests.interop.typescript_peer import report_of

pytestmark = [pytest.mark.interop, pytest.mark.timeout(120)]

Report = dict[str, Any]
Update = dict[str, Any]


@pytest.fixture(scope="module")
def v1() -> Report:
    return report_of("client_v1.mjs")


@pytest.fixture(scope="module")
def v2() -> Report:
    return report_of("client_v2.mjs")


@pytest.fixture(params=["v1", "v2"])
def report(request: pytest.FixtureRequest) -> Report:
    return request.getfixturevalue(request.param)


def named(updates: list[Update]) -> list[str]:
    return [update.get("sessionUpdate", update["what"]) for update in updates]


def texts(updates: list[Update], kind: str) -> str:
    return "".join(update["content"]["text"] for update in updates if update.get("sessionUpdate") == kind)


def story_of(report: Report) -> list[Update]:
    story = report["story"]
    return story if isinstance(story, list) else story["updates"]


def test_every_frame_was_as_the_schema_wants_it(report: Report):
    assert report["exitCode"] == 0


def test_the_handshake_of_v1(v1: Report):
    answer = v1["initialize"]
    assert answer["protocolVersion"] == 1
    assert answer["agentInfo"]["title"] == "Erzähler"
    assert answer["agentCapabilities"]["loadSession"] is True


def test_the_handshake_of_v2(v2: Report):
    answer = v2["initialize"]
    assert answer["protocolVersion"] == 2
    assert answer["info"]["title"] == "Erzähler"
    assert answer["capabilities"]["session"]["prompt"] == {"embeddedContext": {}}
    assert answer["authMethods"] == [{"type": "agent", "methodId": "key", "name": "With a key"}]


def test_errors_have_their_codes_and_say_what_they_are_about(report: Report):
    errors = report["errors"]
    assert errors["locked"]["code"] == -32000
    assert errors["locked"]["data"]["reason"] == "auth_required"
    assert errors["method"] == {"code": -32601, "data": {"method": "_accord/nothing"}}
    assert errors["session"] == {"code": -32002, "data": {"sessionId": "none"}}
    assert (errors["relative"]["code"], errors["relative"]["data"]["field"]) == (-32602, "cwd")
    assert (errors["params"]["code"], errors["params"]["data"]["field"]) == (-32602, "sessionId")


def test_a_new_session_comes_with_its_options_and_commands(report: Report):
    assert report["opened"]["configOptions"][0]["currentValue"] == "quick"
    assert report["announced"][0]["availableCommands"][0]["name"] == "review"


def test_switches_are_offered_where_the_client_can_show_them(v1: Report, v2: Report):
    assert len(v1["opened"]["configOptions"]) == 1
    assert len(v2["opened"]["configOptions"]) == 2


def test_a_whole_turn_of_v1_is_told_in_order(v1: Report):
    assert v1["stopReason"] == "end_turn"
    assert named(v1["story"]) == [
        *["agent_thought_chunk"] * 2,
        "plan",
        *["tool_call", "tool_call_update", "fs/read_text_file", "tool_call_update", "tool_call_update"],
        *["tool_call", "tool_call_update", "tool_call_update", "session/request_permission"],
        *["fs/write_text_file", "tool_call_update"],
        *["tool_call", "tool_call_update", "terminal/create", "tool_call_update"],
        *["terminal/wait_for_exit", "terminal/output", "terminal/release", "tool_call_update"],
        "plan",
        *["agent_message_chunk"] * 4,
        *["usage_update", "session_info_update"],
    ]


def test_a_whole_turn_of_v2_is_told_in_order(v2: Report):
    assert named(story_of(v2)) == [
        *["user_message", "state_update"],
        *["agent_thought_chunk"] * 2,
        "plan_update",
        *["tool_call_update", "tool_call_update", "tool_call_content_chunk", "tool_call_update"],
        *["tool_call_update"] * 3,
        *["state_update", "session/request_permission", "state_update", "tool_call_update"],
        *["tool_call_update", "tool_call_update", "terminal_update", "tool_call_update"],
        *["terminal_output_chunk"] * 3,
        *["terminal_update", "tool_call_update"],
        "elicitation/create",
        "plan_update",
        *["agent_message_chunk"] * 4,
        *["usage_update", "session_info_update", "state_update"],
    ]


def test_the_answer_of_v2_names_the_message_that_is_told_back(v2: Report):
    user_message = story_of(v2)[0]
    assert v2["story"]["messageId"] == user_message["messageId"]
    assert user_message["content"] == [{"type": "text", "text": "story"}]


def test_states_follow_the_turn(v2: Report):
    states = [update for update in story_of(v2) if update.get("sessionUpdate") == "state_update"]
    assert [state["state"] for state in states] == ["running", "requires_action", "running", "idle"]
    assert states[-1]["stopReason"] == "end_turn"


def test_a_permission_of_v2_has_a_title_and_a_subject(v2: Report):
    (asked,) = [update for update in story_of(v2) if update["what"] == "session/request_permission"]
    assert asked["title"] == "May the notes be changed?"
    assert asked["subject"]["type"] == "tool_call"
    assert asked["subject"]["toolCall"]["toolCallId"] == STORY["edit"]["id"]
    assert [option["optionId"] for option in asked["options"]] == ["yes", "no"]


def test_texts_are_whole_whatever_is_in_them(report: Report):
    assert texts(story_of(report), "agent_thought_chunk") == THOUGHT
    assert texts(story_of(report), "agent_message_chunk") == TEXT
    assert report["echoed"] is True
    assert report["many"] == "".join(f"{number} " for number in range(MANY))


def test_a_file_of_the_client_is_changed_when_it_was_allowed(v1: Report):
    assert v1["file"] == STORY["file"]["after"]


def test_a_rejection_fails_the_call_and_not_the_turn(report: Report):
    statuses = [update.get("status") for update in report["afterRejection"] if update.get("toolCallId") == "call-edit"]
    assert statuses[-1] == "failed"


def test_a_cancel_of_v1_is_a_stop_reason(v1: Report):
    assert (v1["cancelled"], v1["cancelledCall"]) == ("cancelled", "failed")
    assert v1["cancelledQuestion"] == "cancelled"


def test_a_cancel_of_v2_is_an_idle_state(v2: Report):
    call, idle = v2["cancelled"][-2:]
    assert (call["toolCallId"], call["status"]) == ("call-wait", "cancelled")
    assert (idle["state"], idle["stopReason"]) == ("idle", "cancelled")
    assert v2["cancelledQuestion"][-1]["stopReason"] == "cancelled"


def test_a_refusal_is_told_as_it_is(v1: Report, v2: Report):
    assert v1["refused"] == v2["refused"]["stopReason"] == "refusal"


def test_a_failed_turn_is_an_error_in_v1_and_a_state_in_v2(v1: Report, v2: Report):
    assert v1["failed"]["code"] == -32603
    assert list(v1["failed"]["data"]) == ["correlationId"]
    assert v2["failed"]["stopReason"] == "error"
    assert v2["failed"]["error"]["code"] == -32603


def test_a_method_that_it_does_not_have_is_a_failed_request(report: Report):
    assert report["unknown"] == "-32601"


def test_options_are_set(v1: Report, v2: Report):
    assert v1["mode"] == STORY["mode"]["id"]
    assert v1["options"][0]["currentValue"] == "quick"
    assert v2["options"][0]["currentValue"] == STORY["mode"]["id"]
    assert v2["switched"][1]["currentValue"] is True


def test_a_session_is_told_again(report: Report):
    assert STORY["edit"]["id"] in [update.get("toolCallId") for update in report["loaded"]]
    assert report["list"]["sessions"][1]["title"] == STORY["title"]


def test_a_message_of_v1_is_told_again_in_chunks(v1: Report):
    assert texts(v1["loaded"], "agent_message_chunk").startswith(TEXT)


def test_a_message_of_v2_is_told_again_whole_and_the_state_comes_last(v2: Report):
    messages = [update["content"] for update in v2["loaded"] if update["sessionUpdate"] == "agent_message"]
    assert messages[0] == [{"type": "text", "text": TEXT}]
    assert (v2["loaded"][-1]["sessionUpdate"], v2["loaded"][-1]["state"]) == ("state_update", "idle")
    assert named(v2["resumed"]) == ["state_update"]
