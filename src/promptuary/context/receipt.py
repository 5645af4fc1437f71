"""The receipt of a turn: what went into its prompt, what did not, and why. The ledger stores it."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, convert, to_builtins
from msgspec.structs import force_setattr, replace

from promptuary.base.blocks import Detail, Trust
from promptuary.base.table import Column, table
from promptuary.base.text import of_whole, one_line
from promptuary.layers.layer import Failure, HookRun

EntryStatus = Literal["in", "degraded", "out"]
"""Whether something is in the prompt whole, in part, or not at all."""


AROUND = "around them"
"""The name in receipts for what belongs to no layer: headings, and the frames of messages."""


class ReceiptEntry(Struct, frozen=True):
    """One block of a prompt, or something that is not in it.

    ``layer`` is the layer's id, or ``references``, ``history``, ``message``. ``share`` is the part of the window.
    ``source`` is the address of the block's source, ``lines`` the first and last line of it. ``tokens`` is what it
    takes of the window; of something that is not in it, what it would have cost. ``whole_tokens`` is what something
    that is there in part would cost whole. Both are 0 if that is not known.
    """

    layer: str
    label: str
    status: EntryStatus
    tokens: int = 0
    share: float = 0.0
    source: str = ""
    revision: str = ""
    detail: Detail | None = None
    score: float | None = None
    reason: str = ""
    trust: Trust | None = None
    lines: tuple[int, int] | None = None
    whole_tokens: int = 0

    @property
    def taken(self) -> int:
        """The tokens that it takes of the window."""
        return 0 if self.status == "out" else self.tokens

    @property
    def tokens_text(self) -> str:
        """Its tokens for people: of something that is there in part, also what it would cost whole."""
        return of_whole(self.tokens, self.whole_tokens)


class Receipt(Struct, frozen=True):
    """What went into one request of a turn, what did not, and why.

    ``thread`` is empty if the turn is not recorded. ``earlier`` are the receipts of the requests before it, if tools
    were called.
    """

    turn: str
    thread: str
    window: int
    reserve: int
    tokens: int
    entries: Sequence[ReceiptEntry] = ()
    hooks: Sequence[HookRun] = ()
    failures: Sequence[Failure] = ()
    warnings: Sequence[str] = ()
    blocked: bool = False
    earlier: Sequence["Receipt"] = ()

    def __post_init__(self) -> None:
        for name in ("entries", "hooks", "failures", "warnings", "earlier"):
            force_setattr(self, name, tuple(getattr(self, name)))

    @property
    def requests(self) -> tuple["Receipt", ...]:
        """The receipts of all requests of the turn, this one last."""
        # Without its own list, which would be in the next one again, and double with each request.
        return (*self.earlier, replace(self, earlier=()) if self.earlier else self)

    @property
    def total(self) -> int:
        """The tokens of all requests of the turn together."""
        return sum(one.tokens for one in self.requests)

    @property
    def rows(self) -> tuple[ReceiptEntry, ...]:
        """The entries, and one for the text around them: together they add up to ``tokens``."""
        around = self.tokens - sum(entry.taken for entry in self.entries)
        if around <= 0:
            return tuple(self.entries)
        share = around / max(self.window, 1)
        entry = ReceiptEntry(AROUND, "headings, frames of messages", "in", around, share, reason="part of every prompt")
        return (*self.entries, entry)

    def by_layer(self) -> dict[str, int]:
        """Return the tokens of each layer, in the order of the prompt; they add up to all tokens."""
        tokens: dict[str, int] = {}
        for entry in self.rows:
            if entry.taken:
                tokens[entry.layer] = tokens.get(entry.layer, 0) + entry.taken
        return tokens

    def explain(self) -> str:
        """Return the receipt as a table: what went in, what was cut and why, and what failed."""
        used = f"{self.tokens:,} of {self.window:,} tokens"
        if self.earlier:
            used += f" in request {len(self.requests)}, {self.total:,} in all of them"
        whose = f"of thread {one_line(self.thread)}" if self.thread else "of no thread"
        lines = [f"turn {self.turn} {whose}: {used}, {self.reserve:,} kept for the reply"]
        lines.append(table(_COLUMNS, [_row(entry) for entry in self.rows]))
        lines += [f"failed: {one.layer}.{one.hook}: {one.code}: {one_line(one.reason)}" for one in self.failures]
        lines += [f"warning: {one_line(warning)}" for warning in self.warnings]
        slow = [f"{run.layer}.{run.hook} {run.milliseconds:.0f} ms" for run in self.hooks if run.milliseconds >= 1]
        if slow:
            lines.append(f"hooks: {', '.join(slow)}")
        if self.blocked:
            lines.append("blocked: the message and what it points at do not fit into the window")
        return "\n".join(lines)


_COLUMNS = (
    Column("layer"),
    Column("what"),
    Column("status"),
    Column("detail"),
    Column("tokens", right=True),
    Column("window", right=True),
    Column("score", right=True),
    Column("why"),
)


def _row(entry: ReceiptEntry) -> tuple[str, ...]:
    return (
        entry.layer,
        one_line(entry.label),
        entry.status,
        entry.detail or "",
        entry.tokens_text,
        f"{entry.share:.1%}",
        "" if entry.score is None else f"{entry.score:g}",
        one_line(entry.reason),
    )


def receipt_json(receipt: Receipt) -> dict[str, Any]:
    """Return the JSON object of ``receipt``."""
    return {
        "turn": receipt.turn,
        "thread": receipt.thread or None,
        "window": receipt.window,
        "reserve": receipt.reserve,
        "tokens": receipt.tokens,
        "entries": to_builtins(receipt.entries),
        "hooks": to_builtins(receipt.hooks),
        "failures": to_builtins(receipt.failures),
        "warnings": list(receipt.warnings),
        "blocked": receipt.blocked,
    }


def receipt_from_json(value: Mapping[str, Any]) -> Receipt:
    """Return the receipt whose JSON object is ``value``."""
    return convert({**value, "thread": value["thread"] or ""}, Receipt)
