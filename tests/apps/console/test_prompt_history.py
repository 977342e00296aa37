from __future__ import annotations

import multiprocessing
from pathlib import Path

from accord.apps.console import prompt_history
from accord.apps.console.prompt_history import PromptHistory


def test_what_was_added_is_listed_the_newest_last(tmp_path):
    prompts = PromptHistory(tmp_path / "state")
    assert prompts.entries() == []
    prompts.add("accord", Path("/a"), "s1", "one")
    prompts.add("gemini", Path("/b"), "s2", "two\nlines")
    assert [(each.agent, each.cwd, each.session_id, each.text) for each in prompts.entries()] == [
        ("accord", "/a", "s1", "one"),
        ("gemini", "/b", "s2", "two\nlines"),
    ]
    assert prompts.last_session("accord", Path("/a")) == "s1"
    assert prompts.last_session("accord", Path("/b")) is None


def test_it_is_for_the_user_alone(tmp_path):
    PromptHistory(tmp_path / "state").add("accord", Path("/a"), "s", "secret")
    assert (tmp_path / "state" / "prompts.jsonl").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700


def test_a_prompt_that_begins_with_a_blank_is_not_kept_but_its_session_is(tmp_path):
    prompts = PromptHistory(tmp_path)
    prompts.add("accord", Path("/a"), "s", " not for the record")
    assert [each.text for each in prompts.entries()] == [""]
    assert prompts.last_session("accord", Path("/a")) == "s"


def test_a_prompt_without_a_session_is_kept_and_is_nothing_to_continue(tmp_path):
    prompts = PromptHistory(tmp_path)
    prompts.add("accord", Path("/a"), "", "never sent")
    assert prompts.last_session("accord", Path("/a")) is None
    prompts.add("accord", Path("/a"), "s", "sent")
    prompts.add("accord", Path("/a"), "", "never sent either")
    prompts.add("accord", Path("/a"), "", " not for the record")
    assert [each.text for each in prompts.entries()] == ["never sent", "sent", "never sent either"]
    assert prompts.last_session("accord", Path("/a")) == "s"


def test_it_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(prompt_history, "_MOST", 3)
    prompts = PromptHistory(tmp_path)
    for number in range(5):
        prompts.add("accord", Path("/a"), "s", str(number))
    assert [each.text for each in prompts.entries()] == ["2", "3", "4"]
    monkeypatch.setattr(prompt_history, "_MOST_BYTES", 20_000)
    monkeypatch.setattr(prompt_history, "_LONGEST", 16 * 1024)
    prompts.add("accord", Path("/a"), "s", "x" * 50_000)
    assert [len(each.text) for each in prompts.entries()][-1] == 16 * 1024
    assert (tmp_path / "prompts.jsonl").stat().st_size < 20_000


def test_lines_that_can_not_be_read_are_skipped(tmp_path):
    prompts = PromptHistory(tmp_path)
    prompts.add("accord", Path("/a"), "s", "good")
    with (tmp_path / "prompts.jsonl").open("ab") as file:
        file.write(b'{"torn\n')
    assert [each.text for each in prompts.entries()] == ["good"]


def test_a_directory_that_can_not_be_written_costs_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    prompts = PromptHistory(tmp_path / "file" / "state")
    prompts.add("accord", Path("/a"), "s", "lost")
    assert prompts.entries() == []


def _add(state: Path, name: str) -> None:
    for number in range(20):
        PromptHistory(state).add(name, Path("/a"), "s", str(number))


def test_programs_that_run_at_the_same_time_lose_nothing(tmp_path):
    spawning = multiprocessing.get_context("spawn")
    workers = [spawning.Process(target=_add, args=(tmp_path, name)) for name in ("one", "two")]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    kept = PromptHistory(tmp_path).entries()
    for name in ("one", "two"):
        assert [each.text for each in kept if each.agent == name] == [str(number) for number in range(20)]
