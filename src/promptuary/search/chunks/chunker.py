"""Cuts the text of a file into chunks: whole lines with the headings above them.

Markdown and its relatives are cut at headings, code at definitions, everything else at paragraphs and lines. The same
text under the same name always gives the same chunks, in time proportional to its length; only code that takes too long
to parse, which depends on the machine, is cut like everything else.
"""

from collections.abc import Callable

from promptuary.core.budget import TokenCounter
from promptuary.core.search import Chunk
from promptuary.search.chunks.code import code_parts
from promptuary.search.chunks.file_kinds import kind_of
from promptuary.search.chunks.lines import Lines, Part
from promptuary.search.chunks.markdown import heading_parts
from promptuary.search.chunks.sizes import Sizes
from promptuary.search.chunks.split import Splitter


def chunks(
    text: str, path: str, sizes: Sizes, counter: TokenCounter, on_slow: Callable[[], None] = lambda: None
) -> list[Chunk]:
    """Return the chunks of ``text``, the content of the file ``path``, in the order of their lines.

    Every line that is not blank is in a chunk. A chunk has at most ``sizes.tokens`` tokens, unless one line alone has
    more; then it is that line, with the title above it. ``on_slow`` is called if the file takes too long to parse.
    """
    lines = Lines(text)
    match kind_of(path):
        case "markdown":
            whole = heading_parts(lines, path)
        case "code":
            whole = code_parts(lines, path, on_slow)
        case _:
            whole = Part(0, len(lines))
    splitter = Splitter(lines, sizes, counter)
    splitter.split(whole)
    return splitter.chunks
