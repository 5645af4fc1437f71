"""What a search is asked for is right, or an error says what would be."""

from typing import Any

import pytest

from promptuary.core.errors import ConfigError
from promptuary.core.search import Filters


@pytest.mark.parametrize(
    ("filters", "told"),
    [
        ({"kinds": ("cod",)}, "'cod' is no kind of file; there are markdown, code, text, data"),
        ({"paths": "src"}, r"paths of a search are several, or one in a tuple: paths=\('src',\)"),
        ({"kinds": "code"}, r"kinds=\('code',\)"),
    ],
)
def test_a_filter_that_could_never_match_is_refused(filters: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        Filters(**filters)
