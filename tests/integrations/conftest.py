"""What every test of an adapter may use."""

from collections.abc import Iterator

import pytest

from promptuary.blocking import Promptuary
from tests.conftest import Files
from tests.integrations.scenario import FILES, opened


@pytest.fixture
def p(files: Files) -> Iterator[Promptuary]:
    with opened(files(FILES)) as promptuary:
        yield promptuary
