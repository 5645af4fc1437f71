"""What the file memory is made of: a file's text cut into chunks, each whole lines with a trail of titles.

Markdown and its relatives are cut at headings, code at definitions, everything else at paragraphs and lines. The same
text under the same name always gives the same chunks, and takes time in proportion to its length.
"""

from promptuary.core.budget import TokenCounter
from promptuary.core.search import Chunk
from promptuary.search.chunks.code import code_parts
from promptuary.search.chunks.file_kinds import kind_of
from promptuary.search.chunks.lines import Lines, Part
from promptuary.search.chunks.markdown import heading_parts
from promptuary.search.chunks.sizes import Sizes
from promptuary.search.chunks.split import Cutter


def chunks(text: str, path: str, sizes: Sizes, counter: TokenCounter) -> list[Chunk]:
    """Cut ``text``, the content of the file called ``path``, into chunks in the order of their lines.

    Every line that is not blank is in a chunk. A chunk is at most ``sizes.tokens`` tokens,
    unless one line alone is more; then it is that line, with the title above it.
    """
    lines = Lines(text)
    match kind_of(path):
        case "markdown":
            whole = heading_parts(lines, path)
        case "code":
            whole = code_parts(lines, path)
        case _:
            whole = Part(0, len(lines))
    cutter = Cutter(lines, sizes, counter)
    cutter.cut(whole)
    return cutter.chunks
