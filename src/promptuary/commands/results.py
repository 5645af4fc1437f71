"""The results of slash commands: a closed union of values, which each surface shows in its own way.

Where a value of the core says everything, it is the result itself; the values here add what those of the core lack.
``plain_text`` formats each of them for surfaces that show only text.
"""

from collections.abc import Sequence

from msgspec import Struct

from promptuary.commands.registry import SlashCommand
from promptuary.context.history import HistoryStats
from promptuary.memory.values import ForgetReport, MemoryResult, Note, NoteChange, NoteHeader, NoteList
from promptuary.memory.writeback.values import Proposal
from promptuary.prompts.values import NamedPrompt
from promptuary.references.expansion import Measured
from promptuary.search.values import SearchResult
from promptuary.threads.records import ThreadInfo
from promptuary.threads.values import AttachmentList, CompactedThread, Replay, UndoneTurn


class CommandRefused(Struct, frozen=True):
    """Nothing was done; ``reason`` says why, and what to do."""

    reason: str


class CommandDone(Struct, frozen=True):
    """The command is done; a sentence is all there is to show."""

    sentence: str


class ContextShown(Struct, frozen=True):
    """What is in view of a thread, and what waits for its next message.

    ``refused`` has a sentence for each word that was refused. ``whole`` says that the person asked for the cost of
    everything.
    """

    thread: str
    attached: AttachmentList
    stats: HistoryStats
    waiting: Measured
    refused: Sequence[str] = ()
    whole: bool = False


class FilesFound(Struct, frozen=True):
    """The files that the words may mean, most likely first."""

    words: str
    paths: Sequence[str]


class NotesMatched(Struct, frozen=True):
    """The notes that answer a question."""

    query: str
    result: MemoryResult


class NotesChanged(Struct, frozen=True):
    """Notes that were written, archived or restored. ``refused`` has a sentence for each of the others."""

    deed: str
    headers: Sequence[NoteHeader]
    refused: Sequence[str] = ()


class NoteHistory(Struct, frozen=True):
    """The changes to a note, oldest first."""

    key: str
    changes: Sequence[NoteChange]


class ProposalsListed(Struct, frozen=True):
    """The proposals that wait for the person's decision, and the notes that wait for ``adopt``."""

    proposals: Sequence[Proposal]
    unadopted: Sequence[NoteHeader] = ()


class PassagesFound(Struct, frozen=True):
    """The passages of indexed files that answer a question."""

    query: str
    result: SearchResult


class Explained(Struct, frozen=True):
    """A turn with its receipt, and which of its sources have changed since."""

    replay: Replay


class Replayed(Struct, frozen=True):
    """A turn as it was sent."""

    replay: Replay


class ModelsListed(Struct, frozen=True):
    """The models named in the settings, and the current one, if there is one."""

    names: Sequence[str]
    current: str


class ModelChosen(Struct, frozen=True):
    """From now on the surface talks to this model."""

    name: str


class ThreadsListed(Struct, frozen=True):
    """The threads of the principal, most recently used first, and the one that is open."""

    threads: Sequence[ThreadInfo]
    current: str


class ThreadChosen(Struct, frozen=True):
    """From now on the surface uses this thread."""

    name: str
    is_new: bool


class PromptsListed(Struct, frozen=True):
    """The prompts that a slash before their names sends."""

    prompts: Sequence[NamedPrompt]


class HelpShown(Struct, frozen=True):
    """The commands that are allowed here, or the one that was asked for."""

    commands: Sequence[SlashCommand]


class Ended(Struct, frozen=True):
    """The person wants to leave."""


CommandResult = (
    CommandRefused
    | CommandDone
    | ContextShown
    | FilesFound
    | NoteList
    | Note
    | ForgetReport
    | NotesMatched
    | NotesChanged
    | NoteHistory
    | ProposalsListed
    | PassagesFound
    | Explained
    | Replayed
    | CompactedThread
    | UndoneTurn
    | ModelsListed
    | ModelChosen
    | ThreadsListed
    | ThreadChosen
    | PromptsListed
    | HelpShown
    | Ended
)
"""What ``run_command`` returns. A surface may offer the text of an ``UndoneTurn`` to be changed and sent again."""
