"""Pictures from the clipboard, in the prompt and on the way to the agent."""

from __future__ import annotations

import stat
import sys
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
from textual.events import Paste

from accord.testing import ScriptedAgent
from tests.apps.console.screen.stage import opened

if sys.platform == "win32":
    pytest.skip("scripts as programs", allow_module_level=True)

PNG = b"\x89PNG\r\n\x1a\n" + bytes(5000)


@pytest.fixture
def clipboard(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What is in this file is in the clipboard. Its program does not lie in the project."""
    content, program = tmp_path / "clipboard", tmp_path_factory.mktemp("programs") / "xclip"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nfrom pathlib import Path\npath = Path({str(content)!r})\n"
        "if path.exists():\n"
        "    sys.stdout.buffer.write(b'image/png' if sys.argv[-1] == 'TARGETS' else path.read_bytes())\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", str(program.parent))
    monkeypatch.setenv("DISPLAY", ":0")
    for name in ("WAYLAND_DISPLAY", "WSL_DISTRO_NAME"):
        monkeypatch.delenv(name, raising=False)
    return content


def taker(version: Any = 1, *, image: bool = True) -> ScriptedAgent:
    agent = ScriptedAgent(version, agentCapabilities={"promptCapabilities": {"image": image}})
    agent.on("session/prompt", agent.reply("Nice"))
    return agent


async def test_a_picture_is_pasted_shown_by_its_size_and_sent(tmp_path, clipboard):
    agent = taker()
    clipboard.write_bytes(PNG)
    async with opened(agent, tmp_path) as stage:
        await stage.type("See ")
        await stage.press("ctrl+v")
        await stage.until(lambda: stage.prompt == "See [picture 1, 5 kB] ")
        clipboard.write_bytes(PNG + b"another")
        stage.app.post_message(Paste(""))  # as a terminal says that it has no text
        await stage.until(lambda: stage.prompt == "See [picture 1, 5 kB] [picture 2, 5 kB] ")
        await stage.press("enter")
        await stage.idle()
    text, *pictures = agent.calls("session/prompt")[0].params["prompt"]
    assert text["text"] == "See [picture 1, 5 kB] [picture 2, 5 kB] "
    assert [(each["mimeType"], b64decode(each["data"])) for each in pictures] == [
        ("image/png", PNG),
        ("image/png", PNG + b"another"),
    ]


async def test_one_backspace_takes_a_picture_out(tmp_path, clipboard):
    agent = taker()
    clipboard.write_bytes(PNG)
    async with opened(agent, tmp_path) as stage:
        await stage.type("See")
        await stage.press("ctrl+v")
        await stage.until(lambda: "picture" in stage.prompt)
        await stage.press("backspace", "backspace", "backspace")
        assert stage.prompt == "Se"
        await stage.press("enter")
        await stage.idle()
    assert len(agent.calls("session/prompt")[0].params["prompt"]) == 1


async def test_a_picture_waits_with_its_prompt_and_in_its_tab(tmp_path, clipboard):
    agent = taker()
    agent.on("session/prompt", None)
    clipboard.write_bytes(PNG)
    async with opened(agent, tmp_path) as stage:
        await stage.send("Go")
        first = await agent.next("session/prompt")
        await stage.press("ctrl+v")
        await stage.until(lambda: "picture" in stage.prompt)
        await stage.press("enter")
        assert stage.tab.queue.prompts == ["[picture 1, 5 kB] "]
        agent.finish(first)
        second = await agent.next("session/prompt")
        assert second.params["prompt"][1]["type"] == "image"
        agent.finish(second)
        await stage.idle()


async def test_an_agent_that_takes_no_pictures_is_not_sent_any(tmp_path, clipboard):
    agent = taker(image=False)
    clipboard.write_bytes(PNG)
    async with opened(agent, tmp_path) as stage:
        await stage.press("ctrl+v")
        await stage.shows("This agent does not accept images.")
        assert stage.prompt == ""


async def test_what_was_pasted_before_the_agent_said_that_it_takes_none_is_left_out(tmp_path, clipboard):
    agent = taker(image=False)
    agent.on("initialize", None)
    clipboard.write_bytes(PNG)
    async with opened(agent, tmp_path, ready=False, version=1) as stage:
        asked = await agent.next("initialize")
        await stage.press("ctrl+v")
        await stage.until(lambda: "picture" in stage.prompt)
        await stage.press("enter")
        asked.answer({"protocolVersion": 1, "agentCapabilities": {}})
        await stage.shows("this agent does not accept images: the pasted picture was left out", "Nice")
        assert [each["type"] for each in agent.calls("session/prompt")[0].params["prompt"]] == ["text"]


async def test_without_a_picture_there_is_a_hint_and_copied_text_is_pasted(tmp_path, clipboard):
    async with opened(taker(), tmp_path) as stage:
        await stage.press("ctrl+v")
        await stage.shows("There is no picture in the clipboard.")
        stage.app._clipboard = "copied here"
        await stage.press("ctrl+v")
        await stage.until(lambda: stage.prompt == "copied here")


async def test_the_palette_says_what_to_install(tmp_path, clipboard, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    async with opened(taker(), tmp_path) as stage:
        await stage.press("ctrl+p")
        await stage.type("paste picture")
        await stage.shows("from the clipboard")
        await stage.press("enter")
        await stage.shows("xclip")
        await stage.until(lambda: stage.app.screen is stage.app.main)
