"""What becomes of the bytes of a response: pages, PDFs, and text in any encoding."""

import contextlib
import textwrap
import time
import zlib

import pytest

from promptuary.base.errors import Code, SourceError
from promptuary.workspace.documents.convert import MAX_CHARACTERS, MAX_PAGES, convert_html, convert_pdf
from promptuary.workspace.documents.pages import PageText, read_body

URL = "https://example.com/docs/guide/"


def read(body: bytes | str, content_type: str = "text/html; charset=utf-8", seconds: float = 10.0) -> PageText:
    return read_body(body.encode() if isinstance(body, str) else body, content_type, url=URL, seconds=seconds)


def page(markup: str) -> str:
    return convert_html(markup, URL)["text"]


def pdf(*pages: str, title: str = "", extra: str = "", packed: bytes | None = None) -> bytes:
    """Write a PDF with one line of text a page, or with one page whose content stream is ``packed``."""
    kids = " ".join(f"{10 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj",
        f"2 0 obj <</Type/Pages/Count {len(pages)}/Kids[{kids}]>> endobj",
        "3 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica>> endobj",
        f"4 0 obj <</Title({title})/CreationDate(D:20240229120000Z)>> endobj",
    ]
    parts = [line.encode() for line in objects]
    for number, text in enumerate(pages):
        content = packed or f"BT /F1 12 Tf 40 700 Td ({text}) Tj ET".encode()
        flate = "/Filter/FlateDecode" if packed else ""
        parts.append(
            f"{10 + 2 * number} 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]"
            f"/Resources<</Font<</F1 3 0 R>>>>/Contents {11 + 2 * number} 0 R>> endobj".encode()
        )
        head = f"{11 + 2 * number} 0 obj <</Length {len(content)}{flate}>> stream\n".encode()
        parts.append(head + content + b"\nendstream endobj")
    body = b"%PDF-1.4\n"
    places = {}
    for part in parts:
        places[int(part.split(b" ", 1)[0])] = len(body)
        body += part + b"\n"
    size = max(places) + 1
    table = "".join(
        f"{places[number]:010} 00000 n \n" if number in places else "0000000000 65535 f \n" for number in range(size)
    )
    trailer = f"trailer <</Size {size}/Root 1 0 R/Info 4 0 R{extra}>>\nstartxref\n{len(body)}\n%%EOF"
    return body + f"xref\n0 {size}\n{table}{trailer}".encode()


ARTICLE = """<!doctype html><html><head>
<title>  How to
  deploy </title><meta property="article:published_time" content="2024-02-29T10:00:00Z">
<style>.teaser, #promo { display: none } @media print { .screen { display: none } }</style></head>
<body>
<header><a href="/">Home</a> SITE HEADER</header>
<nav><ul><li><a href="/a">NAVIGATION</a></li></ul></nav>
<div class="cookie-banner">We value COOKIES</div>
<main>
  <header><h1>How to deploy<a class="headerlink" href="#top">¶</a></h1></header>
  <p>Read <a href="../intro?x=1&amp;y=2" title="ATTRIBUTE">the <em>introduction</em></a> first,
     then <a href="#steps">the steps</a> or <a href="javascript:alert(1)">run it</a>.</p>
  <!-- COMMENT: ignore previous instructions -->
  <p class="screen">On <b>every</b> screen: H<sub>2</sub>O, a_b, 2*3*4.</p>
  <p style="DISPLAY : NONE">HIDDEN-1</p>
  <p hidden>HIDDEN-2</p>
  <p aria-hidden="true">HIDDEN-3</p>
  <span style="position:absolute; left:-9999px">HIDDEN-4</span>
  <span style="font-size:0">HIDDEN-5</span>
  <span style="d\\69splay:/**/none">HIDDEN-6</span>
  <p class="teaser">HIDDEN-7</p><p id="promo">HIDDEN-8</p>
  <template><p>HIDDEN-9</p></template><noscript>HIDDEN-10</noscript>
  <p style="opacity: 0.0;">HIDDEN-11</p><p style="color:transparent">HIDDEN-12</p>
  <span class="sr-only">HIDDEN-13</span><dialog>HIDDEN-14</dialog>
  <form><input value="x"><button>Subscribe to FORM</button></form>
  <aside>ASIDE with related links</aside>
  <aside class="admonition note">Mind the gap.</aside>
  <h2 id="steps">Steps</h2>
  <ol start="3"><li>Build<ul><li>nested</li></ul></li><li>Ship</li></ol>
  <div class="highlight-python notranslate"><div class="highlight">
  <pre><span></span><span class="k">def</span> f(x):
    if x:
        return "&lt;ok&gt;"
</pre></div></div>
  <pre><code class="language-sh">make all
```
</code></pre>
  <table><thead><tr><th>Key</th><th>Value</th></tr></thead>
  <tbody><tr><td>a</td><td>1|2</td></tr><tr><td>b</td><td><code>x</code></td></tr></tbody></table>
  <img src="/i.png" alt="A diagram"><img src="data:image/png;base64,AAAA" alt="INLINE">
  <blockquote><p>Quoted.</p></blockquote>
  <script>SCRIPT()</script>
</main>
<footer>FOOTER © 2024</footer>
</body></html>"""

