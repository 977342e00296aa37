"""The examples of docs/deployment.md: the login in front of an agent, the unit of systemd, and the commands."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from accord.cli.commands import COMMANDS
from accord.cli.parser import parse_arguments
from tests.agent.test_asgi import initialize
from tests.asgi_driver import Driver

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "deployment.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    """The first block of the page in this language."""
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


async def test_the_login_of_the_page_decides_who_connects():
    program: dict[str, Any] = {}
    exec(compile(block("python"), "deployment.md", "exec"), program)
    driver = Driver(program["app"])
    for headers in ({}, {"authorization": "Bearer nonsense"}, {"authorization": "Basic a-token-of-the-issuer"}):
        assert (await driver.post(initialize(), headers)).status == 401
    ada = {"authorization": "Bearer a-token-of-the-issuer", "host": "agents.example.org"}
    response = await driver.post(initialize(), ada)
    assert response.status == 200
    connection = {"acp-connection-id": response.headers["acp-connection-id"]}
    assert (await driver.request("DELETE", connection)).status == 401
    assert (await driver.request("DELETE", {**connection, **ada})).status == 202
    await program["app"].app.aclose()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
def test_systemd_accepts_the_unit_of_the_page(tmp_path: Path):
    unit = tmp_path / "accord.service"
    unit.write_text(block("ini").replace("/opt/accord/bin/accord", shutil.which("true") or "/bin/true"))
    checked = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


def commands() -> list[list[str]]:
    """Every `accord` command of the page, as words: of shells, of the unit and of the image."""
    shells = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    lines = "".join([*shells, block("ini").replace("ExecStart=", "")]).replace("\\\n", " ").splitlines()
    image = block("dockerfile").replace("\\\n", " ")
    words = [shlex.split(line, comments=True) for line in lines]
    words.append(
        [
            word
            for name in ("ENTRYPOINT", "CMD")
            for word in json.loads(re.findall(rf"^{name} (.*)", image, re.MULTILINE)[0])
        ]
    )
    found = [(line, index) for line in words for index, word in enumerate(line) if Path(word).name == "accord"]
    return [line[index + 1 :] for line, index in found if line[index + 1 : index + 2] and line[index + 1] in COMMANDS]


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_the_commands_of_the_page_have_only_options_that_exist(words: list[str]):
    parse_arguments(COMMANDS[words[0]], words[1:])


def test_the_commands_of_the_page_were_found():
    assert {"agent", "serve", "token"} <= {words[0] for words in commands()}
    assert sum("--tokens" in words for words in commands()) == 3
