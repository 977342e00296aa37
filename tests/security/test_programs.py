"""Programs that are started where a stranger's files lie: nothing from there is run, and nothing is imported."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from accord.apps.coder.failures import ModelFailed
from accord.apps.coder.models.local import _Process  # the only way to it without a language model
from accord.apps.console.clipboard import picture_in_clipboard
from accord.apps.console.failures import ConsoleFailed


async def test_the_local_model_imports_nothing_that_lies_beside_its_file(tmp_path: Path) -> None:
    for name in ("accord", "json", "socket", "xllamacpp"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'w')\nraise SystemExit(1)\n")
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    process = _Process()
    with pytest.raises(ModelFailed, match="can't be loaded"):
        await process.start(tmp_path / "model.gguf", 0)
    await process.end()
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("entry", ["{project}/bin", "bin", ".", ""])
async def test_who_pastes_runs_no_program_of_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    project = tmp_path / "project"
    (project / "bin").mkdir(parents=True)
    for directory in (project, project / "bin"):
        for name in ("xclip", "wl-paste", "pngpaste", "osascript"):
            (directory / name).write_text(f"#!/bin/sh\ntouch {tmp_path / 'mark'}\n")
            (directory / name).chmod(0o755)
    monkeypatch.chdir(project)
    monkeypatch.setenv("PATH", os.pathsep.join([entry.format(project=project), str(tmp_path / "nothing")]))
    for variable in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.setenv(variable, ":0")
    with pytest.raises(ConsoleFailed, match="can't be pasted without"):
        await picture_in_clipboard(str(project))
    assert not (tmp_path / "mark").exists()