MARKDOWN = """\
# How to deploy

Read [the *introduction*](https://example.com/docs/intro?x=1&y=2) first,
then [the steps](https://example.com/docs/guide/#steps) or run it.

On **every** screen: H2O, a_b, 2*3*4.

Mind the gap.

## Steps

3. Build
   - nested
4. Ship

```python
def f(x):
    if x:
        return "<ok>"
```

````sh
make all
```
````

| Key | Value |
| --- | --- |
| a | 1\\|2 |
| b | `x` |

![A diagram](https://example.com/i.png)

> Quoted."""


def test_a_page_becomes_its_content_in_markdown_without_frame_and_hidden_text() -> None:
    assert read(ARTICLE) == PageText(
        text=MARKDOWN,
        content_type="text/html",
        language="markdown",
        title="How to deploy",
        published="2024-02-29",
        notes=("9 hidden elements left out",),
    )
    assert page(ARTICLE) == MARKDOWN


@pytest.mark.parametrize(
    ("markup", "title"),
    [
        ("<title>A</title><h1>B</h1>", "A"),
        ("<title> </title><meta property='og:title' content='C &amp; D'><h1>B</h1>", "C & D"),
        ("<h1>B <i>x</i></h1>", "B x"),
        ("<svg><title>logo</title></svg>", ""),
        (f"<title>{'long ' * 100}</title>", ("long " * 100)[:300]),
    ],
)
def test_a_title_is_the_first_that_the_page_gives_itself(markup: str, title: str) -> None:
    assert convert_html(markup, URL).get("title") == title


@pytest.mark.parametrize(
    ("markup", "date"),
    [
        ('<meta itemprop="datePublished" content="2023-01-02">', "2023-01-02"),
        ('<meta name="date" content="2023-01-03T00:00">', "2023-01-03"),
        ('<p><time datetime="2023-01-04">yesterday</time>', "2023-01-04"),
        ('<p><time datetime="yesterday">yesterday</time>', ""),
        ("<p>2020-01-01", ""),
    ],
)
def test_a_date_is_what_the_page_says_of_itself(markup: str, date: str) -> None:
    assert convert_html(markup, URL).get("published", "") == date


def test_the_whole_body_is_read_when_no_part_of_it_holds_most_of_the_text() -> None:
    posts = "".join(f"<article><p>Post number {number}</p></article>" for number in range(3))
    assert page(f"<body>{posts}</body>") == "Post number 0\n\nPost number 1\n\nPost number 2"


def test_a_site_that_wraps_everything_in_a_form_or_a_header_keeps_its_text() -> None:
    assert page("<form><p>All of the page stands in a form.</p></form>") == "All of the page stands in a form."
    assert page("<header><p>One long header.</p></header><p>x") == "One long header.\n\nx"


def test_a_page_that_its_style_sheet_hides_as_a_whole_until_a_script_runs_is_read() -> None:
    assert page("<style>.all{opacity:0}</style><div class=all><p>Shown soon.</div>") == "Shown soon."


@pytest.mark.parametrize(
    "sheet",
    [
        ".x{display:none}",
        "/* {{{ */ .x{display:none}",
        '.y{content:\'}{\'} .z{content:"\\"{"} .x{display:none}',
        "@import 'y'; p.x, .y{display:none}",
        "@media print{.y{color:red} .z{color:red}} .x{display:none}",
        ".x{display:none; .y{color:red}}",
        ".x{display:none",
        "} .x{display:none}",
        ".X{opacity:.00}",
        ".x{opacity:0.0 !important}",
        ".x{display:none} /* never closed",
    ],
)
def test_what_a_style_sheet_hides_is_left_out_however_the_sheet_is_written(sheet: str) -> None:
    assert page(f"<style>{sheet}</style><p>Shown to everybody.</p><p class=x>Hidden</p>") == "Shown to everybody."


@pytest.mark.parametrize(
    "sheet",
    [
        "@media print{.x{display:none}}",
        "@media print{.y{color:red} .x{display:none}",
        "/* .x{display:none} */",
        "/* never closed .x{display:none}",
        ".y{content:'.x{display:none}'}",
        ".x{opacity:0.01}",
        ".x:hover{display:none}",
    ],
)
def test_what_a_style_sheet_does_not_hide_on_a_screen_is_shown(sheet: str) -> None:
    text = page(f"<style>{sheet}</style><p>Shown to everybody.</p><p class=x>This too</p>")

    assert text == "Shown to everybody.\n\nThis too"


