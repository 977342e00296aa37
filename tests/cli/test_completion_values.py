"""What is offered on the Tab key for names that change: agents, models, modes, sessions and themes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from accord.apps.console.conversation_records import ConversationRecords, RecordHeader
from accord.cli import main
from accord.cli.completion_values import CommandLine, Offer, offers

OPTIONS = (
    b'{"report":"OptionsReport","options":['
    b'{"id":"m","name":"Model","category":"model","choices":[{"value":"fast","name":"Fast one"},{"value":"b\\u001bd","name":"x"}]},'
    b'{"id":"mode","name":"Mode","choices":[{"value":"plan","name":"Plan"}]}]}'
)
MODES = (
    b'{"report":"ModesReport","modes":{"current":"a","available":[{"id":"a","name":"A","description":"All of it"}]}}'
)


def values(kind: str, *words: str) -> list[str]:
    return [offer.value for offer in offers(kind, ["accord", *words, ""])]


def record(home: Path, agent: str, session_id: str, *lines: bytes, cwd: Path | None = None, title: str = "") -> None:
    header = RecordHeader(agent=agent, session_id=session_id, cwd=str(cwd or home), title=title)
    ConversationRecords(home / "state").save(header, lines)


class TestTheLine:
    @pytest.mark.parametrize(
        ("words", "agent"),
        [
            ([], None),
            (["gemini"], "gemini"),
            (["--cwd", "/", "gemini", "--plain"], "gemini"),
            (["run", "--agent", "gemini"], "gemini"),
            (["run", "gemini"], None),
            (["run", "--agent=gemini", "--continue"], "gemini"),
            (["sessions", "--agent"], None),
        ],
    )
    def test_says_which_agent_is_meant(self, project: Path, words: list[str], agent: str | None):
        assert CommandLine.read(["accord", *words, ""]).agent == agent

    def test_says_which_directory_is_meant(self, project: Path):
        assert CommandLine.read(["accord", "run", "--cwd", "/tmp", ""]).cwd == Path("/tmp")
        assert CommandLine.read(["accord", "run", "--cwd", ""]).cwd == project


class TestAgents:
    def test_are_those_of_the_user_and_those_that_accord_knows(self, home: Path, project: Path):
        (home / "config.toml").write_text("[agents.mine]\ncommand = 'x'\n")
        assert values("agents")[:3] == ["accord", "mine", "auggie"]

    def test_are_offered_whatever_is_wrong_with_the_settings(self, home: Path, project: Path):
        (home / "config.toml").write_text("mode = 3")
        assert "gemini" in values("agents")


class TestModels:
    def test_of_the_built_in_agent_are_those_of_the_settings_and_of_providers_with_a_key(
        self, home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("GROQ_API_KEY", "x")
        (home / "config.toml").write_text("model = 'openai:gpt-5'\nmodels = ['ollama:qwen3']\n")
        assert values("models", "run", "--model")[:3] == ["openai:gpt-5", "ollama:qwen3", "offline"]
        assert "groq:" in values("models")
        assert "moonshotai:" not in values("models")

    def test_of_another_agent_are_those_of_the_last_conversation(self, home: Path, project: Path):
        assert values("models", "gemini", "--model") == []
        record(home, "gemini", "s1", OPTIONS)
        assert offers("models", ["accord", "gemini", "--model", ""]) == [Offer("fast", "Fast one")]
        assert values("models", "run", "--agent", "kimi", "--model") == []


class TestModes:
    def test_of_the_built_in_agent(self, project: Path):
        assert values("modes", "--mode") == ["ask", "architect", "code"]

    def test_of_another_agent_are_those_of_the_last_conversation(self, home: Path, project: Path):
        record(home, "gemini", "s1", MODES, OPTIONS, b"damaged", b'{"report":"OptionsReport","options":3}')
        assert offers("modes", ["accord", "gemini", "--mode", ""]) == [Offer("a", "All of it"), Offer("plan", "Plan")]


class TestSessions:
    def test_are_those_that_were_kept_here_and_those_of_the_directory_come_first(self, home: Path, project: Path):
        record(home, "gemini", "s1", cwd=project, title="Older\n\x1b[2J")
        record(home, "gemini", "s2", title="Elsewhere")
        record(home, "kimi", "s3")
        first, second = offers("sessions", ["accord", "gemini", "--resume", ""])
        assert (first.value, second) == ("s1", Offer("s2", "Elsewhere"))
        assert first.about.isprintable()

    def test_of_the_built_in_agent_are_those_of_its_own_file_as_well(self, typed: Any, project: Path):
        typed("run", "-q", "/help")
        (session,) = offers("sessions", ["accord", "--resume", ""])
        assert session.value.startswith("session-")
        assert session.about == "/help"


def test_themes_are_ours_and_those_of_textual(project: Path):
    assert values("themes", "--theme")[:2] == ["accord-dark", "accord-light"]
    assert "dracula" in values("themes", "--theme")


def test_they_are_printed_with_what_they_are(project: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["completion", "--values", "modes", "accord", "run", "--mode", ""]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "ask\tAsks before each change and each command"
    assert main(["completion", "--values", "nonsense"]) == 1
    assert "no values of the kind 'nonsense': give one of agents, models" in capsys.readouterr().err
