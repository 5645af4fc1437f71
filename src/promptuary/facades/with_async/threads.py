"""``Promptuary.threads`` with ``async``; ``without_async.threads`` is the same without."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from promptuary import concurrency

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from promptuary.core.ledger import Audit, AuditRow, Pruned
    from promptuary.core.messages import Answer, Item
    from promptuary.core.ports.threads import ThreadInfo, Totals, TurnRecord
    from promptuary.core.receipts import Receipt
    from promptuary.core.references import Pasted
    from promptuary.core.runs import AnyModel, Confirm, OnEvent, RunResult, Tool
    from promptuary.core.threads import (
        AttachmentList,
        CompactedThread,
        ExportForm,
        HistoryStats,
        ImportedThread,
        Replay,
        Rerun,
        UndoneTurn,
    )
    from promptuary.threads.prepared import Turn
    from promptuary.threads.threads import Threads
    from promptuary.wiring.core import Core


Result = TypeVar("Result")


class AsyncThreads:
    """The threads of the principal: ``Promptuary.threads``."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def prepare(self, text: str, *, thread: str = "main", pasted: Pasted = ()) -> Turn:
        """Assemble a turn of a thread: everything in its window, and what ``text`` points at.

        ``pasted`` are parts of ``text``, as spans or as texts, that are sent and never looked into for references.
        """
        return await (await self._opened()).prepare(text, thread=thread, pasted=pasted)

    async def finish(self, turn: Turn, reply: Answer, *, cost: float | None = None) -> Receipt:
        """Record the reply to a turn: the assistant's text, or what the model answered, with what tools answered it.

        That is what OpenAI's or Anthropic's API returned, as an object or a dict, or messages and parts of it, one or
        many; everything that ``turn.render`` writes is taken too.

        ``cost`` is what you were charged for it, in whatever currency you count; ``totals`` adds it up.
        """
        return await (await self._opened()).finish(turn, reply, cost=cost)

    async def extend(self, turn: Turn, answer: Answer) -> Turn:
        """Return the next request of a turn in which the model called tools: send its messages, then extend or finish.

        ``answer`` is the model's message with its calls, and what the tools answered, in any shape that ``finish``
        takes. Tracked files are looked at again, and results that do not fit are shortened. The ``turn`` that was given
        is over with this.
        """
        return await (await self._opened()).extend(turn, answer)

    async def run(
        self,
        text: str,
        model: AnyModel | None = None,
        tools: Sequence[Tool] = (),
        *,
        thread: str | None = "main",
        pasted: Pasted = (),
        on_event: OnEvent | None = None,
        confirm: Confirm | None = None,
        max_requests: int = 50,
    ) -> RunResult:
        """Let a model answer a message, with as many calls of ``tools`` as it wants, and record it all as one turn.

        ``model`` is a name of the settings or of a provider, or a model; by default that of the setting answer_model.
        ``on_event`` is told what happens, piece by piece; ``confirm`` is asked before a tool that writes is called, and
        without it such tools are refused. ``pasted`` is as in ``prepare``.
        With ``None`` for the thread nothing is recorded, and the model sees no history.

        Raises ``RunFailedError`` if the model fails. Whatever had arrived by then is in the thread, and marked; so it
        is if whoever waits is cancelled, which ends the connection at once.
        """
        return await (await self._opened(create=thread is not None)).run(
            text,
            model,
            tools,
            thread=thread,
            pasted=pasted,
            on_event=on_event,
            confirm=confirm,
            max_requests=max_requests,
        )

    async def tools(self, *, thread: str | None = "main") -> Sequence[Tool]:
        """Return tools for ``run``: read_file, search_files, search_recall_memories and write_memory.

        They see what the thread may see. The last one writes, so ``run`` asks ``confirm`` before.
        """
        return await concurrency.run(lambda: self._core.tools(thread))

    async def preview(
        self, text: str, tools: Sequence[Tool] = (), *, thread: str | None = "main", pasted: Pasted = ()
    ) -> Turn:
        """Return the turn that ``prepare`` or ``run`` would send, with its receipt; nothing is recorded or written."""
        threads = await self._opened(create=False)
        return await threads.preview(text, tools, thread=thread, pasted=pasted)

    async def pending(self, *, thread: str = "main") -> Turn | None:
        """Return the turn of a thread that was prepared or extended last, if it still waits for its reply.

        So an agent goes on after a restart: with ``extend`` or ``finish``, or it gives the turn up with ``abandon``.
        """
        return await self._run(lambda threads: threads.pending(thread=thread))

    async def abandon(self, turn: Turn) -> None:
        """End a turn that gets no reply; nothing of it enters the history."""
        await (await self._opened()).abandon(turn)

    async def compact(self, *, thread: str = "main") -> CompactedThread:
        """Compact the history of a thread now, though it is not due; what was said stays in the ledger."""
        return await (await self._opened()).compact(thread=thread)

    async def undo(self, *, thread: str = "main") -> UndoneTurn:
        """Take the last turn of a thread back: what was said in it leaves the history, and stays in the ledger.

        A turn that still waits for its reply is abandoned. References and documents that went with it wait for the next
        message again, and files that its message put into view leave it. Notes that were written, and experiences,
        stay. Raises ``PromptuaryError`` if there is nothing to take back.
        """
        return await (await self._opened()).undo(thread=thread)

    async def attach(self, word: str, *, thread: str = "main") -> None:
        """Track a path in a thread, or queue a reference for its next message."""
        await (await self._opened()).attach(word, thread=thread)

    async def attach_document(self, name: str, data: bytes, *, thread: str = "main") -> str:
        """Queue a document, such as a PDF or a source file, for the next message of a thread; return its name there.

        It goes with the message as text from outside. Raises ``SourceError`` if it cannot be read as text.
        """
        return await self._run(lambda threads: threads.attach_document(name, data, thread=thread), create=True)

    async def detach(self, word: str, *, thread: str = "main") -> None:
        """Untrack a path, or remove a queued reference."""
        await self._run(lambda threads: threads.detach(word, thread=thread), create=True)

    async def detach_all(self, *, thread: str = "main") -> None:
        """Untrack everything in a thread, and empty its queue."""
        await self._run(lambda threads: threads.detach_all(thread=thread), create=True)

    async def pin(self, path: str, *, thread: str = "main", on: bool = True) -> None:
        """Put a tracked file before all others, or undo that."""
        await self._run(lambda threads: threads.pin(path, thread=thread, on=on), create=True)

    async def attachments(self, *, thread: str = "main") -> AttachmentList:
        """Return what is tracked in a thread and queued for its next message."""
        return await self._run(lambda threads: threads.attachments(thread=thread))

    async def list(self) -> Sequence[ThreadInfo]:
        """Return every thread of the principal, the most recently used first."""
        return await self._run(lambda threads: threads.list())

    async def turns(self, *, thread: str = "main") -> Sequence[TurnRecord]:
        """Return the turns of a thread as the ledger has them."""
        return await self._run(lambda threads: threads.turns(thread=thread))

    async def history(self, *, thread: str = "main", everything: bool = False) -> Sequence[Item]:
        """Return the history of a thread; ``everything`` shows compacted items in the place of their summary."""
        return await self._run(lambda threads: threads.history(thread=thread, everything=everything))

    async def replay(self, *, thread: str = "main", number: int | None = None, fetch: bool = False) -> Replay:
        """Return a past turn exactly as it was sent, and which of its sources have changed since.

        ``fetch`` fetches pages again to compare them.
        """
        return await self._run(lambda threads: threads.replay(thread=thread, number=number, fetch=fetch))

    async def rerun(
        self, *, thread: str = "main", number: int | None = None, window: int | None = None, model: str | None = None
    ) -> Rerun:
        """Run a past turn again; nothing is recorded.

        With a ``window``, its message is prepared anew for that window, against the history as it stood before the
        turn; otherwise exactly what was sent is sent again. ``model`` names a chat model of the settings, which
        answers.
        """
        threads = await concurrency.run(lambda: self._core.threads(create=False))
        return await threads.rerun(thread=thread, number=number, window=window, model=model)

    async def audit(self, source: str, *, finished_only: bool = False, limit: int = 100) -> Audit:
        """Return which turns a source influenced, the newest first; ``finished_only`` those that got an answer.

        ``source`` is a path, a note (``memory:ID``, or its path), a commit, a URL, or an address as receipts have it.
        Raises ``SourceError``, which names what comes nearest, if it was in no prompt.
        """
        return await self._run(lambda threads: threads.audit(source, finished_only=finished_only, limit=limit))

    async def sources(self, *, thread: str = "main", number: int | None = None) -> Sequence[AuditRow]:
        """Return what a turn was based on: every source in its prompt, how it got there, and whether it is the same."""
        return await self._run(lambda threads: threads.sources(thread=thread, number=number))

    async def prune(self, older_than_days: float, *, thread: str | None = None, dry_run: bool = False) -> Pruned:
        """Remove the turns that are older, of one thread or of all, with their prompts and receipts, for good.

        A thread that was used since keeps its history and the numbers of its turns; any other goes as a whole.
        """
        return await self._run(lambda threads: threads.prune(older_than_days, thread=thread, dry_run=dry_run))

    async def remove(self, *, thread: str) -> Pruned:
        """Remove a thread for good: its history, turns, prompts, receipts and what is attached to it.

        Notes and experiences that came of it stay, and so does a session over it. Raises ``PromptuaryError`` if there
        is no thread of that name.
        """
        return await self._run(lambda threads: threads.remove(thread=thread))

    async def rename(self, *, thread: str, name: str) -> None:
        """Give a thread another name: history, turns, attachments, and a session over it go with it.

        Notes and experiences that came of it still say the name of that time. Raises ``ConflictError`` if there is no
        such thread, or if that name is taken.
        """
        await self._run(lambda threads: threads.rename(thread=thread, name=name))

    async def export(
        self, *, thread: str = "main", form: ExportForm = "json", file: Path | None = None, force: bool = False
    ) -> str:
        """Return a thread as JSON, which can be imported, or as Markdown; with ``file``, also write it there.

        JSON has every message, also those that were compacted, the receipts of turns without their prompts, and the
        names of tracked files. A file that exists is replaced only with ``force``.
        """
        return await self._run(lambda threads: threads.export(thread=thread, form=form, file=file, force=force))

    async def import_(self, source: str | Path, *, thread: str | None = None) -> ImportedThread:
        """Make a new thread of what ``export`` wrote as JSON: ``source`` is the text, or a ``Path``.

        It gets the messages alone, with ids of its own; nothing is learnt from them as if it had been said here.
        Raises ``ConflictError`` if there is a thread of that name, and ``PromptuaryError`` for anything else.
        """
        return await self._run(lambda threads: threads.import_(source, thread=thread), create=True)

    async def forget(self, source: str, *, dry_run: bool = False) -> Audit:
        """Take a file or a page out of every stored prompt and history of the principal; return the turns that had it.

        A mark stands in its place; what somebody said about it stays. The file itself and the index are not touched.
        """
        return await self._run(lambda threads: threads.forget(source, dry_run=dry_run))

    async def totals(self, *, thread: str = "main") -> Totals:
        """Return the tokens, messages and cost of all turns of a thread."""
        return await self._run(lambda threads: threads.totals(thread=thread))

    async def stats(self, *, thread: str = "main") -> HistoryStats:
        """Return how much of the window the history of a thread takes."""
        return await self._run(lambda threads: threads.stats(thread=thread))

    async def needs_compaction(self, *, thread: str = "main") -> bool:
        """Return whether the next turn of a thread will compact its history first."""
        return (await self.stats(thread=thread)).needs_compaction

    async def _opened(self, *, create: bool = True) -> Threads:
        return await concurrency.run(lambda: self._core.threads(create=create))

    async def _run(self, work: Callable[[Threads], Result], *, create: bool = False) -> Result:
        return await concurrency.run(lambda: work(self._core.threads(create=create)))
