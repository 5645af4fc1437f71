"""The result of a slash command as plain text: for gateways, and for what the chat does not show in another form.

Hidden characters in texts of files, notes and models are spelled out, so that no terminal interprets them.
"""

from collections.abc import Iterator, Sequence
from typing import Final, assert_never

from promptuary.base.table import Column, table
from promptuary.base.text import beginning, counted, one_line, visible
from promptuary.commands import results
from promptuary.commands.parsing import MARK
from promptuary.commands.registry import SlashCommand
from promptuary.commands.results import CommandResult
from promptuary.layers.tracked.state import TrackedFile
from promptuary.memory.values import ForgetReport, Note, NoteHeader, NoteList
from promptuary.memory.writeback.values import Proposal
from promptuary.present.threads import drift_lines, message_text
from promptuary.present.window_bar import bar_text
from promptuary.prompts.values import NamedPrompt
from promptuary.search.query import only_near
from promptuary.search.values import Hit, note_text
from promptuary.threads.values import CompactedThread, Replay, UndoneTurn, turn_numbers

_DAY: Final = len("2026-01-31")
_MAX_EXCERPT: Final = 300
_MAX_TITLE: Final = 100


def plain_text(result: CommandResult, mark: str = MARK) -> str:  # noqa: C901, PLR0912  (one case a result)
    """Return ``result`` as text for people, without a line break at its end; commands in it begin with ``mark``."""
    match result:
        case results.CommandRefused(sentence) | results.CommandDone(sentence):
            return one_line(sentence)
        case results.ContextShown():
            return "\n".join(_context_lines(result, mark))
        case results.FilesFound(words, paths):
            return "\n".join(map(one_line, paths)) or f"no file of this workspace matches {one_line(words)}"
        case NoteList():
            return "\n".join(_note_lines(result, mark))
        case results.NotesMatched():
            return "\n".join(_match_lines(result))
        case Note():
            return _note(result)
        case results.NotesChanged():
            return "\n".join(_change_lines(result))
        case results.NoteHistory():
            return "\n".join(_history_lines(result))
        case ForgetReport():
            return "\n".join(_forget_lines(result, mark))
        case results.ProposalsListed(proposals, unadopted):
            return "\n".join(_proposal_lines(proposals, unadopted, mark))
        case results.PassagesFound():
            return "\n".join(_passage_lines(result))
        case results.Explained(replay):
            return "\n".join(_receipt_lines(replay))
        case results.Replayed(replay):
            return "\n".join(_prompt_lines(replay))
        case CompactedThread():
            if not result.replaced:
                return f"the history is short already: {result.tokens_before:,} tokens"
            return f"the history has {result.tokens_after:,} tokens now, and had {result.tokens_before:,}"
        case UndoneTurn():
            return "\n".join(_undo_lines(result))
        case results.ModelsListed(names, current):
            return "\n".join(_model_lines(names, current, mark))
        case results.ModelChosen(name):
            return f"{one_line(name)} answers from now on"
        case results.ThreadsListed():
            return "\n".join(_thread_lines(result))
        case results.ThreadChosen(name, is_new):
            return f"thread {one_line(name)}{' begins' if is_new else ''}"
        case results.PromptsListed(prompts):
            return "\n".join(_named_lines(prompts, mark))
        case results.HelpShown(commands):
            return "\n".join(_help_lines(commands, mark))
        case results.Ended():
            return "bye"
        case _:
            assert_never(result)


def _undo_lines(undone: UndoneTurn) -> Iterator[str]:
    numbers = undone.requests or (undone.number,)
    verb = "is" if len(numbers) == 1 else "are"
    became = f"{verb} taken back" if undone.answered else f"had no answer yet, and {verb} given up"
    yield f"{turn_numbers(numbers)} {became}: {one_line(undone.text)[:_MAX_TITLE]}"
    yield from (f"{one_line(path)} goes with the next message again" for path in undone.queued)
    yield from (f"{one_line(path)} is no longer in view" for path in undone.untracked)


