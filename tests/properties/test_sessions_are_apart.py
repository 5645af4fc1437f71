"""Two owners with two sessions each, and whatever happens in them: nothing crosses: no block, audit row or count."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st

from promptuary import Principal
from promptuary.base.errors import SourceError
from promptuary.blocking import Promptuary
from tests.conftest import TORTURE

OWNERS: Final = (Principal("ada"), Principal("bob"))
SESSIONS: Final = ("one", "two")
"""Both owners call theirs the same."""

KINDS: Final = ("finish", "remember", "tool", "file", "attach", "prefer", "refresh", "abandon")


@dataclass(frozen=True)
class Step:
    """Something that happens in a session of an owner, with a secret that nobody else may see."""

    owner: int
    session: str
    kind: str
    number: int

    @property
    def place(self) -> str:
        return f"{self.owner}-{self.session}"

    @property
    def secret(self) -> str:
        return f"secret-{self.place}-{self.number}-end"


def steps() -> st.SearchStrategy[list[Step]]:
    each = st.tuples(st.integers(0, 1), st.sampled_from(SESSIONS), st.sampled_from(KINDS))
    return st.lists(each, min_size=3, max_size=9).map(
        lambda drawn: [Step(*one, number) for number, one in enumerate(drawn)]
    )


def carry_out(engines: Sequence[Promptuary], folder: Path, done: Sequence[Step]) -> None:
    for step in done:
        p = engines[step.owner]
        root = folder / step.place
        match step.kind:
            case "file":
                (root / f"{step.secret}.md").write_text(f"the tide of {step.secret}\n")
            case "attach":
                (root / f"{step.secret}.md").write_text(step.secret)
                p.threads.attach(f"{step.place}/{step.secret}.md", thread=step.session)
            case "refresh":
                p.sessions.refresh(step.session)
            case "prefer":
                p.experiences.track_preference("tide", step.secret)
            case _:
                said = f'@remember:"the tide of {step.secret}"' if step.kind == "remember" else f"tide {step.secret}"
                turn = p.threads.prepare(said, thread=step.session)
                if step.kind == "tool":
                    note = {"type": "project", "title": step.secret, "content": f"tide {step.secret}"}
                    p.memory.call_tool("write_memory", note, turn=turn)
                if step.kind == "abandon":
                    p.threads.abandon(turn)
                else:
                    p.threads.finish(turn, f"answer to {step.secret}")


@settings(max_examples=150 if TORTURE else 3)
@given(done=steps())
def test_nothing_crosses_from_one_session_to_another(done: list[Step]) -> None:
    with TemporaryDirectory() as place, ExitStack() as stack:
        folder = Path(place)
        engines = [
            stack.enter_context(Promptuary.open(folder, principal=one, exact=True, embedder="none")) for one in OWNERS
        ]
        for owner, p in enumerate(engines):
            for name in SESSIONS:
                (folder / f"{owner}-{name}").mkdir()
                (folder / f"{owner}-{name}" / "start.md").write_text("the tide\n")
                p.sessions.create(name, roots=[f"{owner}-{name}"], notes=[], experiences=[])
        engines[0].search.index(".")
        carry_out(engines, folder, done)
        for owner, p in enumerate(engines):
            assert {one.name for one in p.sessions.list()} == set(SESSIONS)
            for name in SESSIONS:
                check(p, owner, name, done)


def check(p: Promptuary, owner: int, name: str, done: Sequence[Step]) -> None:
    own = [step for step in done if (step.owner, step.session) == (owner, name)]
    foreign = [step.secret for step in done if step not in own]
    turn = p.threads.prepare("what of the tide? @folder:. @glob:**/*.md @memory:tide @search:tide", thread=name)
    report = p.sessions.show(name)
    tool = p.memory.call_tool("search_recall_memories", {"query": "tide secret"}, turn=turn)
    seen = {
        "prompt": repr(turn.messages),
        "receipt": repr((turn.receipt, turn.expansion)),
        "show": repr(report.files),
        "attachments": repr(p.threads.attachments(thread=name)),
        "history": repr(p.threads.history(thread=name, everything=True)),
        "tool": repr(tool),
        "based on": repr(p.threads.sources(thread=name)),
    }
    assert [(where, secret) for where, text in seen.items() for secret in foreign if secret in text] == []
    said = [step.secret for step in own if step.kind == "finish"]
    assert [secret for secret in said if secret not in seen["history"]] == []
    turns = [step for step in own if step.kind in {"finish", "remember", "tool", "abandon"}]
    assert p.threads.totals(thread=name).turns == len(turns) + 1
    wrote = {step.secret for step in own if step.kind in {"remember", "tool"}}
    assert report.session.notes_pinned == len(wrote)
    files = [step for step in own if step.kind in {"file", "attach"}]
    pinned_and_added = report.session.files_pinned + len(report.files.added)
    assert pinned_and_added == len(files) + 1
    assert p.experiences.stats().total == sum((step.owner, step.kind) == (owner, "prefer") for step in done)
    assert [step for step in done if not audited(p, step) <= ({step.session} if step.owner == owner else set())] == []


def audited(p: Promptuary, step: Step) -> set[str]:
    """Return the threads in whose prompts an owner finds the file of a step."""
    try:
        return {row.thread for row in p.threads.audit(f"{step.place}/{step.secret}.md").rows}
    except SourceError:
        return set()
