"""Answers one message: a command, a choice by number, documents, or a turn that the model answers.

An answer is Markdown; plain text in it is escaped. Errors of the model and of the machine are logged for the operator;
the person gets a sentence without any detail of the machine.
"""

import asyncio
import logging
import re
from contextlib import suppress
from typing import Final

from msgspec import Struct, field

from promptuary.base.errors import Code, ConfigError, PlatformError, PromptuaryError, RunFailedError, SourceError
from promptuary.base.references import format_reference
from promptuary.base.text import one_line
from promptuary.commands.parsing import Invocation, is_command, parse, unescaped
from promptuary.commands.prompts import PromptToRead, fill_prompt
from promptuary.commands.results import CommandRefused, CommandResult, FilesFound
from promptuary.commands.run import run_command
from promptuary.config.gateways import NamedGateway
from promptuary.engine import Promptuary
from promptuary.gateways.delivery import Delivery, insist
from promptuary.gateways.inbox import AsyncInbox
from promptuary.gateways.inbox_store import Received
from promptuary.gateways.model import model_trouble
from promptuary.gateways.people import thread_of
from promptuary.gateways.port import ChatFile, Inbound, Platform
from promptuary.gateways.texts.chunking import close_fence
from promptuary.gateways.texts.markdown import code, escape
from promptuary.gateways.texts.wording import about_references, in_chat, unanswered, unseen_paths, word_error
from promptuary.models.chat_model import TextPiece
from promptuary.prompts.values import FilledPrompt
from promptuary.threads.prepared import Turn
from promptuary.threads.run_values import INTERRUPTED, RunEvent, TurnPrepared

logger = logging.getLogger(__name__)

COMMANDS: Final = frozenset({"context", "memory", "find", "search", "why", "compact", "undo", "prompts", "help"})
"""The slash commands of a chat: none of them touches the machine, or chooses something that costs money."""

GREETING: Final = "Hello! Write to me as you would to anybody; {mark}help shows what else I can do."
RESTARTED: Final = "(I was restarted while I answered; this is the answer.)"
UNCERTAIN: Final = "I was restarted while I did this. Check whether it is done, and send it again if it is not."
MODEL_FAILED: Final = "The model did not answer. Please try again in a while."
MODEL_BROKE_OFF: Final = "The model stopped here. Ask it to continue, or try again."
NO_MODEL: Final = "No model is set up for this chat. The operator of this bot has to set one."
SLOW: Final = "The model takes longer than usual. I am still waiting for it."
PICTURE: Final = "I cannot see pictures. Describe what is in it, or send the text as a document."
SOUND: Final = "I cannot hear voice messages or sound. Please write instead."
OTHER: Final = "I can only read documents of text."

_ONCE: Final = frozenset({("undo", ""), ("memory", "undo"), ("memory", "write"), ("memory", "remember")})
"""The commands and actions that are not idempotent: to run them again would do something else, or more."""
_SLOW_SECONDS: Final = 20.0
_FOUND: Final = "found"
_START: Final = re.compile(r"/start(?:@\w+)?(?=\s|$)")
"""Telegram sends this when somebody opens a chat with a bot."""
_MAX_FOUND: Final = 9
_IN_VIEW: Final = "file_reference"
"""The layer of tracked files."""
_LINK_TO_FILE: Final = re.compile(r"\[#(.+?)\]\(#[\w-]+\)")
"""The text that replaces ``#path`` in a message."""
_NUMBERS: Final = re.compile(r"\s*#?\d{1,2}(?:[\s,]+#?\d{1,2}){0,8}\s*\.?\s*")


class AnsweredChat(Struct):
    """A conversation as an answer needs it."""

    gateway: NamedGateway
    platform: Platform
    inbox: AsyncInbox
    promptuary: Promptuary
    message: Inbound
    slow_seconds: float = _SLOW_SECONDS
    notes: list[str] = field(default_factory=list)
    """Sentences to show before the answer."""

    @property
    def thread(self) -> str:
        return thread_of(self.gateway, self.message)

    @property
    def mark(self) -> str:
        """The prefix of a command."""
        return self.platform.capabilities.command_mark


async def answer(chat: AnsweredChat, received: Received, delivery: Delivery) -> str:
    """Return the whole answer to a message; the part that exists so far is shown meanwhile."""
    text = with_slash(chat.message.text.strip(), chat.mark)
    if received.begun and _is_done_once(text):
        return UNCERTAIN
    filled = await _filled(chat, text)
    if isinstance(filled, FilledPrompt):
        said, sent = None, filled.text
    elif filled is None:
        said, sent = await _immediate_answer(chat, text), as_sent(chat.message.text.strip(), chat.mark)
    else:
        said, sent = in_chat(filled, chat.mark), ""
    if said is not None:
        return "\n\n".join([said, *await _documents(chat), *chat.notes])
    if await chat.inbox.get_note(chat.gateway.name, chat.message.place, _FOUND) is not None:
        # A number is a choice only right after the list: later, it may be an answer to the model.
        await chat.inbox.set_note(chat.gateway.name, chat.message.place, _FOUND, None)
    # Before the documents: those of an answered message would be attached to the next one, too.
    if text and received.begun and (before := await _earlier_answer(chat, received, sent)) is not None:
        return f"{RESTARTED}\n\n{before}"
    documents = await _documents(chat)
    if not text:
        return "\n".join([*chat.notes, *documents]) or "There is nothing in that message that I can read."
    if received.begun:
        chat.notes.append(RESTARTED)
    return await _Run(chat, delivery).answer(sent, filled.origin if isinstance(filled, FilledPrompt) else "")