def _context_lines(shown: results.ContextShown, mark: str) -> Iterator[str]:
    yield from shown.refused
    window, stats = max(shown.stats.window, 1), shown.stats
    rows = [
        (
            one_line(file.path) + (" (pinned)" if file.pinned else ""),
            _state(file),
            f"{file.tokens:,}",
            f"{file.tokens / window:.1%}",
        )
        for file in shown.attached.tracked
    ]
    waiting = shown.waiting
    rows += [
        (one_line(word), "with the next message", f"{tokens:,}", f"{tokens / window:.1%}")
        for word, tokens in waiting.waiting
    ]
    rows += [(one_line(word), "with the next message, and counted then", "", "") for word in waiting.uncounted]
    total = sum(file.tokens for file in shown.attached.tracked) + sum(tokens for _, tokens in waiting.waiting)
    if shown.whole:
        rows.append(("history", counted(stats.messages, "message"), f"{stats.tokens:,}", f"{stats.share:.1%}"))
        total += stats.tokens
    if rows:
        rows.append(("total", "", f"{total:,}", f"{total / window:.1%}"))
        columns = (Column("in view"), Column("state"), Column("tokens", right=True), Column("window", right=True))
        yield table(columns, rows)
    else:
        yield f"nothing is kept in view of {one_line(shown.thread)}: {mark}context add PATH, or #path in a message"
    if shown.whole:
        yield f"window: {stats.window:,} tokens; {mark}context drop PATH and {mark}compact make room"
    else:
        yield f"history: {counted(stats.messages, 'message')}, {stats.tokens:,} tokens, {stats.share:.1%} of the window"


def _state(file: TrackedFile) -> str:
    """Return the state of a file in words, such as "deleted" and "file too large"."""
    return file.code.lower().replace("_", " ") or file.state


def _note_lines(listed: NoteList, mark: str) -> Iterator[str]:
    headers, total = listed.headers, listed.total
    if not listed.complete:
        yield "not all notes are listed: their files are still being read; try again soon"
    if not headers:
        if listed.complete:
            yield f"nothing is remembered yet: {mark}memory write TEXT"
        return
    rows = [
        (header.id, header.kind, (header.updated_at or header.created_at)[:_DAY], _title(header)) for header in headers
    ]
    yield table([Column("id"), Column("kind"), Column("updated"), Column("title")], rows)
    if total > len(headers):
        yield f"and {total - len(headers):,} more; {mark}memory search WORDS finds them"


def _title(header: NoteHeader) -> str:
    marks = ["(pinned)"] if header.pinned else []
    marks += [f"({header.status})"] if header.status != "active" else []
    marks += ["(from elsewhere)"] if header.external else []
    return " ".join([*marks, one_line(header.title)[:_MAX_TITLE]])


def _match_lines(found: results.NotesMatched) -> Iterator[str]:
    if not found.result.hits:
        yield f"no note answers {one_line(found.query)[:_MAX_TITLE]}"
    for hit in found.result.hits:
        yield f"{hit.header.id}  {_title(hit.header)}"
        yield f"   {_excerpt(hit.text)}"
    yield from (f"note: {one_line(note_text(note))}" for note in found.result.notes)
    if only_near(found.query, found.result):
        yield "nothing seems to answer that; these are the nearest notes"


def _excerpt(text: str) -> str:
    flat = one_line(" ".join(text.split()))
    return flat if len(flat) <= _MAX_EXCERPT else f"{flat[:_MAX_EXCERPT].rstrip()}…"


def _note(note: Note) -> str:
    head = note.header
    states = ", ".join([head.kind, head.audience, head.status, *(["pinned"] if head.pinned else [])])
    tags = f"\ntags: {one_line(', '.join(head.tags))}" if head.tags else ""
    return f"{one_line(head.title)}\nid: {head.id} ({states}){tags}\n\n{visible(note.body)[0].strip()}"


def _change_lines(changed: results.NotesChanged) -> Iterator[str]:
    yield from (f"{changed.deed}: {header.id}  {_title(header)}" for header in changed.headers)
    yield from changed.refused


def _history_lines(shown: results.NoteHistory) -> Iterator[str]:
    if not shown.changes:
        yield f"nothing is known about {one_line(shown.key)}"
    for change in shown.changes:
        why = f": {one_line(change.reason)[:_MAX_TITLE]}" if change.reason else ""
        yield f"{change.number}. {change.at[:19]} {change.kind} by {one_line(change.actor)}{why}"


def _forget_lines(report: ForgetReport, mark: str) -> Iterator[str]:
    stored = f"{counted(report.prompts, 'place')} among stored prompts and states"
    copies = f", with its copies in {stored}" if report.prompts else ""
    yield f"{report.note} {'is' if report.done else 'would be'} forgotten{copies}"
    places = [
        f"{place.kind} {one_line(place.name)}" + (f", turn {place.turn}" if place.turn else "")
        for place in report.places
    ]
    yield from (f"it was also said in {place}, where it stays" for place in places[:10])
    if len(places) > 10:
        yield f"and in {len(places) - 10:,} more places"
    if report.in_git:
        yield "git tracks the file: what was committed stays in the history of git"
    if not report.done:
        yield f"this cannot be undone; to confirm: {mark}memory forget {report.note} yes"


