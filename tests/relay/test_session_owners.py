"""The file of owners: it outlives the server, and what is damaged or outdated in it does no harm."""

from __future__ import annotations

import stat
from pathlib import Path

from accord.relay.session_records import SessionOwners
from tests.relay.raw_peers import RawClient, RawFarm
from tests.relay.test_processes import OPEN
from tests.relay.test_routes import RESUME


def test_owners_outlive_the_server(tmp_path: Path):
    path = tmp_path / "owners"
    owners = SessionOwners(path)
    owners.add("s0", "ada")
    owners.add("s0", "bob")
    owners.add("s1", "bob")
    owners.remove("s1")
    again = SessionOwners(path)
    assert (again.find("s0"), again.find("s1")) == ("ada", None)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_damaged_line_is_left_out(tmp_path: Path):
    path = tmp_path / "owners"
    path.write_bytes(b'{"session":"s0","user":"ada"}\n{"session":"s1","us\n\xff\n{"session":"s2","user":"bob"}\n')
    owners = SessionOwners(path)
    assert [owners.find(each) for each in ("s0", "s1", "s2")] == ["ada", None, "bob"]


def test_outdated_lines_are_removed_when_the_file_is_read(tmp_path: Path):
    path = tmp_path / "owners"
    path.write_bytes(b'{"session":"s0","user":"ada"}\n' * 2000)
    SessionOwners(path)
    assert path.read_bytes() == b'{"session":"s0","user":"ada"}\n'
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_a_session_of_another_user_can_not_be_loaded_after_a_restart(tmp_path: Path):
    farm = RawFarm(**RESUME)
    farm.answers["session/resume"] = {}
    first = farm.router(owners=SessionOwners(tmp_path / "owners"))
    ada = RawClient(first, "ada")
    await ada.start()
    await ada.new()
    await ada.close()
    await first.aclose()
    second = farm.router(owners=SessionOwners(tmp_path / "owners"))
    ada, bob = RawClient(second, "ada"), RawClient(second, "bob")
    for client, result in ((bob, -32002), (ada, None)):
        await client.start()
        assert (await client.request("session/resume", OPEN)).get("code") == result


async def test_a_user_sees_no_session_whose_owner_is_forgotten():
    farm = RawFarm(**RESUME)
    farm.answers["session/resume"] = {}
    farm.answers["session/list"] = {"sessions": [{"sessionId": "s0", "cwd": "/"}]}
    router = farm.router()
    ada, anyone = RawClient(router, "ada"), RawClient(router, None)
    for client, code, count in ((ada, -32002, 0), (anyone, None, 1)):
        await client.start()
        assert (await client.request("session/resume", OPEN)).get("code") == code
        assert len((await client.request("session/list", {}))["sessions"]) == count
