"""Convert an untrusted page or PDF to text, in a child process with limits on memory and time.

Parsers are written in C, and hostile input can make them take minutes or gigabytes, or crash: some take quadratic time
for deep nesting. So ``workspace.web.pages`` runs this file as a program, which first limits itself. It imports nothing
of the rest of the library, so that it starts fast. Input: the URL on a line, then the bytes. Output: one JSON object.
"""

import json
import re
import resource
import sys
from typing import TYPE_CHECKING, NotRequired, TypedDict
from urllib.parse import urljoin

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

MAX_MEMORY = 512 * 1024 * 1024
MAX_CHARACTERS = 2 * 1024 * 1024
MAX_PAGES = 500


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
    r"|(?:opacity|font-size|max-height|max-width)\s*:\s*0*\.?0+(?:px|r?em|pt|%)?\s*(?:;|!|$)"
    r"|(?:left|right|top|bottom|text-indent|margin-left|margin-top)\s*:\s*-\d{3,}"
    r"|clip\s*:\s*rect\(\s*[01]|clip-path\s*:\s*inset\(\s*(?:50|100)%|color\s*:\s*transparent",
    re.IGNORECASE,
)
_CSS_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_CSS_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})\s?")
_CSS_AT_BLOCK = re.compile(r"@[^{};]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}")
_CSS_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_SIMPLE_SELECTOR = re.compile(r"[a-z0-9]*[.#][A-Za-z_][\w-]*")
_LANGUAGE = re.compile(r"(?:^|\s)(?:language|lang|highlight-source|highlight|brush:\s*)-?([a-z][a-z0-9+#]*)")
_DATES = (
    ("meta[property='article:published_time']", "content"),
    ("meta[itemprop='datePublished']", "content"),
    ("meta[name='date']", "content"),
    ("time[datetime]", "datetime"),
)


def convert_html(markup: str, url: str) -> Converted:
    """Return the page's content as Markdown, without its frame and without what a reader does not see."""
    from html_to_markdown import ConversionOptions, PreprocessingOptions, convert  # noqa: PLC0415  (34 ms)
    from selectolax.lexbor import LexborHTMLParser  # noqa: PLC0415

    tree = LexborHTMLParser(markup, scripting=True)
    title, published, base = _title(tree), _published(tree), _base(tree, url)
    body = tree.body
    if body is None:
        return Converted(text="", title=title)
    hidden = _drop_unseen(tree, body)
    _drop_chrome(body)
    _prepare(body)
    root = _main(body)
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
    return _bounded(Converted(text=text, title=title, published=published, notes=notes))


def convert_pdf(body: bytes) -> Converted:
    """Return the PDF's text, page by page."""
    import pypdfium2  # noqa: PLC0415  (53 ms, only here)

    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        locked = getattr(error, "err_code", None) == pypdfium2.raw.FPDF_ERR_PASSWORD
        return _failed("The PDF needs a password." if locked else "The PDF is broken and cannot be read.")
    pages, seen, total = [], 0, len(document)
    for number in range(min(total, MAX_PAGES)):
        pages.append(f"--- page {number + 1} ---\n\n{_pdf_page(document, number)}")
        seen += len(pages[-1])
        if seen > MAX_CHARACTERS:
            break
    if not any(page.split("\n\n", 1)[1] for page in pages):
        return _failed("The PDF contains no text; its pages may be scanned images.")
    about = document.get_metadata_dict()
    created = re.match(r"D:(\d{4})(\d\d)(\d\d)", about.get("CreationDate", ""))
    result = Converted(text="\n\n".join(pages), title=_line(about.get("Title", "")), notes=[])
    if created:
        result["published"] = "-".join(created.groups())
    if len(pages) < total:
        result["truncated"] = True
        result["notes"] = [f"pages 1-{len(pages)} of {total}"]
    return _bounded(result)


