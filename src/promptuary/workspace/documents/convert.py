"""Converts an untrusted page, PDF or DOCX to text, in a child process with limits on memory and time.

Parsers are written in C, and hostile input can make them take minutes or gigabytes, or crash: some take quadratic time
for deep nesting. So ``pages`` runs this file as a program, which first limits itself. Our own part takes linear
time: properties of an element and all below it are computed for every element in one pass. It imports nothing from the
rest of the library, so that it starts fast. Input: the URL on a line, then the bytes. Output: one JSON object.
"""

import io
import json
import re
import resource
import sys
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple, NotRequired, TypedDict
from urllib.parse import urljoin

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO

    from selectolax.lexbor import LexborHTMLParser, LexborNode

MAX_MEMORY = 512 * 1024 * 1024
MAX_CHARACTERS = 2 * 1024 * 1024
MAX_PAGES = 500
MAX_XML = 64 * 1024 * 1024
"""The most bytes of an unpacked part of a DOCX."""


class Converted(TypedDict):
    """The converted text; ``failed`` is a sentence that says why there is none."""

    text: str
    title: NotRequired[str]
    published: NotRequired[str]
    notes: NotRequired[list[str]]
    truncated: NotRequired[bool]
    failed: NotRequired[str]


# Elements that a reader never sees, whatever the styles of the page.
_UNSEEN = (
    "script, style, noscript, template, iframe, object, embed, svg, canvas, button, input, select, textarea, "
    "dialog:not([open]), [hidden], [aria-hidden='true' i], .sr-only, .visually-hidden, .screen-reader-text, "
    "a.headerlink, .mw-editsection"
)
# The frame around the content. If a site puts all its content into one of these, it is kept: see _drop_chrome.
_CHROME = (
    "nav, form, [role='navigation' i], [role='banner' i], [role='contentinfo' i], [role='search' i], "
    "[role='dialog' i], [role='alertdialog' i], [class*='cookie-banner' i], [class*='cookie-consent' i], "
    "[class*='cookie-notice' i], [id*='cookie-banner' i], [id*='cookie-consent' i], [id*='cookie-notice' i], "
    "#onetrust-consent-sdk, #CybotCookiebotDialog, aside:not([role='note' i]):not([class*='note' i])"
    ":not([class*='admonition' i]):not([class*='callout' i]):not([class*='warning' i]):not([class*='tip' i])"
)
_HIDING = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|content-visibility\s*:\s*hidden"
    r"|(?:opacity|font-size|max-height|max-width)\s*:\s*(?:0++(?:\.0++)?|\.0++)(?:px|r?em|pt|%)?\s*(?:;|!|$)"
    r"|(?:left|right|top|bottom|text-indent|margin-left|margin-top)\s*:\s*-\d{3,}"
    r"|clip\s*:\s*rect\(\s*[01]|clip-path\s*:\s*inset\(\s*(?:50|100)%|color\s*:\s*transparent",
    re.IGNORECASE,
)
_CSS_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_CSS_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})\s?")
_CSS_MARK = re.compile(r"""[{}]|"(?:[^"\\\n]|\\.)*+["\n]?|'(?:[^'\\\n]|\\.)*+['\n]?""", re.DOTALL)
_SIMPLE_SELECTOR = re.compile(r"[a-z0-9]*[.#][A-Za-z_][\w-]*")
_LANGUAGE = re.compile(r"(?:^|\s)(?:language|lang|highlight-source|highlight|brush:\s*)-?([a-z][a-z0-9+#]*)")
_DATES = (
    ("meta[property='article:published_time']", "content"),
    ("meta[itemprop='datePublished']", "content"),
    ("meta[name='date']", "content"),
    ("time[datetime]", "datetime"),
)


class Content(NamedTuple):
    """The part of a page that is converted, and what the page says about itself; ``hidden`` elements were left out."""

    root: "LexborNode | None"
    title: str
    published: str
    base: str
    hidden: int = 0


def page_content(tree: "LexborHTMLParser", url: str) -> Content:
    """Return the content of a page, without its frame and without invisible elements."""
    about = _title(tree), _publication_date(tree), _base(tree, url)
    body = tree.body
    if body is None:
        return Content(None, *about)
    hidden = _drop_unseen(tree, body)
    _drop_chrome(body)
    _prepare(body)
    return Content(_main(body), *about, hidden)