async def _filled(chat: AnsweredChat, text: str) -> FilledPrompt | CommandRefused | None:
    """Return what a prompt sends that the message names: one of the workspace that the operator has accepted."""
    mark = chat.mark
    line = f"/{text.removeprefix(mark)}" if text.startswith(mark) else text
    found = await fill_prompt(chat.promptuary, line, mark=mark, worded=lambda error: word_error(error, mark))
    return None if isinstance(found, PromptToRead) else found  # nobody but the person may accept it


async def _immediate_answer(chat: AnsweredChat, text: str) -> str | None:
    """Return an answer that needs no model: a greeting, the result of a command, or of a choice by number."""
    if _START.match(text):
        return GREETING.format(mark=chat.mark)
    return await _command(chat, text) if is_command(text) else await _attach_chosen(chat, text)


def _is_done_once(text: str) -> bool:
    found = parse(text, COMMANDS) if is_command(text) else None
    return isinstance(found, Invocation) and (found.command, found.action) in _ONCE


async def _earlier_answer(chat: AnsweredChat, received: Received, sent: str) -> str | None:
    """Return the answer of the model, if an earlier process recorded it before it ended.

    An answer that was interrupted by the end of the process is taken back, so that the model is asked again.
    """
    turns = await chat.promptuary.threads.turns(thread=chat.thread)
    if not turns or turns[-1].status != "finished" or turns[-1].text != sent:
        return None
    if turns[-1].created[:19] < received.received[:19]:  # to the second
        return None
    history = await chat.promptuary.threads.history(thread=chat.thread)
    said = history[-1].content if history and history[-1].role == "assistant" else None
    if said is not None and said.endswith(INTERRUPTED):
        await chat.promptuary.threads.undo(thread=chat.thread)
        return None
    return said


async def _command(chat: AnsweredChat, text: str) -> str:
    result: CommandResult = await run_command(
        chat.promptuary,
        text,
        thread=chat.thread,
        allowed=COMMANDS,
        mark=chat.mark,
        worded=lambda error: word_error(error, chat.mark),
    )
    if not isinstance(result, FilesFound):
        return in_chat(result, chat.mark)
    found = FilesFound(result.words, result.paths[:_MAX_FOUND])
    await chat.inbox.set_note(chat.gateway.name, chat.message.place, _FOUND, [*found.paths] or None)
    if not found.paths:
        return "Nothing of that name is available here."
    return f"{in_chat(found, chat.mark)}\n\nReply with a number to attach it."


async def _attach_chosen(chat: AnsweredChat, text: str) -> str | None:
    """Attach the results with these numbers; ``None`` if the message is not a choice."""
    if not _NUMBERS.fullmatch(text):
        return None
    found = await chat.inbox.get_note(chat.gateway.name, chat.message.place, _FOUND)
    if not isinstance(found, list):
        return None
    numbers = list(dict.fromkeys(int(one) for one in re.findall(r"\d+", text)))
    if not all(1 <= number <= len(found) for number in numbers):
        return (
            f"Reply with a number from 1 to {len(found)}." if len(found) > 1 else "There is one result: reply with 1."
        )
    attached, lines = [], []
    for number in numbers:
        path = str(found[number - 1])
        try:
            await chat.promptuary.threads.attach(format_reference("file", path), thread=chat.thread)
            attached.append(code(one_line(path)))
        except SourceError as error:
            lines.append(f"{code(one_line(path))}: {escape(error.reason)}.")
    await chat.inbox.set_note(chat.gateway.name, chat.message.place, _FOUND, None)
    if attached:
        verb, it = ("is", "it") if len(attached) == 1 else ("are", "them")
        lines.insert(0, f"{', '.join(attached)} {verb} attached; {chat.mark}context drop PATH takes {it} away again.")
    return "\n".join(lines)


async def _documents(chat: AnsweredChat) -> list[str]:
    """Attach the documents of a message, and return a sentence about each; an unreadable one adds to ``notes``."""
    told: list[str] = []
    for file in chat.message.files:
        name = one_line(file.name)[:100] or "document"
        if file.kind != "document":
            sentence = {"picture": PICTURE, "sound": SOUND}.get(file.kind, OTHER)
            if sentence not in chat.notes:
                chat.notes.append(sentence)
            continue
        try:
            data = await _download(chat, file)
            label = await chat.promptuary.threads.attach_document(name, data, thread=chat.thread)
            told.append(f"I have {code(label)}. What shall I do with it?")
        except SourceError as error:
            chat.notes.append(f"{code(name)} could not be read: {_reason(error)}")
        except PlatformError as error:
            logger.warning("a document could not be downloaded: %s", error)
            chat.notes.append(f"{code(name)} could not be downloaded; please send it again.")
    return told