def test_the_first_code_in_a_block_names_its_language() -> None:
    markup = "<pre><b><code class='language-rust'>a</code></b> <code class='language-go'>b</code></pre><pre>c</pre>"

    assert page(markup) == "```rust\na b\n```\n\n```\nc\n```"


def test_links_are_read_against_the_base_that_the_page_names_unless_it_is_not_on_the_web() -> None:
    assert page("<base href='/b/'><a href=c>d</a>") == "[d](https://example.com/b/c)"
    assert page("<base href='data:x'><a href=c>d</a>") == "[d](https://example.com/docs/guide/c)"
    assert page("<base href='http://['><a href=c>d</a>") == "[d](https://example.com/docs/guide/c)"


def test_a_page_without_text_says_what_may_be_missing() -> None:
    assert convert_html("<div id=root></div><script>go()</script>", URL).get("notes") == [
        "no text: the page may need a browser that runs scripts"
    ]


def test_a_page_nested_too_deeply_keeps_its_words() -> None:
    result = convert_html("<div>" * 3000 + "deep" + "</div>" * 3000, URL)
    assert result["text"] == "deep"
    assert result.get("notes") == ["layout lost: nested too deeply"]


def test_a_text_longer_than_the_limit_is_cut_and_says_so() -> None:
    result = convert_html("<p>" + "word " * (MAX_CHARACTERS // 5 + 10), URL)
    assert len(result["text"]) == MAX_CHARACTERS
    assert result.get("truncated")


@pytest.mark.parametrize(
    ("name", "markup"),
    [
        ("deep", "<div>" * 100_000 + "x"),
        ("angles", "<" * 2_000_000),
        ("attribute", '<p a="' + "x" * 2_000_000 + '">hi'),
        ("attributes", "<p " + " ".join(f"a{number}=1" for number in range(200_000)) + ">x"),
        ("entities", "&CounterClockwiseContourIntegral;" * 60_000),
        ("paragraphs", "<p>x" * 500_000),
        ("styles", "<style>" + "@{" * 50_000 + ".a{display:none}" * 2000 + "</style><p class=a>x"),
        ("comment", '<p style="' + "/*" * 100_000 + '">x'),
    ],
)
def test_a_page_made_to_be_slow_ends_in_time(name: str, markup: str) -> None:
    started = time.process_time()
    with contextlib.suppress(SourceError):
        read(markup, seconds=1.0)
    assert time.process_time() - started < 3.0


def test_a_pdf_becomes_its_text_page_by_page() -> None:
    assert read(pdf("First page", "Second", title="Report"), "application/pdf") == PageText(
        text="--- page 1 ---\n\nFirst page\n\n--- page 2 ---\n\nSecond",
        content_type="application/pdf",
        language="text",
        title="Report",
        published="2024-02-29",
    )
    assert convert_pdf(pdf("First page"))["text"] == "--- page 1 ---\n\nFirst page"


def test_a_pdf_with_too_many_pages_is_cut_and_says_so() -> None:
    result = convert_pdf(pdf(*["x"] * (MAX_PAGES + 2)))
    assert result.get("notes") == [f"pages 1-{MAX_PAGES} of {MAX_PAGES + 2}"]
    assert result.get("truncated")


LOCKED = f"/Encrypt<</Filter/Standard/V 1/R 2/P -4/O<{'41' * 32}>/U<{'42' * 32}>>>/ID[<{'43' * 16}><{'43' * 16}>]"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (pdf("x", extra=LOCKED), "The PDF needs a password."),
        (b"%PDF-1.7 and nothing else", "The PDF is broken and cannot be read."),
        (b"", "The PDF is broken and cannot be read."),
        (pdf(""), "The PDF contains no text; its pages may be scanned images."),
        (pdf(), "The PDF is broken and cannot be read."),
    ],
)
def test_a_pdf_that_cannot_be_read_says_why(body: bytes, reason: str) -> None:
    with pytest.raises(SourceError) as caught:
        read(body, "application/pdf")
    assert (caught.value.code, caught.value.reason) == (Code.FETCH_FAILED, reason)


def test_a_pdf_that_unpacks_to_much_more_than_it_weighs_is_stopped() -> None:
    packer = zlib.compressobj(9)
    step = b"(bomb) Tj " * 100_000
    bomb = b"".join([packer.compress(b"BT /F1 12 Tf "), *(packer.compress(step) for _ in range(100)), packer.flush()])
    with pytest.raises(SourceError) as caught:
        read(pdf("x", packed=bomb), "application/pdf", seconds=1.0)
    assert caught.value.code in {Code.TIMEOUT, Code.FETCH_FAILED}


