"""Makes the answer to one message: a command, a choice by number, documents, or a turn that the model answers.

What people are told of a reference that failed is the same whether it is forbidden or absent. Errors of the model and
of the machine are logged for the operator; the person gets a sentence without any detail of the machine.
"""

import asyncio
import logging
import re
from dataclasses import dataclass, field
from typing import Final

from promptuary.commands.parsing import is_command, unescaped
from promptuary.commands.plain_text import plain_text
from promptuary.commands.results import CommandRefused, FilesFound
from promptuary.commands.run import run_command
from promptuary.config.gateways import NamedGateway
from promptuary.core.blocks import Detail
from promptuary.core.errors import Code, ConfigError, PlatformError, PromptuaryError, RunFailedError, SourceError
from promptuary.core.expansion import Expansion
from promptuary.core.ports.chat import TextPiece
from promptuary.core.ports.inbox import Received
from promptuary.core.references import format_reference
from promptuary.core.runs import INTERRUPTED, RunEvent, TurnPrepared
from promptuary.core.text import one_line
from promptuary.engine import AsyncInbox, Promptuary
from promptuary.gateways.delivery import Delivery, insist
from promptuary.gateways.people import thread_of
from promptuary.gateways.port import ChatFile, Inbound, Platform

logger = logging.getLogger(__name__)

COMMANDS: Final = frozenset({"context", "memory", "find", "search", "why", "compact", "undo", "help"})
"""The slash commands of a chat: nothing in them touches the machine, or chooses what costs money."""

GREETING: Final = "Hello! Write to me as you would to anybody; /help shows what else I can do."
RESTARTED: Final = "(I was restarted while I answered; this is the answer.)"
MODEL_FAILED: Final = "The model did not answer. Please try again in a while."
MODEL_BROKE_OFF: Final = "The model broke off here. Ask it to go on, or try again."
NO_MODEL: Final = "No model is set up for this chat. Whoever runs this bot has to set one."
SLOW: Final = "The model takes longer than usual. I am still waiting for it."
FAILED: Final = "Something went wrong here, and your message could not be answered. Please try again."
PICTURE: Final = "I cannot see pictures. Describe what is in it, or send the text as a document."
SOUND: Final = "I cannot hear voice messages or sound. Please write instead."
OTHER: Final = "I can only read documents of text."

_SLOW_SECONDS: Final = 20.0
_FOUND: Final = "found"
_START: Final = re.compile(r"/start(?:@\w+)?(?=\s|$)")
"""What Telegram sends when somebody opens a chat with a bot."""
_HELP: Final = re.compile(r"/help\b")
_MOST_FOUND: Final = 9
_NUMBERS: Final = re.compile(r"\s*#?\d{1,2}(?:[\s,]+#?\d{1,2}){0,8}\s*\.?\s*")
_SEEN: Final = {Detail.OUTLINE: "outline", Detail.EXCERPT: "beginning and end", Detail.PATH: "name"}
_ADDRESS: Final = re.compile(r"(?<![\w./@:~])/(?:[\w.+-]+/)+[\w.+-]*")


@dataclass(slots=True)
class AnsweredChat:
    """A conversation as an answer needs it."""

    gateway: NamedGateway
    platform: Platform
    inbox: AsyncInbox
    promptuary: Promptuary
    message: Inbound
    slow_seconds: float = _SLOW_SECONDS
    notes: list[str] = field(default_factory=list)
    """Sentences that stand before the answer."""

    @property
    def thread(self) -> str:
        """The thread of the conversation."""
        return thread_of(self.gateway, self.message)


async def answer(chat: AnsweredChat, received: Received, delivery: Delivery) -> str:
    """Return the whole answer to a message; what there is of it is shown meanwhile."""
    text = with_slash(chat.message.text.strip(), chat.platform.capabilities.command_mark)
    if (said := await _said_at_once(chat, text)) is not None:
        return "\n\n".join([said, *await _documents(chat), *chat.notes])
    if await chat.inbox.noted(chat.gateway.name, chat.message.place, _FOUND) is not None:
        # A number is a choice right after the list alone: later, it may be an answer to the model.
        await chat.inbox.note(chat.gateway.name, chat.message.place, _FOUND, None)
    # Before the documents: those of an answered message would go with the next one, too.
    if text and received.begun and (before := await _answered_before(chat, received)) is not None:
        return f"{RESTARTED}\n\n{before}"
    documents = await _documents(chat)
    if not text:
        return "\n".join([*chat.notes, *documents]) or "There is nothing in that message that I can read."
    if received.begun:
        chat.notes.append(RESTARTED)
    return await _Run(chat, delivery).answer(unescaped(text))


