"""Our agent and the clients made with the official TypeScript SDK, v1 and v2. Each runs once; the tests read its report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conversations.story import MANY, STORY, TEXT, THOUGHT
from tests.interop.official_client import SERVED, TRANSPORTS, Transport
from tests.interop.typescript_peer import report_of

pytestmark = pytest.mark.interop

Report = dict[str, Any]
Update = dict[str, Any]
FILE = Path(STORY["file"]["path"]).name
MODE = STORY["mode"]["id"]


def place_of(factory: pytest.TempPathFactory) -> Path:
    place = factory.mktemp("ws") / "größe"
    place.mkdir()
    (place / FILE).write_text(STORY["file"]["before"], encoding="utf-8")
    return place


@pytest.fixture(scope="module", params=[*TRANSPORTS, *SERVED])
def transport(request: pytest.FixtureRequest) -> Transport:
    return request.param


@pytest.fixture(scope="module")
def v1(tmp_path_factory: pytest.TempPathFactory, transport: Transport) -> Report:
    return report_of("client_v1.mjs", place_of(tmp_path_factory), transport)


@pytest.fixture(scope="module")
def v2(tmp_path_factory: pytest.TempPathFactory, transport: Transport) -> Report:
    place = place_of(tmp_path_factory)
    report = report_of("client_v2.mjs", place, transport)
    return {**report, "place": str(place), "file": (place / FILE).read_text(encoding="utf-8")}


@pytest.fixture(params=["v1", "v2"])
def report(request: pytest.FixtureRequest, transport: Transport) -> Report:
    return request.getfixturevalue(request.param)


def named(updates: list[Update]) -> list[str]:
    return [update.get("sessionUpdate", update["what"]) for update in updates]


def told(updates: list[Update], *kinds: str) -> list[Update]:
    return [update for update in updates if update.get("sessionUpdate", update["what"]) in kinds]


def texts(updates: list[Update], kind: str) -> str:
    return "".join(update["content"].get("text", "") for update in told(updates, kind))


def story_of(report: Report) -> list[Update]:
    story = report["story"]
    return story if isinstance(story, list) else story["updates"]


def values_of(options: list[dict[str, Any]]) -> list[Any]:
    return [option["currentValue"] for option in options]


def test_every_frame_was_as_the_schema_wants_it(report: Report):
    assert report["exitCode"] == 0


def test_the_handshake_of_v1(v1: Report):
    answer = v1["initialize"]
    assert answer["protocolVersion"] == 1
    assert answer["agentInfo"] == {"name": "accord-story", "version": "1.0", "title": "Erzähler"}
    can = answer["agentCapabilities"]
    assert can["loadSession"] is True
    assert can["promptCapabilities"] == {"image": True, "audio": True, "embeddedContext": True}
    assert {"list", "delete", "resume", "close", "additionalDirectories"} <= set(can["sessionCapabilities"])
    assert (can["auth"], can["_meta"]) == ({"logout": {}}, {"accord.test": {"echo": True}})


def test_the_handshake_of_v2(v2: Report):
    answer = v2["initialize"]
    assert answer["protocolVersion"] == 2
    assert answer["info"]["title"] == "Erzähler"
    can = answer["capabilities"]
    assert can["session"]["prompt"] == {"image": {}, "audio": {}, "embeddedContext": {}}
    assert can["session"]["mcp"] == {"stdio": {}, "http": {}}
    assert can["_meta"] == {"accord.test": {"echo": True}}
    assert answer["authMethods"] == [{"type": "agent", "methodId": "key", "name": "With a key"}]


def test_logging_in_opens_the_door_and_logging_out_closes_it(report: Report):
    for refused in (report["locked"], report["lockedAgain"]):
        assert (refused["code"], refused["data"]["reason"]) == (-32000, "auth_required")
    assert (report["login"]["code"], report["login"]["data"]["field"]) == (-32602, "methodId")


def test_errors_have_their_codes_and_say_what_they_are_about(report: Report):
    errors = report["errors"]
    assert errors["method"] == {"code": -32601, "data": {"method": "_accord/nothing"}}
    assert errors["session"] == {"code": -32002, "data": {"sessionId": "none"}}
    assert (errors["relative"]["code"], errors["relative"]["data"]["field"]) == (-32602, "cwd")
    assert (errors["params"]["code"], errors["params"]["data"]["field"]) == (-32602, "sessionId")
    assert (errors["boom"]["code"], list(errors["boom"]["data"])) == (-32603, ["correlationId"])


def test_a_new_session_comes_with_its_options_and_commands(report: Report):
    assert values_of(report["opened"]["configOptions"]) == ["quick", False, "good"]
    (command,) = report["announced"][0]["availableCommands"]
    assert (command["name"], command["input"]["hint"]) == ("review", "which file")


def test_a_new_session_of_v1_comes_with_its_modes(v1: Report):
    modes = v1["opened"]["modes"]
    assert (modes["currentModeId"], [mode["id"] for mode in modes["availableModes"]]) == ("quick", ["quick", MODE])


def test_a_whole_turn_of_v1_is_told_in_order(v1: Report):
    assert v1["stopReason"] == "end_turn"
    asked = [each for each in named(v1["story"]) if "/" in each]
    assert asked[:3] == ["fs/read_text_file", "session/request_permission", "fs/write_text_file"]
    assert sorted(asked[-4:]) == [
        *["terminal/create", "terminal/output", "terminal/release", "terminal/wait_for_exit"],
    ]
    assert [each for each in named(v1["story"]) if "/" not in each] == [
        *["agent_thought_chunk"] * 2,
        "plan",
        *["tool_call", *["tool_call_update"] * 4],
        *["tool_call", *["tool_call_update"] * 3],
        *["tool_call", *["tool_call_update"] * 4],
        "plan",
        *["agent_message_chunk"] * 4,
        *["usage_update", "current_mode_update", "config_option_update", "notice", "session_info_update"],
    ]


def test_a_whole_turn_of_v2_is_told_in_order(v2: Report):
    assert named(story_of(v2)) == [
        *["user_message", "state_update"],
        *["agent_thought_chunk"] * 2,
        "plan_update",
        *["tool_call_update", "tool_call_update", "tool_call_content_chunk", "tool_call_update", "tool_call_update"],
        *["tool_call_update", "tool_call_update", "tool_call_content_chunk"],
        *["state_update", "session/request_permission", "state_update", "tool_call_update"],
        *["tool_call_update", "terminal_update", "tool_call_update", "tool_call_content_chunk"],
        *["terminal_output_chunk", "terminal_update", "tool_call_update", "tool_call_update"],
        "plan_update",
        *["agent_message_chunk"] * 4,
        *["usage_update", "config_option_update", "notice", "session_info_update", "state_update"],
    ]


def test_tool_calls_are_told_with_all_that_is_known(report: Report):
    updates = told(story_of(report), "tool_call", "tool_call_update")
    calls = [update for update in updates if update.get("status") == "pending"]
    assert [(call["toolCallId"], call["title"], call["kind"]) for call in calls] == [
        (STORY[name]["id"], STORY[name]["title"], STORY[name]["kind"]) for name in ("read", "edit", "run")
    ]
    assert calls[0]["rawInput"] == {"path": FILE}
    located = [update["locations"] for update in updates if update.get("locations")][-1]
    assert [(Path(place["path"]).name, place.get("line")) for place in located] == [(FILE, None), (FILE, 2)]
    *_, ended = [update for update in updates if "rawOutput" in update]
    assert (ended["status"], ended["rawOutput"]) == ("completed", {"output": STORY["command"]["output"], "code": 0})
    assert [update["status"] for update in updates if update.get("status") == "completed"] == ["completed"] * 3


def test_a_diff_of_v1_has_both_texts(v1: Report):
    shown = [item for update in told(v1["story"], "tool_call_update") for item in update.get("content") or []]
    diffs = [(item["oldText"], item["newText"]) for item in shown if item["type"] == "diff"]
    assert set(diffs) == {(STORY["file"]["before"], STORY["file"]["after"])}
    assert {item["terminalId"] for item in shown if item["type"] == "terminal"} == {"terminal-0"}


def test_a_diff_of_v2_names_the_change_and_shows_a_patch(v2: Report):
    shown = [update["content"] for update in told(story_of(v2), "tool_call_content_chunk")]
    (diff,) = [item for item in shown if item["type"] == "diff"]
    (change,) = diff["changes"]
    assert (change["operation"], change["path"]) == ("modify", f"{v2['place']}/{FILE}")
    assert diff["patch"]["format"] == "git_patch"
    assert "-zwei\n+drei\n" in diff["patch"]["text"]


def test_a_command_of_v2_is_shown_in_a_terminal_of_the_agent(v2: Report):
    terminals = told(story_of(v2), "terminal_update", "terminal_output_chunk")
    assert len({update["terminalId"] for update in terminals}) == 1
    assert terminals[0]["cwd"] == v2["place"]
    assert terminals[-1]["exitStatus"]["exitCode"] == 0


def test_the_answer_of_v2_names_the_message_that_is_told_back(v2: Report):
    user_message = story_of(v2)[0]
    assert v2["story"]["messageId"] == user_message["messageId"]
    assert user_message["content"] == [{"type": "text", "text": "story"}]


def test_states_follow_the_turn(v2: Report):
    states = told(story_of(v2), "state_update")
    assert [state["state"] for state in states] == ["running", "requires_action", "running", "idle"]
    assert states[-1]["stopReason"] == "end_turn"


def test_a_question_has_all_that_is_known_of_its_call(report: Report):
    (asked,) = told(story_of(report), "session/request_permission")
    call = asked["toolCall"] if "toolCall" in asked else asked["subject"]["toolCall"]
    assert (call["toolCallId"], call["title"], call["kind"]) == tuple(
        STORY["edit"][key] for key in ("id", "title", "kind")
    )
    assert [item["type"] for item in call["content"]] == ["diff"]
    kinds = ["allow_once", "allow_always", "reject_once", "reject_always"]
    assert [option["kind"] for option in asked["options"]] == kinds


def test_texts_are_whole_whatever_is_in_them(report: Report):
    assert texts(story_of(report), "agent_thought_chunk") == THOUGHT
    assert texts(story_of(report), "agent_message_chunk") == TEXT
    assert report["big"] is True
    assert report["many"] == "".join(f"{number} " for number in range(MANY))


def test_plans_usage_and_titles_are_told(report: Report):
    story = story_of(report)
    plan = told(story, "plan", "plan_update")[-1]
    entries = plan["entries"] if "entries" in plan else plan["plan"]["entries"]
    assert entries == [{**entry, "status": "completed"} for entry in STORY["plan"]]
    (usage,) = told(story, "usage_update")
    assert (usage["used"], usage["size"]) == (STORY["usage"]["used"], STORY["usage"]["size"])
    assert usage["cost"] == {"amount": 0.5, "currency": "EUR"}
    assert told(story, "session_info_update")[0]["title"] == STORY["title"]
    assert told(story, "notice")[0]["severity"] == "warning"
    assert values_of(told(story, "config_option_update")[0]["configOptions"])[0] == MODE


@pytest.mark.requirement("CONTENT-19", "CHECK-34", "CHECK-35", "CHECK-36")
def test_every_kind_of_content_goes_there_and_back(report: Report):
    assert report["echoed"] == STORY["blocks"]


def test_a_file_is_changed_when_it_was_allowed(v1: Report, v2: Report):
    assert v1["file"] == v2["file"] == STORY["file"]["after"]
    assert v1["fileAfterRejection"] == STORY["file"]["before"]


def test_a_rejection_fails_the_call_and_not_the_turn(report: Report):
    edits = [update for update in report["afterRejection"] if str(update.get("toolCallId")).startswith("call-edit")]
    statuses = [update.get("status") for update in edits]
    assert statuses[-1] == "failed"


def test_each_answer_to_a_question_is_understood_and_always_is_remembered(report: Report):
    expected = {"allow": "yes", "allow-always": "yes", "reject": "no", "reject-always": "no", "never-offered": "no"}
    assert report["permitted"] == expected
    assert report["remembered"] == {"allow": "no", "allow-always": "yes", "reject-always": "no"}


def test_forms_and_addresses_are_shown_and_answered(report: Report):
    assert report["answered"] == [{STORY["question"]["field"]: STORY["question"]["answer"]}, None, None]
    assert report["address"] is True


def test_a_cancel_ends_a_turn_that_works(v1: Report, v2: Report):
    assert v1["cancelled"] == "cancelled"
    call, idle = v2["cancelled"][-2:]
    assert (call["toolCallId"], call["status"]) == ("call-wait", "cancelled")
    assert (idle["state"], idle["stopReason"]) == ("idle", "cancelled")
    assert v2["cancelCall"]["code"] == -32602


def test_a_cancel_ends_a_turn_that_waits_for_the_user(report: Report):
    assert report["cancelledQuestion"] == "cancelled"


def test_stop_reasons_are_told_as_they_are(report: Report):
    assert report["reasons"] == ["end_turn", "max_tokens", "max_turn_requests", "refusal"]


def test_a_failed_turn_is_an_error_in_v1_and_a_state_in_v2(v1: Report, v2: Report):
    assert (v1["failed"]["code"], list(v1["failed"]["data"])) == (-32603, ["correlationId"])
    assert v2["failed"]["stopReason"] == "error"
    assert (v2["failed"]["error"]["code"], list(v2["failed"]["error"]["data"])) == (-32603, ["correlationId"])


@pytest.mark.requirement("TERM-28")
def test_a_command_past_its_deadline_is_killed_and_released(v1: Report, v2: Report):
    steps = [each for each in named(v1["slept"]) if each.startswith("terminal/")]
    expected = ["terminal/create", "terminal/wait_for_exit", "terminal/kill", "terminal/output", "terminal/release"]
    assert steps == expected
    for report in (v1, v2):
        ran = json.loads(texts(report["slept"], "agent_message_chunk"))
        assert (ran["is_timed_out"], ran["output"]) == (True, "")
    assert told(v2["slept"], "terminal_update")[-1]["exitStatus"]["signal"]


def test_extensions_go_both_ways(report: Report):
    assert report["extension"] == {"größe": [1, None]}
    assert report["known"]["notes"] == [{"text": "größe"}]
    assert report["picked"] == {"result": {"picked": "größe"}}
    assert report["unknown"] == {"error": {"code": -32601, "data": {"method": "_accord/nothing"}}}


def test_a_file_that_is_not_there_is_not_found(report: Report):
    assert report["missing"] == "not found"


def test_a_command_is_a_prompt_that_begins_with_its_name(report: Report):
    assert report["command"] == "reviewing größe.py"


def test_modes_and_options_are_set(v1: Report, v2: Report):
    assert v1["mode"] == "quick"
    for report in (v1, v2):
        assert values_of(report["options"]) == ["quick", True, "fast"]
        assert report["known"]["options"] == {"mode": "quick", "web": True, "model": "fast"}
        assert report["known"]["model"] == "fast"
        assert (report["noOption"]["code"], report["noOption"]["data"]["field"]) == (-32602, "configId")
    assert values_of(told(v2["settled"], "config_option_update")[-1]["configOptions"]) == ["quick", True, "fast"]


def test_what_the_client_can_is_known(v1: Report, v2: Report):
    always = {"boolean_options", "compaction", "form_elicitation", "notices", "url_elicitation"}
    assert set(v1["known"]["can"]) == always | {"read_files", "terminals", "write_files"}
    assert set(v2["known"]["can"]) == always | {"display_terminals"}
    assert v1["known"]["name"] == v2["known"]["name"] == "official"


def test_a_session_is_listed_closed_taken_up_and_deleted(report: Report):
    (listed,) = report["list"]["sessions"]
    assert (listed["title"], Path(listed["cwd"]).name) == (STORY["title"], "größe")
    assert report["afterClose"] == {"code": -32002, "data": {"sessionId": listed["sessionId"]}}
    calls = [update["toolCallId"] for update in told(report["loaded"], "tool_call", "tool_call_update")]
    assert calls[:3] == [STORY[name]["id"] for name in ("read", "edit", "run")]
    assert report["resumed"] == "reviewing it"
    assert report["afterDelete"]["sessions"] == []
    assert report["loadDeleted"]["code"] == -32002


def test_messages_of_v1_are_told_again_as_chunks(v1: Report):
    assert texts(v1["loaded"], "agent_message_chunk").startswith(TEXT)


def test_messages_of_v2_are_told_again_whole_and_the_state_comes_last(v2: Report):
    messages = [update["content"] for update in told(v2["loaded"], "agent_message")]
    assert messages[0] == [{"type": "text", "text": TEXT}]
    assert (v2["loaded"][-1]["sessionUpdate"], v2["loaded"][-1]["state"]) == ("state_update", "idle")
    assert "state_update" not in named(v2["loaded"])[:-1]
    assert told(v2["silent"], "user_message", "agent_message") == []
    assert (v2["silent"][0]["sessionUpdate"], v2["silent"][0]["state"]) == ("state_update", "idle")


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("client_v1.mjs", "@agentclientprotocol/sdk/unstable"),
        ("client_v2.mjs", "@agentclientprotocol/sdk/experimental/v2/unstable"),
    ],
)
def test_a_session_is_forked_by_the_sdk_with_all_that_is_unstable(
    name: str, entry: str, tmp_path_factory: pytest.TempPathFactory
):
    report = report_of(name, place_of(tmp_path_factory), ACP_ENTRY=entry)
    assert report["forked"] is True
    assert len(report["afterDelete"]["sessions"]) == 1
