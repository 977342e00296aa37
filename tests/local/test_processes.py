from __future__ import annotations

import pytest

from accord.local.processes import exit_status
from accord.session.entities import Exit


@pytest.mark.requirement("AMB-65")
@pytest.mark.parametrize(
    ("code", "expected"),
    [(0, Exit(code=0)), (3, Exit(code=3)), (None, Exit()), (-15, Exit(signal="SIGTERM")), (-63, Exit(signal="63"))],
)
def test_a_command_ended_with_a_code_or_by_a_signal(code, expected):
    assert exit_status(code) == expected
