"""``Promptuary.threads`` without ``async``. ``with_async.threads`` is the same with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
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
    from promptuary.facades.without_async.calls import Calls
    from promptuary.threads.prepared import Turn
    from promptuary.threads.threads import Threads
    from promptuary.wiring.core import Core


Result = TypeVar("Result")


class BlockingThreads:
    """The threads of the principal: ``Promptuary.threads``."""

    def __init__(self, core: Core, calls: Calls) -> None:
        self._core, self._calls = core, calls

    def prepare(self, text: str, *, thread: str = "main", pasted: Pasted = ()) -> Turn:
        """Assemble a turn of a thread: everything in its window, and what ``text`` points at.

        ``pasted`` are parts of ``text``, as spans or as texts, that are sent but not searched for references.
        """
        return self._await(lambda threads: threads.prepare(text, thread=thread, pasted=pasted))

    def finish(self, turn: Turn, reply: Answer, *, cost: float | None = None) -> Receipt:
        """Record the reply to a turn: the assistant's text, or the model's response, with the results of tools.

        A response is what OpenAI's or Anthropic's API returned, as an object or a dict, or messages and parts of it,
        one or many; everything that ``turn.render`` writes is accepted, too.

        ``cost`` is what you were charged for it, in any currency; ``totals`` adds it up.
        """
        return self._await(lambda threads: threads.finish(turn, reply, cost=cost))

    def extend(self, turn: Turn, answer: Answer) -> Turn:
        """Return the next request of a turn in which the model called tools: send its messages, then extend or finish.

        ``answer`` is the model's message with its calls, and the results of the tools, in any format that ``finish``
        accepts. Tracked files are reread, and results that do not fit are shortened. The given ``turn`` is over
        afterwards.
        """
        return self._await(lambda threads: threads.extend(turn, answer))

    def run(
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
        """Let a model answer a message, with any number of calls of ``tools``, and record everything as one turn.

        ``model`` is a name from the settings or of a provider, or a model; by default that of the setting answer_model.
        ``on_event`` is called with each event as it happens; ``confirm`` is called before a tool that writes, and
        without it such tools are refused. ``pasted`` is as in ``prepare``. If the thread is ``None``, nothing is
        recorded, and the model sees no history.

        Raises ``RunFailedError`` if the model fails. What had arrived by then is recorded in the thread and marked; the
        same holds if the caller is cancelled, which closes the connection at once.
        """
        from promptuary.facades.without_async.hearing import Hearing  # noqa: PLC0415  (few calls run a model)

        heard = Hearing(on_event, confirm)
        return self._calls.listen(
            lambda: self._core.threads(create=thread is not None).run(
                text,
                model,
                tools,
                thread=thread,
                pasted=pasted,
                on_event=heard.on_event,
                confirm=heard.confirm,
                max_requests=max_requests,
            ),
            heard.inbox,
        )

    def tools(self, *, thread: str | None = "main") -> Sequence[Tool]:
        """Return tools for ``run``: read_file, search_files, search_recall_memories and write_memory.

        They see what the thread may see. The last one writes, so ``run`` calls ``confirm`` first.
        """
        return self._calls.run(lambda: self._core.tools(thread))

    def preview(
        self, text: str, tools: Sequence[Tool] = (), *, thread: str | None = "main", pasted: Pasted = ()
    ) -> Turn:
        """Return the turn that ``prepare`` or ``run`` would send, with its receipt; nothing is recorded or written."""
        return self._calls.wait_for(
            lambda: self._core.threads(create=False).preview(text, tools, thread=thread, pasted=pasted)
        )

    def pending(self, *, thread: str = "main") -> Turn | None:
        """Return the turn of a thread that was prepared or extended last, if its reply is pending.

        An agent uses it after a restart to continue with ``extend`` or ``finish``, or to give up the turn with
        ``abandon``.
        """
        return self._run(lambda threads: threads.pending(thread=thread))

    def abandon(self, turn: Turn) -> None:
        """End a turn that gets no reply; nothing of it enters the history."""
        self._await(lambda threads: threads.abandon(turn))

    def compact(self, *, thread: str = "main") -> CompactedThread:
        """Compact the history of a thread now, even if it is not due; the messages stay in the ledger."""
        return self._await(lambda threads: threads.compact(thread=thread))

    def undo(self, *, thread: str = "main") -> UndoneTurn:
        """Undo the last turn of a thread: its messages leave the history, and stay in the ledger.

        A pending turn is abandoned. References and documents that were sent with it are queued for the next message
        again, and files that its message tracked are untracked. Notes and experiences that were written stay. Raises
        ``PromptuaryError`` if there is nothing to undo.
        """
        return self._await(lambda threads: threads.undo(thread=thread))

    def attach(self, word: str, *, thread: str = "main") -> None:
        """Track a path in a thread, or queue a reference for its next message."""
        self._await(lambda threads: threads.attach(word, thread=thread))

    def attach_document(self, name: str, data: bytes, *, thread: str = "main") -> str:
        """Queue a document, such as a PDF or a source file, for the next message of a thread; return its name there.

        It is sent with the message as text from outside. Raises ``SourceError`` if it cannot be read as text.
        """
        return self._run(lambda threads: threads.attach_document(name, data, thread=thread), create=True)

    def detach(self, word: str, *, thread: str = "main") -> None:
        """Untrack a path, or remove a queued reference."""
        self._run(lambda threads: threads.detach(word, thread=thread), create=True)

    def detach_all(self, *, thread: str = "main") -> None:
        """Untrack everything in a thread, and empty its queue."""
        self._run(lambda threads: threads.detach_all(thread=thread), create=True)

    def pin(self, path: str, *, thread: str = "main", on: bool = True) -> None:
        """Put a tracked file before all others, or undo that."""
        self._run(lambda threads: threads.pin(path, thread=thread, on=on), create=True)

    def attachments(self, *, thread: str = "main") -> AttachmentList:
        """Return what is tracked in a thread and queued for its next message."""
        return self._run(lambda threads: threads.attachments(thread=thread))

    def list(self) -> Sequence[ThreadInfo]:
        """Return every thread of the principal, the most recently used first."""
        return self._run(lambda threads: threads.list())

    def turns(self, *, thread: str = "main") -> Sequence[TurnRecord]:
        """Return the turns of a thread from the ledger."""
        return self._run(lambda threads: threads.turns(thread=thread))

    def history(self, *, thread: str = "main", everything: bool = False) -> Sequence[Item]:
        """Return the history of a thread; ``everything`` returns compacted items instead of their summary."""
        return self._run(lambda threads: threads.history(thread=thread, everything=everything))

    def replay(self, *, thread: str = "main", number: int | None = None, fetch: bool = False) -> Replay:
        """Return a past turn exactly as it was sent, and which of its sources have changed since.

        ``fetch`` fetches pages again to compare them.
        """
        return self._run(lambda threads: threads.replay(thread=thread, number=number, fetch=fetch))

    def rerun(
        self, *, thread: str = "main", number: int | None = None, window: int | None = None, model: str | None = None
    ) -> Rerun:
        """Run a past turn again; nothing is recorded.

        With a ``window``, its message is prepared again for that window, with the history before the turn; otherwise
        exactly what was sent is used. ``model`` names a chat model from the settings that answers.
        """
        return self._calls.wait_for(
            lambda: self._core.threads(create=False).rerun(thread=thread, number=number, window=window, model=model)
        )

    def audit(self, source: str, *, finished_only: bool = False, limit: int = 100) -> Audit:
        """Return which turns a source influenced, the newest first; ``finished_only`` returns only answered ones.

        ``source`` is a path, a note (``memory:ID``, or its path), a commit, a URL, or an address from a receipt. Raises
        ``SourceError``, with the nearest matches, if it was in no prompt.
        """
        return self._run(lambda threads: threads.audit(source, finished_only=finished_only, limit=limit))

    def sources(self, *, thread: str = "main", number: int | None = None) -> Sequence[AuditRow]:
        """Return the sources in the prompt of a turn, how each got there, and whether it is unchanged."""
        return self._run(lambda threads: threads.sources(thread=thread, number=number))

    def prune(self, older_than_days: float, *, thread: str | None = None, dry_run: bool = False) -> Pruned:
        """Permanently remove older turns, of one thread or of all, with their prompts and receipts.

        A thread that was used since keeps its history and the numbers of its turns; any other is removed as a whole.
        """
        return self._run(lambda threads: threads.prune(older_than_days, thread=thread, dry_run=dry_run))

    def remove(self, *, thread: str) -> Pruned:
        """Permanently remove a thread: its history, turns, prompts, receipts and attachments.

        Notes and experiences from it stay, and so does its session. Raises ``PromptuaryError`` if there is no thread
        with that name.
        """
        return self._run(lambda threads: threads.remove(thread=thread))

    def rename(self, *, thread: str, name: str) -> None:
        """Rename a thread, with its history, turns, attachments and session.

        Notes and experiences from it still refer to the old name. Raises ``ConflictError`` if there is no such thread,
        or if the new name is taken.
        """
        self._run(lambda threads: threads.rename(thread=thread, name=name))

    def export(
        self, *, thread: str = "main", form: ExportForm = "json", file: Path | None = None, force: bool = False
    ) -> str:
        """Return a thread as JSON, which can be imported, or as Markdown; with ``file``, also write it there.

        JSON has every message, including compacted ones, the receipts of turns without their prompts, and the names of
        tracked files. An existing file is replaced only with ``force``.
        """
        return self._run(lambda threads: threads.export(thread=thread, form=form, file=file, force=force))

    def import_(self, source: str | Path, *, thread: str | None = None) -> ImportedThread:
        """Create a thread from the JSON that ``export`` wrote: ``source`` is the text, or a ``Path``.

        Only the messages are imported, with new ids; they count as text from outside, not as words said here. Raises
        ``ConflictError`` if there is a thread with that name, and ``PromptuaryError`` for invalid input.
        """
        return self._run(lambda threads: threads.import_(source, thread=thread), create=True)

    def forget(self, source: str, *, dry_run: bool = False) -> Audit:
        """Remove a file or a page from every stored prompt and history of the principal; return the turns that had it.

        A mark replaces it; what somebody said about it stays. The file itself and the index are not changed.
        """
        return self._run(lambda threads: threads.forget(source, dry_run=dry_run))

    def totals(self, *, thread: str = "main") -> Totals:
        """Return the tokens, messages and cost of all turns of a thread."""
        return self._run(lambda threads: threads.totals(thread=thread))

    def stats(self, *, thread: str = "main") -> HistoryStats:
        """Return how much of the window the history of a thread takes."""
        return self._run(lambda threads: threads.stats(thread=thread))

    def needs_compaction(self, *, thread: str = "main") -> bool:
        """Return whether the next turn of a thread will compact its history first."""
        return self.stats(thread=thread).needs_compaction

    def _run(self, work: Callable[[Threads], Result], *, create: bool = False) -> Result:
        return self._calls.run(lambda: work(self._core.threads(create=create)))

    def _await(self, work: Callable[[Threads], Coroutine[Any, Any, Result]]) -> Result:
        return self._calls.wait_for(lambda: work(self._core.threads()))
