"""History items with attachments, made as the program makes them."""

from promptuary.base.blocks import Block, Detail, Source, Trust
from promptuary.base.messages import Item
from promptuary.references.render import render, render_message
from promptuary.tokens.counting import Counter

COUNTER = Counter()


def source(text: str, path: str = "a.log", trust: Trust = Trust.WORKSPACE, language: str = "") -> Source:
    return Source(
        key=f"file:{path}",
        label=path,
        kind="file",
        text=text,
        revision="0" * 64,
        path=path,
        trust=trust,
        language=language,
    )


def attached(words: str, *blocks: Block, name: str = "u", pinned: bool = False) -> Item:
    """Return the item of a message with these blocks."""
    message = render_message(words, blocks)
    return Item(
        name,
        "user",
        message.content,
        pinned=pinned,
        attachments=message.attachments,
        words_start=message.words_start,
    )


def whole(text: str, path: str = "a.log", trust: Trust = Trust.WORKSPACE) -> Block:
    """Return all of a file as a block."""
    return render(source(text, path, trust), Detail.FULL, text, COUNTER)