def _pdf_page(document: object, number: int) -> str:
    import pypdfium2  # noqa: PLC0415

    try:
        text: str = document[number].get_textpage().get_text_bounded()  # type: ignore[index]
    except pypdfium2.PdfiumError:
        return "(this page cannot be read)"
    return text.replace("\r\n", "\n").replace("\ufffe", "").strip()


def _drop_unseen(tree: "LexborHTMLParser", body: "LexborNode") -> int:
    """Remove what is not shown; return how many elements with text were hidden by a style or attribute."""
    rules = "\n".join(node.text() for node in tree.css("style"))
    candidates = [node for node in body.css("[style]") if _hides(node.attributes.get("style") or "")]
    for selector in _hiding_selectors(rules):
        candidates += [node for node in body.css(selector) if len(node.text()) * 2 < len(body.text())]
    candidates += body.css("[hidden]")
    count = len({node.mem_id for node in candidates if node.text(strip=True)})
    for node in [*candidates, *body.css(_UNSEEN)]:
        _remove(node)
    return count


def _hides(style: str) -> bool:
    plain = _CSS_ESCAPE.sub(lambda match: chr(min(int(match[1], 16), 0x10FFFF)), _CSS_COMMENT.sub("", style))
    return _HIDING.search(plain) is not None


def _hiding_selectors(rules: str) -> list[str]:
    """Return the classes and ids that the page's own style sheet hides, not counting rules for print or a width."""
    plain = _CSS_AT_BLOCK.sub("", _CSS_COMMENT.sub("", rules[:200_000]))
    hiding = (match[1] for match in _CSS_RULE.finditer(plain) if _hides(match[2]))
    selectors = (part.strip() for group in hiding for part in group.split(","))
    return [selector for selector in selectors if _SIMPLE_SELECTOR.fullmatch(selector)]


def _drop_chrome(body: "LexborNode") -> None:
    whole = len(body.text())
    for node in body.css(_CHROME):
        if len(node.text()) * 2 < whole:
            _remove(node)
    content = {node.mem_id for node in body.css("main header, main footer, article header, article footer")}
    for node in body.css("header, footer"):
        if node.mem_id not in content and len(node.text()) * 2 < whole:
            _remove(node)


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
    for node in body.css("pre"):
        language = _language(node)
        if language:
            node.attrs["class"] = f"language-{language}"


def _language(pre: "LexborNode") -> str:
    code = pre.css_first("code")
    near = [code, pre, pre.parent, pre.parent.parent if pre.parent else None]
    for node in near:
        found = _LANGUAGE.search((node.attributes.get("class") or "") if node else "")
        if found and found[1] not in {"none", "default", "text", "plaintext"}:
            return found[1]
    return ""


def _main(body: "LexborNode") -> "LexborNode":
    """Return the element that the page marks as its main content, if it holds most of the text."""
    whole = len(body.text(strip=True))
    marked = body.css("main, [role='main' i], article")
    best = max(marked, key=lambda node: len(node.text(strip=True)), default=body)
    return best if len(best.text(strip=True)) * 2 > whole else body


def _title(tree: "LexborHTMLParser") -> str:
    for selector in ("head > title", "meta[property='og:title']", "h1"):
        node = tree.css_first(selector)
        text = _line((node.attributes.get("content") or node.text()) if node else "")
        if text:
            return text
    return ""


def _published(tree: "LexborHTMLParser") -> str:
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


def _bounded(page: Converted) -> Converted:
    if len(page["text"]) > MAX_CHARACTERS:
        page["text"] = page["text"][:MAX_CHARACTERS]
        page["truncated"] = True
        page["notes"] = [*page.get("notes", []), f"cut after {MAX_CHARACTERS} characters"]
    return page


def _failed(reason: str) -> Converted:
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
    done = convert_pdf(body) if kind == "pdf" else convert_html(body.decode(), url.decode())
    sys.stdout.buffer.write(json.dumps(done, ensure_ascii=False).encode("utf-8", "replace"))


if __name__ == "__main__":
    main(*sys.argv[1:])