def _proposal_lines(proposals: Sequence[Proposal], unadopted: Sequence[NoteHeader], mark: str) -> Iterator[str]:
    if not proposals:
        yield "no proposal waits for your decision"
    for proposal in proposals:
        draft = proposal.draft
        deed = f"archive {draft.id}" if proposal.action == "archive" else f"change {draft.id}" if draft.id else "write"
        yield f"{proposal.id}  {deed}: {_excerpt(draft.content or draft.title or proposal.evidence)}"
    if proposals:
        yield f"{mark}memory accept ID, or {mark}memory reject ID"
    for header in unadopted:
        yield f"{header.id}  not trusted yet: {_excerpt(header.title)}"
    if unadopted:
        yield f"{mark}memory adopt ID trusts a note"


def _passage_lines(found: results.PassagesFound) -> Iterator[str]:
    if not found.result.hits:
        yield f"nothing found for {one_line(found.query)[:_MAX_TITLE]}"
    for number, hit in enumerate(found.result.hits, 1):
        yield from _hit_lines(number, hit)
    yield from (f"note: {one_line(note_text(note))}" for note in found.result.notes)
    if only_near(found.query, found.result):
        yield "nothing here seems to answer that; these are the nearest passages"


def _hit_lines(number: int, hit: Hit) -> Iterator[str]:
    heading = f"  {one_line(' > '.join(hit.heading))}" if hit.heading else ""
    yield f"{number}. @file:{one_line(hit.place)}{heading}"
    yield f"   {_excerpt(hit.text)}"
    if hit.more:
        yield f"   and {counted(hit.more, 'more passage')} of this document"


def _receipt_lines(replay: Replay) -> Iterator[str]:
    """Yield the lines of ``/why``: the turn, its receipt as a table, the bar, and what has changed since."""
    turn = replay.turn
    yield f"{replay.heading()}: {one_line(turn.text)[:_MAX_TITLE]}"
    yield turn.receipt.explain()
    yield bar_text(turn.receipt)
    yield from drift_lines(replay)


def _prompt_lines(replay: Replay) -> Iterator[str]:
    for message in replay.turn.messages:
        yield f"[{message['role']}]\n{visible(message_text(message))[0]}\n"
    yield from drift_lines(replay)


def _model_lines(names: Sequence[str], current: str, mark: str) -> Iterator[str]:
    yield from (f"{'*' if name == current else ' '} {one_line(name)}" for name in names)
    if current and current not in names:
        yield f"* {one_line(current)}"
    if not names and not current:
        yield f'no model is configured: answer_model = "ollama/llama3.2" in your configuration, or {mark}model NAME'
    else:
        yield f"{mark}model NAME switches to another one; a provider's own name is enough, as in ollama/llama3.2"


def _thread_lines(shown: results.ThreadsListed) -> Iterator[str]:
    if not shown.threads:
        yield "no thread has been used yet"
    for thread in shown.threads:
        mark = "*" if thread.id == shown.current else " "
        size = f"{counted(thread.turns, 'turn')}, {counted(thread.items, 'message')}"
        yield f"{mark} {one_line(thread.id)}  {size}, last used {thread.updated[:16]}"


def _named_lines(prompts: Sequence[NamedPrompt], mark: str) -> Iterator[str]:
    if not prompts:
        yield "there are no prompts yet"
    for one in prompts:
        about = beginning(one_line(one.description), _MAX_TITLE)
        yield "  ".join(filter(None, [f"{mark}{one.name} {one_line(one.takes)}".rstrip(), about]))


def _help_lines(commands: Sequence[SlashCommand], mark: str) -> Iterator[str]:
    rows = help_rows(commands, mark)
    if len(commands) == 1 and commands[0].actions:
        yield f"{mark}{commands[0].name}: {commands[0].meaning}"
    width = max(len(usage) for usage, _ in rows)
    yield from (f"{usage.ljust(width)}  {meaning}" for usage, meaning in rows)


def help_rows(commands: Sequence[SlashCommand], mark: str) -> list[tuple[str, str]]:
    """Return the usage and meaning of each command; for a single command, those of each of its actions."""
    if len(commands) == 1 and commands[0].actions:
        (command,) = commands
        return [
            (f"{mark}{command.name} {action.name} {action.takes}".rstrip(), action.meaning)
            for action in command.actions
        ]
    return [(command.usage(mark), command.described) for command in commands]
