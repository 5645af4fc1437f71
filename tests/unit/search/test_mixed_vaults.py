"""Notes and code in one vault: neither crowds out the other because of how it is written."""

from pathlib import Path

from promptuary.search.values import SearchQuery
from tests.conftest import Files
from tests.indexes import search_of

MANUAL = """# Manual

## The bin

A page that you deleted stays in the bin for thirty days. Open the bin to restore the page to its old place.
"""
DIARY = "# Day {0}\n\nI wrote a page about the garden. Tree {0} fell on the fence, which I had to restore.\n"
FUNCTION = "def {1}_{0}(page):\n    return page.load({0})\n"


def vault(files: Files) -> Path:
    """Return a manual among a diary and functions, most of which are called something else."""
    diary = {f"diary/{day}.md": DIARY.format(day) for day in range(30)}
    code = {f"code/{number}.py": FUNCTION.format(number, "render_tree") for number in range(30)}
    named = {f"code/restore_{number}.py": FUNCTION.format(number, "restore_page") for number in range(3)}
    return files({"manual.md": MANUAL, **diary, **code, **named})


def first(workspace: Path, question: str) -> str:
    with search_of(workspace) as service:
        service.index([workspace])
        return service.find(SearchQuery(question)).hits[0].path


def test_prose_that_answers_comes_before_functions_whose_names_repeat_the_question(files: Files) -> None:
    assert first(vault(files), "how do I restore a page that I deleted?") == "manual.md"


def test_a_function_is_found_by_its_name_among_prose(files: Files) -> None:
    assert first(vault(files), "restore_page_2") == "code/restore_2.py"
