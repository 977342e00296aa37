from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord import Client
from accord.testing import Recording, ScriptedAgent
from accord.testing.recording import Entry, entry_of, line_of


async def test_a_conversation_is_recorded_from_the_line_and_from_either_side(echo, acp_version):
    line, agents, clients = Recording(), Recording(), Recording()
    echo._definition.on_frame = agents.observer("agent")
    async with Client(line.of(echo), version=acp_version, on_frame=clients.observer("client")) as client:
        session = await client.new_session("/")
        await session.prompt("hello you")
    assert line.entries.pop().closed == "closed by this side"
    told = [[(entry.sender, entry.frame) for entry in each.entries] for each in (line, agents, clients)]
    assert told[0] == told[1] == told[2]
    assert [sender for sender, _ in told[0]][:4] == ["client", "agent", "client", "agent"]
    assert all(one.at <= two.at for one, two in zip(line.entries, list(line.entries)[1:], strict=False))


async def test_a_file_has_a_header_and_a_line_for_each_frame(tmp_path):
    agent, recording = ScriptedAgent(1), Recording()
    async with Client(recording.of(agent), version=1) as client:
        await client.new_session("/")
        agent.die(3, "Killed")
        await client.wait_closed()
    recording.save(tmp_path / "new" / "file.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "new" / "file.jsonl").read_text().splitlines()]
    assert lines[0] == {"format": 1, "protocol": "acp"}
    assert lines[1]["at"] == 0.0
    assert lines[1]["from"] == "client"
    assert lines[1]["frame"]["method"] == "initialize"
    assert {**lines[-1], "at": 0} == {
        "at": 0,
        "from": "agent",
        "closed": "the scripted agent died",
        "exitCode": 3,
        "stderr": "Killed",
    }
    assert Recording.load(tmp_path / "new" / "file.jsonl").entries == recording.entries


ENTRIES = st.one_of(
    st.builds(Entry, st.floats(0, 1e6), st.sampled_from(["client", "agent"]), st.binary()),
    st.builds(
        Entry,
        st.floats(0, 1e6),
        st.just("agent"),
        st.recursive(st.none() | st.integers(-(2**53), 2**53) | st.text(), st.lists).map(
            lambda it: json.dumps(it).encode()
        ),
    ),
    st.builds(
        Entry,
        st.just(0.0),
        st.just("agent"),
        closed=st.text(),
        exit_code=st.none() | st.integers(-255, 255),
        stderr=st.text(),
    ),
)


@given(ENTRIES)
def test_whatever_was_said_is_read_back_byte_for_byte(entry):
    line = line_of(entry)
    assert b"\n" not in line
    json.loads(line)
    assert entry_of(line) == entry


def test_frames_stay_as_they_were_written():
    odd = b'{"id":  1.50, "a": 1, "a": 2, "text": "\\u00fc"}'
    assert b'"frame":' + odd in line_of(Entry(0, "agent", odd))
    half = b'{"text": "\\ud83d"}'
    assert entry_of(line_of(Entry(0, "agent", half))).frame == half


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "is empty"),
        ("{}", "first line must be"),
        ("hello", "first line must be"),
        ('{"format": 2}', "use a newer accord"),
        ('{"format": 1}\n{"at": 0, "from": "agent", "frame": 1}\nhello', "line 3 is none"),
        ('{"format": 1}\n{"at": 0, "from": "nobody", "frame": 1}', "line 2 is none"),
        ('{"format": 1}\n{"at": 0, "from": "agent"}', "line 2 has none of"),
    ],
)
def test_a_file_that_is_no_recording_is_refused_with_the_reason(tmp_path, text, complaint):
    file = tmp_path / "file.jsonl"
    file.write_text(text)
    with pytest.raises(ValueError, match=complaint):
        Recording.load(file)


def test_members_that_a_later_version_adds_are_skipped(tmp_path):
    file = tmp_path / "file.jsonl"
    file.write_text('{"format": 1, "tool": "x"}\n\n{"at": 1, "from": "agent", "raw": "hi", "color": "red"}\n')
    assert list(Recording.load(file).entries) == [Entry(1.0, "agent", b"hi")]


async def test_it_keeps_no_more_than_its_limit_and_says_so(tmp_path):
    recording = Recording(limit=100)
    for _ in range(10):
        recording.add("agent", b"x" * 30)
    assert (len(recording.entries), recording.dropped) == (3, 7)
    recording.save(tmp_path / "file.jsonl")
    assert Recording.load(tmp_path / "file.jsonl").dropped == 7
    assert "(7 frames before)" in str(recording)


async def test_it_is_readable():
    recording = Recording()
    recording.add("client", b'{"jsonrpc":"2.0","id":7,"method":"session/new","params":{"cwd":"/work"}}')
    recording.add("agent", b'{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"Log in"}}')
    recording.add("agent", b'{"jsonrpc":"2.0","id":0,"result":null}')
    recording.add("agent", b'[{"jsonrpc":"2.0"}]')
    recording.add("agent", b"npm warn")
    recording.add("agent", b'"' + b"x" * 1000 + b'"')
    told = [line[10:] for line in recording.shown(5).splitlines()]
    assert told[0].endswith("frames before)")
    assert told[1:5] == [
        'agent → client  error #7 {"code": -32000, "message": "Log in"}',
        "agent → client  answer #0 ",
        'agent → client  batch [{"jsonrpc": "2.0"}]',
        "agent → client  not JSON: b'npm warn'",
    ]
    assert told[5].endswith("(1002 characters)")
    assert str(Recording()) == "(nothing was said)"
