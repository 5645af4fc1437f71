"""How files are cut into chunks, as far as an index depends on it: what was made by another recipe is made anew.

Apart from the cutting itself, which a search that finds everything up to date never loads.
"""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final

from promptuary.core.errors import ConfigError

VERSION: Final = 3
"""Which chunker made an index. It grows whenever the same text would be cut differently."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large chunks are, in tokens, and how much of a long passage each repeats from the one before."""

    tokens: int = 256
    overlap: int = 32

    def __post_init__(self) -> None:
        if self.tokens < 16:
            raise ConfigError(f"chunks of {self.tokens} tokens are too small to be found again; use 16 or more")
        if not 0 <= self.overlap <= self.tokens // 2:
            raise ConfigError(
                f"an overlap of {self.overlap} tokens does not go with chunks of {self.tokens}; "
                f"use 0 to {self.tokens // 2}, or larger chunks"
            )

    @property
    def recipe(self) -> str:
        """What an index is marked with. With the extra ``languages`` code is cut otherwise."""
        by = " by grammars" if find_spec("tree_sitter") else ""
        return f"chunks {VERSION} of {self.tokens} tokens, {self.overlap} of them twice{by}"
