"""The settings of chunking that an index depends on: an index with another recipe is rebuilt.

Separate from the chunker, which a search that finds the index up to date does not load.
"""

from importlib.util import find_spec
from typing import Final

from msgspec import Struct

from promptuary.base.errors import ConfigError

VERSION: Final = 12
"""The version of the chunker. It increases whenever the same file would be split or masked differently."""


class Sizes(Struct, frozen=True):
    """The size of chunks in tokens, and how many tokens of a long passage each repeats from the one before."""

    tokens: int = 256
    overlap: int = 32

    def __post_init__(self) -> None:
        if self.tokens < 16:
            raise ConfigError(f"chunks of {self.tokens} tokens are too small; use 16 or more")
        if not 0 <= self.overlap <= self.tokens // 2:
            raise ConfigError(
                f"an overlap of {self.overlap} tokens is too large for chunks of {self.tokens}; "
                f"use 0 to {self.tokens // 2}, or larger chunks"
            )

    @property
    def recipe(self) -> str:
        """The text that identifies these settings. The extra ``languages`` changes how code is split."""
        by = " by grammars" if find_spec("tree_sitter") else ""
        return f"chunks {VERSION} of {self.tokens} tokens, {self.overlap} of them twice{by}"
