"""The way that everyday work takes: ratchets, measured by ``bench.trace``. Lower a number when the way gets shorter.

Modules and lines are not held, so that nobody joins modules for a number.
"""

from typing import Final

import pytest

from bench.trace import measure

RATCHETS: Final = {
    "plain turn": {"edges": 81, "scans": 1, "reads": 35, "git": 0, "threads": 3},
    "turn with a tool call": {"edges": 86, "scans": 1, "reads": 55, "git": 0, "threads": 4},
    "expand": {"edges": 11, "scans": 1, "reads": 0, "git": 0, "threads": 1},
    "remember": {"edges": 34, "scans": 0, "reads": 12, "git": 0, "threads": 3},  # what is written is indexed meanwhile
}


@pytest.mark.parametrize("flow", RATCHETS)
def test_the_way_of_everyday_work_does_not_get_longer(flow: str) -> None:
    found = measure(flow)
    longer = {what: found["counts"][what] for what, most in RATCHETS[flow].items() if found["counts"][what] > most}

    assert not longer, {what: found["details"].get(what) for what in longer}