async def _said_at_once(chat: AnsweredChat, text: str) -> str | None:
    """Return what is said without a model: a greeting, what a command says, or what was chosen by number."""
    if _START.match(text):
        return GREETING
    return await _command(chat, text) if is_command(text) else await _chosen(chat, text)


async def _answered_before(chat: AnsweredChat, received: Received) -> str | None:
    """Return the answer of the model, if it was recorded before an earlier process ended.

    An answer that was interrupted when the process was told to end is taken back, so that it is asked for anew.
    """
    turns = await chat.promptuary.threads.turns(thread=chat.thread)
    if not turns or turns[-1].status != "finished" or turns[-1].text != unescaped(chat.message.text.strip()):
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
    result = await run_command(chat.promptuary, text, thread=chat.thread, allowed=COMMANDS)
    if isinstance(result, FilesFound):
        paths = list(result.paths)[:_MOST_FOUND]
        await chat.inbox.note(chat.gateway.name, chat.message.place, _FOUND, [*paths] or None)
        if not paths:
            return "Nothing of that name is available here."
        listed = "\n".join(f"{number}. {one_line(path)}" for number, path in enumerate(paths, 1))
        return f"{listed}\n\nReply with a number to attach it."
    if isinstance(result, CommandRefused):
        return without_codes(result.reason)
    said = without_addresses(without_codes(plain_text(result))) or "Done."
    mark = chat.platform.capabilities.command_mark
    if mark == "/" or not _HELP.match(text):
        return said
    return f"{said}\n\nHere a command begins with {mark}, as in {mark}find guide."


async def _chosen(chat: AnsweredChat, text: str) -> str | None:
    """Attach what was found under these numbers; ``None`` if the message is no choice."""
    if not _NUMBERS.fullmatch(text):
        return None
    found = await chat.inbox.noted(chat.gateway.name, chat.message.place, _FOUND)
    if not isinstance(found, list):
        return None
    numbers = [int(one) for one in re.findall(r"\d+", text)]
    if not all(1 <= number <= len(found) for number in numbers):
        return (
            f"Reply with a number from 1 to {len(found)}." if len(found) > 1 else "There is one result: reply with 1."
        )
    attached, lines = [], []
    for number in numbers:
        path = str(found[number - 1])
        try:
            await chat.promptuary.threads.attach(format_reference("file", path), thread=chat.thread)
            attached.append(one_line(path))
        except SourceError as error:
            lines.append(f"{one_line(path)}: {error.reason}.")
    await chat.inbox.note(chat.gateway.name, chat.message.place, _FOUND, None)
    if attached:
        verb, it = ("is", "it") if len(attached) == 1 else ("are", "them")
        mark = chat.platform.capabilities.command_mark
        lines.insert(0, f"{', '.join(attached)} {verb} attached; {mark}context drop PATH takes {it} away again.")
    return "\n".join(lines)


async def _documents(chat: AnsweredChat) -> list[str]:
    """Attach the documents of a message, and return a sentence about each; what cannot be read becomes a note."""
    told: list[str] = []
    for file in chat.message.files:
        name = one_line(file.name)[:100] or "document"
        if file.kind != "document":
            sentence = {"picture": PICTURE, "sound": SOUND}.get(file.kind, OTHER)
            if sentence not in chat.notes:
                chat.notes.append(sentence)
            continue
        try:
            data = await _downloaded(chat, file)
            label = await chat.promptuary.threads.attach_document(name, data, thread=chat.thread)
            told.append(f"I have {label}. What shall I do with it?")
        except SourceError as error:
            chat.notes.append(f"{name} could not be read: {_reason(error)}")
        except PlatformError as error:
            logger.warning("a document could not be downloaded: %s", error)
            chat.notes.append(f"{name} could not be downloaded; please send it again.")
    return told


