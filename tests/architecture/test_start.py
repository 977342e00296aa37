"""What an agent loads before it answers `initialize`: a module more costs every start."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HANDSHAKE = """
import sys, msgspec
from accord.dialects.negotiation import negotiate
from accord.session.capabilities import AgentCapabilities, Implementation
from accord.session.requests import InitializeResult

dialect, request = negotiate(msgspec.Raw(msgspec.json.encode({params!r})))
info = Implementation(name="Test", version="1")
response = InitializeResult(version=dialect.version, info=info, capabilities=AgentCapabilities())
result = msgspec.Raw(msgspec.json.encode(dialect.result_to_wire(request, response)))
assert dialect.result_from_wire(request, result).version == dialect.version
print(*[name for name in sys.modules if name.startswith("accord.") or name == "json"])
"""

OFFERS = {
    "v1": {"protocolVersion": 1, "clientCapabilities": {"terminal": True}},
    "v2": {"protocolVersion": 2, "info": {"name": "Test", "version": "1"}, "clientCapabilities": {}},
}


def python(program: str) -> list[str]:
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return finished.stdout.split()


@pytest.mark.parametrize("version", OFFERS)
def test_a_dialect_converts_the_handshake_without_its_tables(version: str):
    loaded = python(HANDSHAKE.format(params=OFFERS[version]))
    schema = [name for name in loaded if name.startswith(f"accord.schema.{version}.")]
    assert schema == [f"accord.schema.{version}.lifecycle"]
    assert f"accord.dialects.{version}.tables" not in loaded
    assert {"json", "accord.schema.tolerant_reader", "accord.session.validation"}.isdisjoint(loaded)
    assert (
        version == "v2" or "accord.schema.all_versions" not in loaded
    )  # v2 has the types of its mode option from there


def test_an_agent_loads_the_tables_after_its_response_and_before_the_next_request():
    program = """
import asyncio, os, sys
from accord import Agent
from accord.dialects.v1 import V1

load = V1.load_tables.__func__

def load_tables(dialect_type):
    print("before", "accord.dialects.v1.tables" in sys.modules, file=sys.stderr)
    load(dialect_type)
    print("after", "accord.dialects.v1.tables" in sys.modules, file=sys.stderr, flush=True)

V1.load_tables = classmethod(load_tables)
Agent("Test").run()
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as agent:
        assert agent.stdin
        assert agent.stdout
        assert agent.stderr
        request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": OFFERS["v1"]}
        agent.stdin.write(json.dumps(request).encode() + b"\n")
        agent.stdin.flush()
        assert json.loads(agent.stdout.readline())["id"] == 1
        assert [agent.stderr.readline().split() for _ in range(2)] == [[b"before", b"False"], [b"after", b"True"]]
