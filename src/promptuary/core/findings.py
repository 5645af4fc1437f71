"""What an examination finds: something that is not as it was promised, where, and what to do about it. Values only."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

FindingCode = Literal[
    "UNADOPTED",
    "OTHER_OWNER",
    "DUPLICATE_ID",
    "NOT_A_NOTE",
    "UNREADABLE",
    "BROKEN_LINK",
    "EXPOSED",
    "TRACKED_BY_GIT",
    "LEFTOVERS",
    "LIST_OUTDATED",
    "INDEX_OUTDATED",
    "WRITEBACK_FAILED",
    "DATABASE",
]
"""What kind of thing was found. Stable: programs match on these."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be: a sentence about it, where it is, and a sentence about what helps.

    ``fixable``: it can be repaired without losing anything. ``fixed``: it was.
    """

    code: FindingCode
    problem: str
    where: str = ""
    advice: str = ""
    fixable: bool = False
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class Examination:
    """What was looked at, by name with a count, and what was found."""

    counts: Sequence[tuple[str, int]] = ()
    findings: Sequence[Finding] = ()

    @property
    def is_well(self) -> bool:
        """Whether nothing is left to do."""
        return all(one.fixed for one in self.findings)