async def _downloaded(chat: AnsweredChat, file: ChatFile) -> bytes:
    most = chat.platform.capabilities.largest_download
    if file.size > most:
        raise SourceError(Code.FILE_TOO_LARGE, f"it is larger than {most // 1024 // 1024} MB")
    return await insist(lambda: chat.platform.download(file), tries=3)


def _reason(error: SourceError) -> str:
    if error.code is Code.FILE_TOO_LARGE:
        return "it is too large."
    return "it is not text." if error.code is Code.BINARY else "it is too broken, or not text."


class _Run:
    """One turn that the model answers: what it says is collected, and shown while it comes in."""

    def __init__(self, chat: AnsweredChat, delivery: Delivery) -> None:
        self._chat, self._delivery = chat, delivery
        self._said = ""
        self._tokens = 0
        self._heard = asyncio.Event()

    async def answer(self, text: str) -> str:
        watching = asyncio.create_task(self._watch())
        try:
            name = self._chat.gateway.model or None
            result = await self._chat.promptuary.threads.run(text, name, thread=self._chat.thread, on_event=self._hear)
            self._said = result.reply or self._said
        except RunFailedError as error:
            logger.warning("the model failed: %s", error)
            return self._whole(MODEL_BROKE_OFF if self._said.strip() else MODEL_FAILED)
        except ConfigError as error:
            logger.warning("no model can answer: %s", error)
            return self._whole(NO_MODEL)
        except PromptuaryError as error:
            logger.warning("a message could not be answered: %s", error)
            return self._whole(FAILED)
        except asyncio.CancelledError:
            watching.cancel()
            raise
        finally:
            # Not cancelled: what it is sending would arrive without being noted.
            self._heard.set()
            await asyncio.gather(watching, return_exceptions=True)
        return self._whole("" if self._said.strip() else "The model had nothing to say.")

    async def _hear(self, event: RunEvent) -> None:
        match event:
            case TurnPrepared(turn):
                self._tokens = turn.expansion.spend.injected if turn.expansion.blocks else 0
                self._chat.notes += told(turn.expansion)
                await self._delivery.typing()
            case TextPiece(text):
                self._said += text
                self._heard.set()
                await self._delivery.show(self._whole(""))
            case _:
                pass

    async def _watch(self) -> None:
        """Show that the answer is being written and, if the model is silent for long, say so."""
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
        injected = f"[@ context: {self._tokens:,} tokens injected]" if self._tokens else ""
        return "\n\n".join(filter(None, ["\n".join(self._chat.notes), self._said.strip(), end, injected]))


def told(expansion: Expansion) -> list[str]:
    """Return what a person is told about their references before the answer: what failed, slips, and the budget."""
    lines = [
        f"{one_line(one.reference.raw)[:200]}: {one_line(one.reason or 'it is not available here')}."
        for one in expansion.outcomes
        if one.code is not None
    ]
    lines += [
        f"{one_line(one.reference.raw)[:200]}: not all of it fits, so I see only its {_SEEN[one.detail]}."
        for one in expansion.outcomes
        if one.code is None and one.detail in _SEEN
    ]
    lines += [one_line(str(slip))[:300] for slip in expansion.slips]
    spend = expansion.spend
    if expansion.blocked:
        lines.append("Not everything that you refer to fits; attach less.")
    elif spend.injected > spend.warn_at:
        share = spend.injected / spend.window
        lines.append(f"Warning: what you refer to takes {share:.0%} of the model's window.")
    return list(dict.fromkeys(lines))


def with_slash(text: str, mark: str) -> str:
    """Return a command with the slash that it begins with elsewhere; what is none stays as it is."""
    found = re.match(r"[A-Za-z]+", text.removeprefix(mark))
    if mark == "/" or not text.startswith(mark) or found is None or found[0].lower() not in COMMANDS:
        return text
    return f"/{text.removeprefix(mark)}"


def without_codes(text: str) -> str:
    """Return a sentence without the codes that are for programs."""
    return re.sub(r"\b(?:" + "|".join(Code) + r"): ", "", text)


def without_addresses(text: str) -> str:
    """Return what a command says without absolute paths of the machine, wherever one may have got into it."""
    return _ADDRESS.sub("…", text)