def convert_html(markup: str, url: str) -> Converted:
    """Return the content of a page as Markdown."""
    from html_to_markdown import ConversionOptions, PreprocessingOptions, convert  # noqa: PLC0415  (34 ms)
    from selectolax.lexbor import LexborHTMLParser  # noqa: PLC0415

    root, title, published, base, hidden = page_content(LexborHTMLParser(markup, scripting=True), url)
    if root is None:
        return Converted(text="", title=title)
    options = ConversionOptions(
        base_url=base,
        compact_tables=True,
        expand_abbreviations=False,
        extract_metadata=False,
        inline_data_media="drop_element",
        preprocessing=PreprocessingOptions(enabled=False),
    )
    text = (convert(root.html or "", options).content or "").strip()
    notes = [f"{hidden} hidden elements left out"] if hidden else []
    if not text and root.text(strip=True):
        text = root.text(separator="\n", strip=True)
        notes.append("layout lost: nested too deeply")
    if not text:
        notes.append("no text: the page may need a browser that runs scripts")
    return _limit_text(Converted(text=text, title=title, published=published, notes=notes))


def convert_pdf(body: bytes) -> Converted:
    """Return the PDF's text, page by page."""
    import pypdfium2  # noqa: PLC0415  (53 ms, only here)

    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        locked = getattr(error, "err_code", None) == pypdfium2.raw.FPDF_ERR_PASSWORD
        return _failure("The PDF needs a password." if locked else "The PDF is broken and cannot be read.")
    pages, seen, total = [], 0, len(document)
    for number in range(min(total, MAX_PAGES)):
        pages.append(f"--- page {number + 1} ---\n\n{_pdf_page(document, number)}")
        seen += len(pages[-1])
        if seen > MAX_CHARACTERS:
            break
    if not any(page.split("\n\n", 1)[1] for page in pages):
        return _failure("The PDF contains no text; its pages may be scanned images.")
    about = document.get_metadata_dict()
    created = re.match(r"D:(\d{4})(\d\d)(\d\d)", about.get("CreationDate", ""))
    result = Converted(text="\n\n".join(pages), title=_line(about.get("Title", "")), notes=[])
    if created:
        result["published"] = "-".join(created.groups())
    if len(pages) < total:
        result["truncated"] = True
        result["notes"] = [f"pages 1-{len(pages)} of {total}"]
    return _limit_text(result)


def _pdf_page(document: object, number: int) -> str:
    import pypdfium2  # noqa: PLC0415

    try:
        text: str = document[number].get_textpage().get_text_bounded()  # type: ignore[index]
    except pypdfium2.PdfiumError:
        return "(this page cannot be read)"
    return text.replace("\r\n", "\n").replace("\ufffe", "").strip()


def convert_docx(body: bytes) -> Converted:
    """Return the text of a Word document as Markdown, without pictures and what is hidden or deleted."""
    import zipfile  # noqa: PLC0415  (only here)
    import zlib  # noqa: PLC0415
    from xml.parsers.expat import ExpatError  # noqa: PLC0415

    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            styles = _Styles()
            if "word/styles.xml" in archive.namelist():
                _parse_xml(_unpack(archive.open("word/styles.xml")), styles.start, None, None)
            words = _Words(styles.headings)
            _parse_xml(_unpack(archive.open("word/document.xml")), words.start, words.end, words.text)
    except KeyError:
        return _failure("It is not a Word document, whatever its name says.")
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ExpatError, ValueError):
        return _failure("The Word document is broken or protected, and cannot be read.")
    text = re.sub(r"\n{3,}", "\n\n", "".join(words.written)).strip("\n")
    if not text:
        return _failure("The Word document contains no text.")
    notes = [f"{words.pictures} picture{'s' * (words.pictures != 1)} left out"] if words.pictures else []
    notes += ["hidden text left out"] if words.hidden else []
    return _limit_text(Converted(text=text + "\n", notes=notes))


def _unpack(part: "IO[bytes]") -> bytes:
    """Return the unpacked part of an archive; the size in its header is not trusted."""
    data = part.read(MAX_XML + 1)
    if len(data) > MAX_XML:
        raise ValueError
    return data


