"""The page about experiences: its story is code that runs."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "experiences.md").read_text(encoding="utf-8")


def test_the_second_time_avoids_the_error_of_the_first(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = [one for one in re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL) if "agent" in one]
    monkeypatch.chdir(workspace)

    exec(compile(code, "docs/experiences.md", "exec"), {})
