"""The page about memory: its week is code that runs; a table of names has settings with their defaults."""

import re
from pathlib import Path

import pytest

from promptuary.config.settings import Settings

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "memory.md").read_text(encoding="utf-8")


def test_the_week_happens_as_it_is_told(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(workspace)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)

    exec(compile(code, "docs/memory.md", "exec"), {})


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("recall_mode", "hybrid_async"),
        ("recall_model", ""),
        ("recall_timeout_ms", 1500),
        ("recall_max_selected", 5),
        ("recall_prompt", ""),
        ("writeback_wait_policy", "never_wait"),
        ("writeback_model", ""),
        ("writeback_qa_prompt", ""),
        ("writeback_profile_prompt", ""),
    ],
)
def test_every_setting_of_the_seed_has_its_name_and_its_default(name: str, default: object) -> None:
    table = (DOCS / "decisions" / "names.md").read_text(encoding="utf-8").partition("## For those who know Xpert")[2]

    assert f"`{name}`" in table
    assert getattr(Settings(), name) == default