def _parse_xml(
    data: bytes,
    start: "Callable[[str, dict[str, str]], None]",
    end: "Callable[[str], None] | None",
    text: "Callable[[str], None] | None",
) -> None:
    """Parse XML without a document type: with one, a text could define entities that grow without limit."""
    from xml.parsers import expat  # noqa: PLC0415

    def refuse(*_: object) -> None:
        raise ValueError

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    parser.Parse(data, True)  # noqa: FBT003  (the parser takes it by position)


class _Styles:
    """Which styles of a document are headings, by the names that they have in every language."""

    def __init__(self) -> None:
        self.headings: dict[str, int] = {}
        self._style = ""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "w:style":
            self._style = attributes.get("w:styleId", "")
        elif tag == "w:name":
            name = attributes.get("w:val", "").lower()
            level = re.fullmatch(r"heading ([1-6])", name)
            if level or name == "title":
                self.headings[self._style] = int(level[1]) if level else 1


_MAX_LIST_DEPTH: Final = 8


class _Words:
    """Collects the text of a document while its elements are parsed."""

    def __init__(self, headings: dict[str, int]) -> None:
        self.written: list[str] = []
        self.pictures = 0
        self.hidden = False
        self._headings = headings
        self._line: list[str] = []
        self._before = ""
        self._cells: list[str] | None = None
        self._rows = self._tables = self._unseen = 0
        self._in_text = self._in_run = self._vanished = False

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        value = attributes.get("w:val", "")
        if tag == "mc:Fallback":
            self._unseen += 1
        elif tag == "w:r":
            self._in_run, self._vanished = True, False
        elif tag == "w:t":
            self._in_text = True
        elif tag in {"w:tab", "w:br", "w:cr"} and self._in_run:
            self._put("\t" if tag == "w:tab" else "\n")
        elif tag == "w:vanish" and self._in_run:
            self._vanished = value not in {"0", "false", "off"}
        elif tag in {"w:drawing", "w:pict"}:
            self.pictures += not self._unseen
        elif tag == "w:tbl":
            self._tables += 1
            if self._tables == 1:
                self._rows = 0
                self.written.append("\n")
        elif tag == "w:tr" and self._tables == 1:
            self._cells = []
        else:
            self._describe(tag, value)

    def _describe(self, tag: str, value: str) -> None:
        """Apply the properties that an element gives to its paragraph."""
        if tag == "w:p" and self._cells is None:
            self._before = ""
        elif tag == "w:pStyle":
            self._before = "#" * self._headings.get(value, 0)
        elif tag == "w:numPr":
            self._before = self._before or "-"
        elif tag == "w:ilvl" and self._before == "-":
            self._before = "  " * min(int(value) if value.isdigit() else 0, _MAX_LIST_DEPTH) + "-"

    def text(self, text: str) -> None:
        if self._in_text:
            self._put(text)

    def end(self, tag: str) -> None:
        if tag == "mc:Fallback":
            self._unseen -= 1
        elif tag == "w:t":
            self._in_text = False
        elif tag == "w:r":
            self._in_run = False
        elif tag == "w:p":
            self._paragraph()
        elif tag == "w:tc" and self._tables == 1 and self._cells is not None:
            self._cells.append(" ".join("".join(self._line).split()).replace("|", "\\|"))
            self._line = []
        elif tag == "w:tr" and self._tables == 1 and self._cells is not None:
            self._row(self._cells)
            self._cells = None
        elif tag == "w:tbl":
            self._tables -= 1
            if not self._tables:
                self.written.append("\n")

    def _put(self, text: str) -> None:
        if self._unseen:
            return
        if self._vanished:
            self.hidden = self.hidden or bool(text.strip())
            return
        self._line.append(text)

    def _paragraph(self) -> None:
        if self._cells is not None:
            self._line.append("\n")
            return
        text = "".join(self._line).strip("\n")
        self._line = []
        if text and self._before.endswith("-"):
            self.written.append(f"{self._before} {text}\n")
        elif text:
            self.written.append(f"\n{self._before} {text}\n\n" if self._before else f"\n{text}\n\n")

    def _row(self, cells: list[str]) -> None:
        self.written.append(f"| {' | '.join(cells)} |\n")
        if not self._rows:
            self.written.append(f"|{'---|' * len(cells)}\n")
        self._rows += 1


