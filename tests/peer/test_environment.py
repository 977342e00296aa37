from __future__ import annotations

import pytest

from accord.peer.event_loop import is_strict


@pytest.mark.parametrize(("value", "strict"), [(None, False), ("", False), ("0", False), ("1", True)])
@pytest.mark.requirement("COMPAT-12")
def test_strict_reading_is_asked_for_by_the_environment(
    value: str | None, strict: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("ACCORD_STRICT", raising=False)
    if value is not None:
        monkeypatch.setenv("ACCORD_STRICT", value)
    assert is_strict() is strict
