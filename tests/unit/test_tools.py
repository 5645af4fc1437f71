"""The tools that are described for models."""

from typing import get_args

import pytest

from promptuary.experiences.values import TYPES, ExperienceOutcome
from promptuary.mcp.description import OFFERED
from promptuary.mcp.tools import CALLS
from promptuary.memory.values import AUDIENCES, KINDS
from promptuary.tools import TOOLS


@pytest.mark.parametrize(
    ("tool", "argument", "choices"),
    [
        ("write_memory", "type", KINDS),
        ("write_memory", "audience", AUDIENCES),
        ("record_experience", "type", TYPES),
        ("record_experience", "outcome", get_args(ExperienceOutcome)),
    ],
)
def test_a_model_is_told_every_choice_that_there_is(tool: str, argument: str, choices: tuple[str, ...]) -> None:
    assert sorted(TOOLS[tool].properties[argument]["enum"]) == sorted(choices)


def test_every_tool_that_a_client_is_offered_can_be_called() -> None:
    assert list(OFFERED) == list(CALLS)


def test_what_is_needed_is_an_argument() -> None:
    assert [name for name, tool in TOOLS.items() if not set(tool.required) <= set(tool.properties)] == []


def test_only_tools_that_change_nothing_say_that_they_only_read() -> None:
    """Clients run those without a question. A message may have ``@remember:`` in it."""
    writing = {"expand_references", "write_memory", "record_experience", "track_file"}

    assert {name for name, tool in TOOLS.items() if not tool.reads_only} == writing