def _drop_unseen(tree: "LexborHTMLParser", body: "LexborNode") -> int:
    """Remove what is not shown; return how many elements with text were hidden by a style or attribute."""
    sheet = "\n".join(node.text() for node in tree.css("style"))
    hidden = [node for node in body.css("[style]") if _hides(node.attributes.get("style") or "")]
    by_rule = _hidden_by_rules(body, sheet)
    hidden += body.css("[hidden]")
    lengths = _text_lengths(body) if hidden or by_rule else {}
    hidden += [node for node in by_rule if 2 * lengths[node.mem_id] < lengths[body.mem_id]]
    count = len({node.mem_id for node in hidden if lengths[node.mem_id]})
    for node in [*hidden, *body.css(_UNSEEN)]:
        _remove(node)
    return count


def _hides(style: str) -> bool:
    plain = _CSS_ESCAPE.sub(lambda match: chr(min(int(match[1], 16), 0x10FFFF)), _CSS_COMMENT.sub("", style))
    return _HIDING.search(plain) is not None


def _hidden_by_rules(body: "LexborNode", sheet: str) -> "list[LexborNode]":
    """Return the elements that the page's own style sheet hides by their class or id."""
    selectors = _hiding_selectors(sheet)
    return [node for node in body.css("[class], [id]") if not selectors.isdisjoint(_names(node))] if selectors else []


def _names(node: "LexborNode") -> Iterator[str]:
    """Yield the simple selectors that match an element, in lower case: without a doctype, case does not count."""
    marks = [f".{name}" for name in (node.attributes.get("class") or "").lower().split()]
    marks.append(f"#{(node.attributes.get('id') or '').lower()}")
    for mark in marks:
        yield mark
        yield f"{node.tag}{mark}"


def _hiding_selectors(sheet: str) -> set[str]:
    """Return the classes and ids that a style sheet hides, not counting rules for print or a width."""
    rules = _css_rules(_CSS_COMMENT.sub("", sheet[:200_000]))
    hiding = (selectors for selectors, declarations in rules if _hides(declarations))
    found = (part.strip().lower() for selectors in hiding for part in selectors.split(","))
    return {selector for selector in found if _SIMPLE_SELECTOR.fullmatch(selector)}


def _css_rules(sheet: str) -> Iterator[tuple[str, str]]:
    """Yield the selectors and the declarations of each rule that is not inside another, such as ``@media``."""
    depth = before = opened = 0
    closed = len(sheet)
    selectors = ""
    for mark in _CSS_MARK.finditer(sheet):
        if mark[0] == "{":
            depth += 1
            if depth == 1:
                selectors, opened, closed = sheet[before : mark.start()], mark.end(), len(sheet)
            closed = min(closed, mark.start()) if depth == 2 else closed
        elif mark[0] == "}":
            depth -= 1
            if depth == 0:
                yield selectors.rpartition(";")[2], sheet[opened : min(closed, mark.start())]
            depth, before = max(depth, 0), mark.end()
    if depth:
        yield selectors.rpartition(";")[2], sheet[opened:closed]


def _drop_chrome(body: "LexborNode") -> None:
    lengths = _text_lengths(body)
    whole = lengths[body.mem_id]
    _drop_small(body.css(_CHROME), lengths, whole)
    frames = body.css("header, footer")
    if frames:
        content = _inside(body, ("main", "article"))
        _drop_small([node for node in frames if node.mem_id not in content], _text_lengths(body), whole)


def _drop_small(nodes: "list[LexborNode]", lengths: dict[int, int], whole: int) -> None:
    """Remove those of ``nodes`` that have less than half of the text."""
    for node in nodes:
        if lengths[node.mem_id] * 2 < whole:
            _remove(node)


def _text_lengths(body: "LexborNode") -> dict[int, int]:
    """Return how many characters of text each node has with all below it, by ``mem_id``; blanks around do not count."""
    below = body.traverse(include_text=True)
    nodes = [(node.mem_id, _above(node), len((node.text_content or "").strip())) for node in below]
    lengths = {node: own for node, _, own in nodes}
    for node, above, _ in reversed(nodes):
        if above in lengths:
            lengths[above] += lengths[node]
    return lengths