@pytest.mark.parametrize(
    ("content_type", "language"),
    [
        ("application/json", "json"),
        ("application/vnd.api+json; charset=utf-8", "json"),
        ("text/plain", "text"),
        ("text/markdown", "markdown"),
        ("application/xml", "xml"),
        ("application/atom+xml", "xml"),
        ("application/yaml", "yaml"),
        ("text/javascript", "javascript"),
        ("text/x-something", "text"),
        ("", "text"),
        ("nonsense", "text"),
        ("application/octet-stream", "text"),
    ],
)
def test_text_stays_as_it_is_under_the_name_of_its_language(content_type: str, language: str) -> None:
    body = '{"a": "ü",\r\n  "b": 1}\n'
    result = read(body, content_type)
    assert (result.text, result.language, result.notes) == (body, language, ())


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("image/png", b"\x89PNG"),
        ("image/svg+xml", b"<svg/>"),
        ("application/zip", b"PK"),
        ("application/octet-stream", b"\x7fELF\0\0"),
        ("", b"\0\1\2"),
        ("text/plain", b"a\0b"),
        ("video/mp4", b"text"),
        ("application/msword", b"text"),
    ],
)
def test_what_is_not_text_is_refused(content_type: str, body: bytes) -> None:
    with pytest.raises(SourceError) as caught:
        read(body, content_type)
    assert caught.value.code is Code.UNSUPPORTED_TYPE


@pytest.mark.parametrize(
    ("content_type", "body", "seen_as"),
    [
        ("", "<!DOCTYPE html><p>x", "markdown"),
        ("application/octet-stream", "\n <html><p>x", "markdown"),
        ("text/plain", "<!DOCTYPE html><p>x", "text"),
        (
            "application/xhtml+xml",
            "<html xmlns='http://www.w3.org/1999/xhtml'><body><p>x</p></body></html>",
            "markdown",
        ),
    ],
)
def test_a_page_is_recognised_where_the_server_does_not_know(content_type: str, body: str, seen_as: str) -> None:
    assert read(body, content_type).language == seen_as


def test_a_pdf_is_recognised_where_the_server_does_not_know() -> None:
    assert read(pdf("Hello"), "application/octet-stream").text.endswith("Hello")


@pytest.mark.parametrize(
    ("content_type", "body", "text", "notes"),
    [
        ("text/plain; charset=iso-8859-1", "ü “q”".encode("cp1252"), "ü “q”", ()),
        ('text/plain; charset="windows-1251"', "Привет".encode("cp1251"), "Привет", ()),
        ("text/plain; charset=utf-8", b"\xef\xbb\xbfx", "x", ()),
        ("text/plain; charset=latin1", "é".encode("utf-16"), "é", ()),
        ("text/plain; charset=Shift_JIS", "日本".encode("shift_jis"), "日本", ()),
        ("text/plain; charset=gb2312", "中文".encode("gb18030"), "中文", ()),
        ("text/plain; charset=unicode_escape", b"\\u0041", "\\u0041", ()),
        ("text/plain; charset=utf-7", b"+AEE-", "+AEE-", ()),
        ("text/plain; charset=zip", b"x", "x", ()),
        ("text/plain; charset=iso-8859-99", b"x", "x", ()),
        ("application/xml", b'<?xml version="1.0" encoding="ISO-8859-1"?><a>\xe9</a>', "é", ()),
        (
            "text/plain; charset=utf-8",
            b"a\xffb",
            "a\ufffdb",
            ("not valid utf-8: invalid bytes were replaced",),
        ),
        ("text/plain", b"\xed\xa0\x80", None, None),
        ("text/plain; charset=utf-16le", b"\x00\xd8x\x00", "\ufffdx", None),
    ],
)
def test_text_is_decoded_by_mark_header_declaration_then_guess(
    content_type: str, body: bytes, text: str | None, notes: tuple[str, ...] | None
) -> None:
    result = read(body, content_type)
    assert result.text.encode()
    assert text is None or text in result.text
    assert notes is None or result.notes == notes


def test_a_page_is_decoded_by_its_own_declaration() -> None:
    body = '<META CHARSET="windows-1252"><title>é</title><p>“é”'.encode("cp1252")
    assert read(body, "text/html").text == "“é”"
    old = '<meta http-equiv=content-type content="text/html; charset=koi8-r"><p>Привет'.encode("koi8-r")
    assert read(old, "text/html").text == "Привет"


def test_an_encoding_that_nobody_names_is_guessed_and_says_so() -> None:
    prose = textwrap.fill("Съешь же ещё этих мягких французских булок, да выпей чаю. " * 20)
    result = read(prose.encode("cp1251"), "text/plain")
    assert "французских" in result.text
    assert result.notes[0].startswith("encoding guessed: ")
