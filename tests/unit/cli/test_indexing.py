"""What is told of an index that is brought up to date."""

import pytest

from promptuary.cli.indexing import advice


@pytest.mark.parametrize(
    "held",
    [
        "/notes: it is not there, or may not be opened; what is indexed of it was kept",
        "/notes: /notes is not there; if it is on another disk or machine, connect it again.; what is indexed ...",
        "/notes: the folder has no files left; what is indexed of it was kept",
    ],
)
def test_what_to_do_about_a_folder_that_is_gone_is_told(held: str) -> None:
    assert advice(held) == " (if it is gone for good: promptuary index --prune)"


@pytest.mark.parametrize(
    "held",
    [
        "/notes: diary cannot be listed; kept as it was",
        "/notes: the folder cannot be listed; kept as it was",
        "/notes: /notes cannot be listed (Permission denied); make sure that you may read it.; what is indexed ...",
    ],
)
def test_a_folder_that_may_not_be_listed_is_not_said_to_be_gone(held: str) -> None:
    assert advice(held) == ""