def _inside(body: "LexborNode", tags: Collection[str]) -> set[int]:
    """Return the ``mem_id`` of each node that is in an element with one of ``tags``."""
    found: set[int] = set()
    for node in body.traverse():
        if (node.parent is not None and node.parent.tag in tags) or _above(node) in found:
            found.add(node.mem_id)
    return found


def _above(node: "LexborNode") -> int:
    return node.parent.mem_id if node.parent is not None else 0


def _remove(node: "LexborNode") -> None:
    # An element that was removed together with an ancestor has no parent any more.
    if node.parent is not None:
        node.remove()


def _prepare(body: "LexborNode") -> None:
    """Remove texts in attributes, and mark each code block with its language for the converter."""
    for node in body.css("a[title], img[title]"):
        del node.attrs["title"]
    for node in body.css("a[href^='javascript:' i], a[href^='data:' i]"):
        del node.attrs["href"]
    blocks = body.css("pre")
    code = _first_inside(body, "code") if blocks else {}
    for node in blocks:
        language = _language(node, code.get(node.mem_id))
        if language:
            node.attrs["class"] = f"language-{language}"


def _first_inside(body: "LexborNode", tag: str) -> "dict[int, LexborNode]":
    """Return the first element with this tag in each element that has one, by ``mem_id``."""
    found: dict[int, LexborNode] = {}
    for node in reversed(list(body.traverse())):
        first = node if node.tag == tag else found.get(node.mem_id)
        if first is not None:
            found[_above(node)] = first
    return found


def _language(pre: "LexborNode", code: "LexborNode | None") -> str:
    near = [code, pre, pre.parent, pre.parent.parent if pre.parent else None]
    for node in near:
        found = _LANGUAGE.search((node.attributes.get("class") or "") if node else "")
        if found and found[1] not in {"none", "default", "text", "plaintext"}:
            return found[1]
    return ""


def _main(body: "LexborNode") -> "LexborNode":
    """Return the element that the page marks as its main content, if it holds most of the text."""
    marked = body.css("main, [role='main' i], article")
    if not marked:
        return body
    lengths = _text_lengths(body)
    best = max(marked, key=lambda node: lengths[node.mem_id])
    return best if lengths[best.mem_id] * 2 > lengths[body.mem_id] else body


def _title(tree: "LexborHTMLParser") -> str:
    for selector in ("head > title", "meta[property='og:title']", "h1"):
        node = tree.css_first(selector)
        text = _line((node.attributes.get("content") or node.text()) if node else "")
        if text:
            return text
    return ""


def _publication_date(tree: "LexborHTMLParser") -> str:
    for selector, attribute in _DATES:
        node = tree.css_first(selector)
        found = re.match(r"\d{4}-\d\d-\d\d", (node.attributes.get(attribute) or "") if node else "")
        if found:
            return found[0]
    return ""


def _base(tree: "LexborHTMLParser", url: str) -> str:
    node = tree.css_first("base[href]")
    try:
        base = urljoin(url, (node.attributes.get("href") or "") if node else "")
    except ValueError:
        return url
    return base if base.startswith(("http://", "https://")) else url


def _line(text: str) -> str:
    return " ".join(text.split())[:300]


def _limit_text(page: Converted) -> Converted:
    if len(page["text"]) > MAX_CHARACTERS:
        page["text"] = page["text"][:MAX_CHARACTERS]
        page["truncated"] = True
        page["notes"] = [*page.get("notes", []), f"cut after {MAX_CHARACTERS} characters"]
    return page


def _failure(reason: str) -> Converted:
    return Converted(text="", failed=reason)


def confine(seconds: int) -> None:
    """Limit the memory, the time and the files of this process to what a page needs."""
    for limit, value in (
        (resource.RLIMIT_AS, MAX_MEMORY),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(limit)
        lowered = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(limit, (lowered, hard))


def main(kind: str, seconds: str) -> None:
    """Convert the standard input, and print the result."""
    confine(int(seconds))
    url, _, body = sys.stdin.buffer.read().partition(b"\n")
    if kind == "html":
        done = convert_html(body.decode(), url.decode())
    else:
        done = convert_pdf(body) if kind == "pdf" else convert_docx(body)
    sys.stdout.buffer.write(json.dumps(done, ensure_ascii=False).encode("utf-8", "replace"))


if __name__ == "__main__":
    main(*sys.argv[1:])
