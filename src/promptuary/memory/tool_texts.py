"""The answers of the tools for notes as a model reads them: Markdown, with what it needs to go on, and no more. Pure.

Programs get the same answers as values. A note is a block like any other: its text is inside a fence that it cannot
close, and other people's text is inside a boundary that it cannot forge.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from promptuary.base.blocks import Source, Trust
from promptuary.base.text import counted, one_line, shortened
from promptuary.memory.recall.digest import is_external
from promptuary.memory.recall.freshness import age_in_days
from promptuary.memory.values import NoteHeader, NoteList
from promptuary.references.render import answer_block

_MAX_TITLE: Final = 120
_MAX_TAGS: Final = 80


def answer_text(answer: Mapping[str, Any]) -> str:
    """Return the answer of a tool that reads or writes notes as text."""
    if "error" in answer:
        return str(answer["error"])
    if "written" in answer:
        return _written(answer)
    if "memories" not in answer:
        return _note(answer).rstrip("\n")
    said = [one_line(str(note)) for note in answer.get("notes", ())]
    if not answer["memories"]:
        said.append("No note is about this.")
    elif not answer["answers"]:
        said.append("None of these notes seems to answer; they are the nearest.")
    head = "".join(f"{line}\n\n" for line in said)
    return f"{head}{''.join(map(_note, answer['memories']))}".rstrip("\n")


def _note(note: Mapping[str, Any]) -> str:
    text = str(note.get("content", note.get("text", ""))).strip()
    if note["trust"] == "external":  # the text is a block already
        return f"{text}\n\n"
    title = str(note["title"])
    facts = [f"memory:{note['memory_id']}", str(note["type"])]
    facts += ["shared"] if note["audience"] == "shared" else []
    facts += ["written by an agent"] if note["trust"] == "agent" else []
    facts += [str(note["freshness"])] if "freshness" in note else []
    facts += [f"tags: {', '.join(note['tags'])}"] if note["tags"] else []
    # A title may be all that a note says; to say it twice costs twice.
    return answer_block(_source(title, "" if text == title else text, tuple(facts)))


def _written(answer: Mapping[str, Any]) -> str:
    address = f"memory:{answer['memory_id']}" if "memory_id" in answer else ""
    if not answer["written"]:
        proposal = f" (proposal {answer['proposal']})" if "proposal" in answer else ""
        return f"Not written: {answer['why']}{f': {address}' if address else ''}{proposal}"
    unconfirmed = ", as text from elsewhere until the person confirms it" if answer.get("trust") == "external" else ""
    hint = f"\n{one_line(str(answer['hint']))}" if "hint" in answer else ""
    return f"Written: {address}{unconfirmed}{hint}"


def list_text(listed: NoteList, now: str) -> str:
    """Return notes as a list, a line each, and how many more there are."""
    if not listed.headers:
        return "There are no such notes."
    own = [header for header in listed.headers if not is_external(header)]
    others = [header for header in listed.headers if is_external(header)]
    more = listed.total - len(listed.headers)
    lists = [
        *([_list("Notes", own, now)] if own else []),
        *([_list("Notes from elsewhere, or by agents", others, now, Trust.EXTERNAL)] if others else []),
        *([f"… and {counted(more, 'more note')}: raise limit, or filter by type or tag"] if more > 0 else []),
    ]
    return "".join(lists).rstrip("\n")


def _list(label: str, headers: Sequence[NoteHeader], now: str, trust: Trust = Trust.WORKSPACE) -> str:
    return answer_block(_source(label, "\n".join(_lines(headers, now)), trust=trust))


def _lines(headers: Sequence[NoteHeader], now: str) -> Iterator[str]:
    for header in headers:
        title = one_line(shortened(" ".join(header.title.split()), _MAX_TITLE))
        about = [
            header.kind,
            *(["shared"] if header.audience == "shared" else []),
            *(["pinned"] if header.pinned else []),
        ]
        about += [_age(header, now)]
        tags = one_line(shortened(", ".join(header.tags), _MAX_TAGS))
        yield f"- {header.address} {title} ({', '.join(about)}){f' tags: {tags}' if tags else ''}"


def _age(header: NoteHeader, now: str) -> str:
    age = age_in_days(header, now)
    if age is None:
        return "of unknown age"
    days = int(age)
    return "today" if days < 1 else "yesterday" if days == 1 else f"{days:,} days ago"


def _source(label: str, text: str, facts: tuple[str, ...] = (), trust: Trust = Trust.WORKSPACE) -> Source:
    return Source(key="", label=label, kind="memory", text=text, revision="", facts=facts, trust=trust, brief=True)