async def _download(chat: AnsweredChat, file: ChatFile) -> bytes:
    most = chat.platform.capabilities.largest_download
    if file.size > most:
        raise SourceError(Code.FILE_TOO_LARGE, f"it is larger than {most // 1024 // 1024} MB")
    return await insist(lambda: chat.platform.download(file), tries=3)


def _reason(error: SourceError) -> str:
    if error.code is Code.FILE_TOO_LARGE:
        return "it is too large."
    return "it is not text." if error.code is Code.BINARY else "it is too broken, or not text."


class _Run:
    """One turn that the model answers: collects the answer, and shows it while it comes in."""

    def __init__(self, chat: AnsweredChat, delivery: Delivery) -> None:
        self._chat, self._delivery = chat, delivery
        self._said = ""
        self._tokens = 0
        self._not_in_view: list[str] = []
        self._heard = asyncio.Event()

    async def answer(self, text: str, origin: str) -> str:
        watching = asyncio.create_task(self._watch())
        try:
            name = self._chat.gateway.model or None
            result = await self._chat.promptuary.threads.run(
                text, name, thread=self._chat.thread, prompt=origin, on_event=self._hear
            )
            self._said = result.reply or self._said
        except RunFailedError as error:
            logger.warning("the model failed: %s", error)
            return self._whole(MODEL_BROKE_OFF if self._said.strip() else MODEL_FAILED)
        except PromptuaryError as error:
            return self._whole(self._failure(error))
        except asyncio.CancelledError:
            watching.cancel()
            raise
        finally:
            # Not cancelled: the part that it is sending would arrive without being recorded.
            self._heard.set()
            await asyncio.gather(watching, return_exceptions=True)
            for path in self._not_in_view:
                with suppress(PromptuaryError):  # then it is not in view
                    await self._chat.promptuary.threads.detach(path, thread=self._chat.thread)
        return self._whole("" if self._said.strip() else "The model had nothing to say.")

    async def _hear(self, event: RunEvent) -> None:
        match event:
            case TurnPrepared(turn):
                self._tokens = count_injected(turn)
                self._chat.notes += about_references(turn.expansion)
                self._not_in_view = [path for path, _ in unseen_paths(turn.expansion)]
                await self._delivery.typing()
            case TextPiece(text):
                self._said += text
                self._heard.set()
                await self._delivery.show(self._whole(""))
            case _:
                pass

    def _failure(self, error: PromptuaryError) -> str:
        """Return a sentence about an error for the person, and log the error for the operator."""
        logger.warning("a message could not be answered: %s", one_line(str(error)))
        # A missing workspace is a ConfigError, too: only the settings tell whether the model is the cause.
        if isinstance(error, ConfigError) and model_trouble(self._chat.gateway, self._chat.promptuary.settings):
            return NO_MODEL
        return unanswered(error)

    async def _watch(self) -> None:
        """Show that the answer is being written, and say so if the model is silent for long."""
        waited = 0.0
        while not self._heard.is_set():
            await self._delivery.typing()
            try:
                await asyncio.wait_for(self._heard.wait(), min(4.0, self._chat.slow_seconds))
            except TimeoutError:
                waited += min(4.0, self._chat.slow_seconds)
            if waited >= self._chat.slow_seconds and not self._heard.is_set():
                await self._delivery.show("\n\n".join([*self._chat.notes, SLOW]))
                return

    def _whole(self, end: str) -> str:
        line = f"[@ context: {self._tokens:,} tokens injected]" if self._tokens else ""
        said = close_fence(self._said.strip()) if end or line else self._said.strip()
        return "\n\n".join(filter(None, ["\n".join(self._chat.notes), said, end, line]))


def count_injected(turn: Turn) -> int:
    """Return the tokens that a message adds: those of its attachments, and of the files that it tracks."""
    attached = turn.expansion.spend.injected if turn.expansion.blocks else 0
    named = {path.strip("\"'`") for path in _LINK_TO_FILE.findall(turn.expansion.text)}
    in_view = [entry for entry in turn.receipt.entries if entry.layer == _IN_VIEW and entry.status != "out"]
    return attached + sum(one.tokens for one in in_view if one.label in named)


def with_slash(text: str, mark: str) -> str:
    """Return a command with a slash instead of ``mark``; other text is returned unchanged."""
    found = re.match(r"[A-Za-z]+", text.removeprefix(mark))
    if mark == "/" or not text.startswith(mark) or found is None or found[0].lower() not in COMMANDS:
        return text
    return f"/{text.removeprefix(mark)}"


def as_sent(text: str, mark: str) -> str:
    """Return a message as the model gets it: two marks at the start mean one literal mark, not a command."""
    rest = text.removeprefix(mark)
    return rest if mark != "/" and with_slash(rest, mark) != rest else unescaped(text)
