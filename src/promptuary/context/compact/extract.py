"""Finds sentences, paths, links and names in plain text, in linear time. Pure."""

import re
from itertools import pairwise

_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
# Not the box of a task: it says whether the task is done.
_LEADING_MARKS = re.compile(r"(?:[>#*+•|-]+\s+|\d{1,3}[.)]\s+)*")
_ENDS = re.compile(r"""[.!?…]["'”’)\]]*(?=\s+(?![a-z]))|[。！？]""")
_URL = re.compile(r"(?<![A-Za-z0-9])https?://[^\s<>\"'`|\\^{}（）「」，。]++")
_TRAILING = ".,;:!?'\"*~"
_BRACKETS = {")": "(", "]": "[", "}": "{"}
# A quick filter: most words cannot be a path.
_WORD = re.compile(
    r"(?<![\w./\\~@+-])(?:[A-Za-z]:(?=[\\/]))?+[\w~@+-]*+[./\\][\w./\\~@+-]*+"
    r"|\b(?:Makefile|Dockerfile|Justfile|Procfile|Gemfile|Rakefile|Vagrantfile)\b"
)
_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,7}(?![A-Za-z0-9])")
_KNOWN_SUFFIX = re.compile(
    r"\.(?:"
    r"bash|bat|bib|c|cc|cfg|clj|conf|cpp|cs|css|csv|cxx|dart|db|diff|doc|docx|ex|exs|fs|gif|go|gradle|gz"
    r"|h|hpp|hs|htm|html|ini|ipynb|java|jl|jpeg|jpg|js|json|jsonl|jsx|kt|kts|less|lock|log|lua|m4|mak|mako"
    r"|md|mdx|mjs|ml|mli|mm|nim|nix|odt|parquet|patch|pdf|php|pl|plist|png|po|pptx|proto|ps1|py|pyi|pyx|r"
    r"|rb|rs|rst|sass|scala|scss|sh|sol|sql|sqlite|svelte|svg|swift|tar|tex|tf|tmpl|toml|ts|tsv|tsx|txt|vb"
    r"|vue|wasm|xlsx|xml|yaml|yml|zig|zip|zsh"
    r")",
    re.IGNORECASE,
)
_KNOWN_NAMES = frozenset(
    {"Makefile", "Dockerfile", "Justfile", "Procfile", "Gemfile", "Rakefile", "Vagrantfile", ".gitignore", ".env"}
)
_CODE_SPAN = re.compile(r"(?<!`)`([^`\n]{1,60})`(?!`)")
_NAME = re.compile(
    r"\b(?:"
    r"[A-Za-z][A-Za-z0-9]*_\w++"  # snake_case and CONSTANT_CASE
    r"|[A-Za-z]?[a-z0-9]++(?:[A-Z][a-z0-9]++)+(?![A-Za-z])"  # camelCase and PascalCase
    r"|[A-Z]{2,10}-\d{1,8}"  # tickets
    r"|(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}"  # revisions
    r")\b|(?<![\w#&])#\d{1,8}\b"
)


def prose(text: str) -> str:
    """Return ``text`` without its fenced code."""
    lines, fence = [], ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip(" `~"):
                fence = ""
        elif mark:
            fence = mark[1]
        else:
            lines.append(line)
    return "\n".join(lines)


def sentences(text: str) -> list[str]:
    """Return the sentences of ``text``, each on one line, without marks of lists, quotes and headings."""
    found = []
    for line in text.split("\n"):
        bare = " ".join(line.split())
        marks = _LEADING_MARKS.match(bare)
        start = marks.end() if marks else 0
        ends = [end.end() for end in _ENDS.finditer(bare, start)]
        found += [bare[one:next_one].strip() for one, next_one in pairwise([start, *ends, len(bare)])]
    return [sentence for sentence in found if any(char.isalnum() for char in sentence)]


def is_question(sentence: str) -> bool:
    """Return whether ``sentence`` asks something, in any script."""
    return sentence.rstrip("\"'”’)]*_ ").endswith(("?", "？", "؟"))


def links(text: str) -> list[str]:
    """Return the web addresses in ``text``, in order."""
    found = [(match.group(), match.start()) for match in _URL.finditer(text)]
    return [_without_punctuation(link, text[max(start - 1, 0) : start]) for link, start in found]


def _without_punctuation(link: str, before: str) -> str:
    """Return ``link`` without trailing punctuation of the sentence, and brackets that it does not open."""
    trailing = _TRAILING + ("_" if before == "_" else "")
    closing = {mark: link.count(mark) - link.count(opening) for mark, opening in _BRACKETS.items()}
    end = len(link)
    while end and (link[end - 1] in trailing or closing.get(link[end - 1], 0) > 0):
        end -= 1
        if link[end] in closing:
            closing[link[end]] -= 1
    return link[:end]


def paths(text: str) -> list[str]:
    """Return everything that looks like the path of a file or folder, in order, except web addresses."""
    words = (_bare(word) for word in _WORD.findall(_URL.sub(" ", text)))
    return [word for word in words if _is_path(word)]


def _bare(word: str) -> str:
    """Return ``word`` without the ``@`` of a reference, the end of a sentence, and marks of emphasis around it."""
    bare = word.lstrip("@").rstrip(".-")
    return bare.strip("_") if bare.startswith("_") and bare.endswith("_") else bare


def _is_path(word: str) -> bool:
    if "@" in word or not any(char.isalpha() for char in word):
        return False
    folders, _, name = word.replace("\\", "/").rpartition("/")
    if name in _KNOWN_NAMES:
        return True
    suffix = _SUFFIX.search(name, 1)
    if not folders:
        return suffix is not None and _KNOWN_SUFFIX.fullmatch(suffix.group()) is not None
    return suffix is not None or "/" in folders or folders in {".", "..", "~"}


def names(text: str) -> list[str]:
    """Return identifiers: code spans that are not paths or links, and words spelled like identifiers."""
    spans = [span.strip() for span in _CODE_SPAN.findall(text)]
    marked = [span for span in spans if span and not _URL.search(span) and not paths(span)]
    rest = _WORD.sub(_unless_path, _URL.sub(" ", _CODE_SPAN.sub(" ", text)))
    return [*marked, *_NAME.findall(rest)]


def _unless_path(word: re.Match[str]) -> str:
    return " " if _is_path(_bare(word.group())) else word.group()
