"""Everything that reads text from a file, a page, a setting, a message, a patch, git or the database, by its name.

Each entry calls our code with a text of any size, as the program would: what is cut to a length there is cut here.
"""

import json
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, get_args
from xml.sax.saxutils import escape

from selectolax.lexbor import LexborHTMLParser

from promptuary.base.blocks import Detail, Source, content_hash
from promptuary.base.errors import ConfigError, PromptuaryError, SourceError
from promptuary.base.excerpt import excerpt
from promptuary.base.front_matter import fields
from promptuary.base.front_matter import names as names_in_front_matter
from promptuary.base.messages import Item, Message, ToolCall
from promptuary.base.table import display_width
from promptuary.base.text import one_line, slug, visible
from promptuary.base.text_language import passage_language, question_language
from promptuary.chat.prompt.pastes import Pastes
from promptuary.chat.prompt.typed_ahead import text_of
from promptuary.cli.search.hits import excerpt as hit_lines
from promptuary.cli.search.search import moment
from promptuary.commands.parsing import choices as command_choices
from promptuary.commands.parsing import parse as parse_command
from promptuary.commands.registry import COMMANDS as SLASH_COMMANDS
from promptuary.config.settings import load
from promptuary.config.toml_statements import tables as toml_tables
from promptuary.config.tool_servers import servers_of_json
from promptuary.context.compact.digest import digest
from promptuary.context.compact.envelope import body_of, how_many
from promptuary.context.compact.extract import links, names, paths, prose, sentences
from promptuary.experiences.drafting import draft, fingerprint
from promptuary.experiences.learn.from_statements import choice
from promptuary.experiences.learn.learner import lessons
from promptuary.experiences.scrub import scrub, scrub_value
from promptuary.gateways.answering import as_sent, with_slash
from promptuary.gateways.slack import plain
from promptuary.gateways.texts.chunking import chunks as message_chunks
from promptuary.gateways.texts.markdown import with_tables_as_code
from promptuary.gateways.texts.mrkdwn import mrkdwn
from promptuary.gateways.texts.wording import without_addresses, without_codes
from promptuary.hooks.install.jsonc import with_entry
from promptuary.hooks.transcripts import turns as transcript_turns
from promptuary.layers.instructions.imports import parse as parse_imports
from promptuary.layers.sections import escaped, readable, unescaped
from promptuary.layers.tracked.links import linked
from promptuary.layers.tracked.scoring import RelevanceQuestion, judge
from promptuary.layers.tracked.scoring import parse as parse_score
from promptuary.maintenance.doctor import broken_links
from promptuary.memory.index_page import human_text, update_page
from promptuary.memory.note_file import Ownership, read_note, rewrite
from promptuary.memory.notebook.drafting import title_of
from promptuary.memory.recall.digest import HEADING as LIST_HEADING
from promptuary.memory.recall.digest import listed_notes
from promptuary.memory.recall.select import parts_of
from promptuary.memory.secret_texts import has_secret
from promptuary.memory.transfer.formats import read_memory
from promptuary.memory.values import NoteDraft, is_note_id, note_path
from promptuary.memory.writeback.own_words import own_words
from promptuary.memory.writeback.statements import statements
from promptuary.memory.writeback.wording import quotes, says_no_more
from promptuary.models.chat.event_stream import json_events, server_events
from promptuary.models.json_answers import json_object
from promptuary.prompts.filling import filled_text
from promptuary.prompts.forms import read_prompt
from promptuary.prompts.places import is_name
from promptuary.prompts.values import Form, NamedPrompt
from promptuary.references.completion.complete import token_at_end
from promptuary.references.message import ParsedMessage
from promptuary.references.render import render
from promptuary.references.scan import MAX_VALUE, scan, scan_closely
from promptuary.references.selection import interpretations
from promptuary.references.shorten.patch import patch_forms
from promptuary.references.shorten.text import text_forms
from promptuary.references.shorten.tree import Leaf, Tree
from promptuary.references.typos import KnownPaths, slips, with_blanks
from promptuary.search.chunks.chunker import chunks
from promptuary.search.chunks.file_kinds import date_of
from promptuary.search.chunks.generated import is_generated
from promptuary.search.chunks.lines import Sizes
from promptuary.search.chunks.links import links_in
from promptuary.search.chunks.tags import tags_in
from promptuary.search.dates.question import time_hint
from promptuary.search.dates.written import dates_in, lone_date
from promptuary.search.index.port import IndexedChunk
from promptuary.search.outline import has_grammar, outline
from promptuary.search.outline.named import NameInCode, defining, names_in
from promptuary.search.query import extra_terms, folded
from promptuary.search.query import parse as parse_query
from promptuary.search.values import Chunk
from promptuary.server.proxy.completions import COMPLETIONS
from promptuary.server.proxy.messages import MESSAGES
from promptuary.server.proxy.responses import RESPONSES
from promptuary.server.routes import find_route
from promptuary.threads.chain import links as chain_of
from promptuary.threads.exchange import FORMAT, VERSION, changes, from_text
from promptuary.threads.given import long_texts
from promptuary.tokens.counting import Counter
from promptuary.workspace.access import Access
from promptuary.workspace.changes.readable_names import ReadableNames
from promptuary.workspace.disk.read import decode
from promptuary.workspace.disk.root import display_path, normalise
from promptuary.workspace.disk.secret_values import mask_secrets
from promptuary.workspace.documents.chat_exports import as_transcript
from promptuary.workspace.documents.convert import convert_docx, convert_html, convert_pdf, page_content
from promptuary.workspace.documents.image_header import image_header
from promptuary.workspace.documents.notebook import notebook_text
from promptuary.workspace.documents.pages import read_body
from promptuary.workspace.git.config import parse_settings
from promptuary.workspace.git.patch import PatchMismatchError, build_patch, parse_names
from promptuary.workspace.listing.glob import match_glob
from promptuary.workspace.listing.ignore import IgnoreFile
from promptuary.workspace.listing.listing import split_names
from promptuary.workspace.matching.grades import PathQuery
from promptuary.workspace.matching.usage import Usage
from promptuary.workspace.web.addresses import parse_url
from promptuary.workspace.web.refusals import words_of
from promptuary.workspace.workspace import open_workspace
from tests.conftest import git
from tests.linear import Parser

_NAMES = ("a", "a/b.c", "a" * 200, "a/" * 100 + "b")
_NOW: Final = datetime(2026, 1, 2, tzinfo=UTC)
_PAGE_SECONDS: Final = 8.0
"""After these the program that converts a page or a PDF is stopped."""


def settings(text: str) -> object:
    """Parse ``text`` as every file that settings may come from."""
    folder = Path.home() / "workspace"
    (folder / ".promptuary").mkdir(parents=True, exist_ok=True)
    user = Path.home() / ".config" / "promptuary" / "config.toml"
    user.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode("utf-8", "replace")
    for path in (folder / "promptuary.toml", folder / "pyproject.toml", folder / ".promptuary" / "config.toml"):
        path.write_bytes(data)
    load(folder)
    user.write_bytes(data)
    try:
        return load(folder)
    except ConfigError:
        return None
    finally:
        user.unlink()


def ignore_file(text: str) -> object:
    rules = IgnoreFile(text)
    return [rules.verdict(path, folder=True) for path in _NAMES]


def pattern(text: str) -> object:
    with suppress(SourceError):
        return match_glob(_NAMES, [text[:MAX_VALUE]])
    return None


def message(text: str) -> object:
    references = scan(text)
    meant = [list(interpretations(one)) for one in references]
    return (
        meant,
        linked(text, [(one, "a") for one in references]),
        ParsedMessage(text).without(references),
        ParsedMessage(text).without(()),
    )


def slipped(text: str) -> object:
    """Read ``text`` as a message with slips, in a workspace that has something to confuse with."""
    folder = Path.home() / "slips"
    if not folder.exists():
        (folder / "a b").mkdir(parents=True)
        for path in ("a.py", "a b/c d.md", "README.md"):
            (folder / path).write_text("x")
    workspace = open_workspace(folder, Access(), follow_symlinks=False)
    try:
        scanned, paths = scan_closely(text), KnownPaths(workspace)
        blanks = [with_blanks(text, one, paths) for one in scanned.references]
        return blanks, slips(text, scanned.valueless, scanned.references, paths)
    finally:
        workspace.close()


def chat_answer(text: str) -> object:
    """Cut an answer into messages as Slack shows them; not as they are cached."""
    return message_chunks(text, 2_000, lambda piece: len(mrkdwn.__wrapped__(piece)))


def answer_stream(text: str) -> object:
    """Read ``text`` as what a chat service streams: as bytes in small pieces, and as the data of its events."""
    lines = "".join(f"event: {line}\ndata: {json.dumps({'a': line})}\n\n" for line in text.splitlines())
    found: list[object] = []
    for stream in (text, f"data: {text}\n\n", lines):
        data = stream.encode("utf-8", "replace")
        pieces = [data[start : start + 100] for start in range(0, len(data), 100)]
        found.append(list(server_events(pieces, "a.b")))
        with suppress(PromptuaryError):
            found.append(list(json_events(pieces, "a.b")))
    return found


def exported_thread(text: str) -> object:
    """Read ``text`` as the export of a thread, and as what was said, called, attached and tracked in one."""
    calls = [{"id": text[:60], "name": text[:60], "arguments": text}]
    said = [{"id": str(n), "role": "user", "content": line} for n, line in enumerate(text.split("\n")[:1_000])]
    items = [*said, {"id": "c", "role": "assistant", "content": text, "tool_calls": calls}]
    whole = {"format": FORMAT, "version": VERSION, "thread": text[:60], "items": items, "tracked": [text[:60]]}
    found: list[object] = []
    for one in (text, json.dumps({**whole, "turns": []})):
        with suppress(PromptuaryError):
            read = from_text(one)
            found.append((read, list(changes("t", read.items))))
    return found


def named_in_code(text: str) -> object:
    """Read ``text`` as a query, and as code that may define what it names."""
    chunk = IndexedChunk("/a", "a.c", "code", 0, Chunk(1, 1, text, (text[:100],), "0" * 64))
    return names_in(text), [
        defining({1: chunk}, one) for one in (NameInCode("a"), NameInCode("b", "a"), *names_in(text))
    ]


def summary(text: str) -> object:
    found = [way(text) for way in (links, names, paths, prose, sentences)]
    older = Item("a", "user", text, kind="summary")
    return found, body_of(older), how_many([older]), digest([older, Item("b", "user", text)], 2_000, Counter())


def patch(text: str) -> object:
    data = text.encode("utf-8", "replace")
    with suppress(PatchMismatchError, ValueError, IndexError, StopIteration):
        parse_names(data)
    with suppress(PatchMismatchError):
        listed = parse_names(b":100644 100644 1111111 2222222 M\0a\0")
        build_patch(listed, b"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n" + data, lambda _: None)
    forms = patch_forms(f"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n{text}", "1 file")
    return [forms[step] for step in range(0, len(forms), max(len(forms) // 4, 1))]


def git_references(text: str) -> object:
    folder = Path.home() / "repository"
    if not folder.exists():
        folder.mkdir()
        git(folder, "init", "-q")
    listed = f"{'1' * 40} refs/heads/a\n{text}\n{'1' * 40} refs/heads/{text}"
    (folder / ".git" / "packed-refs").write_text(listed, encoding="utf-8", errors="replace")
    workspace = open_workspace(folder, Access(), follow_symlinks=False)
    try:
        workspace.repository().close()
    finally:
        workspace.close()
    return None


def address(text: str) -> object:
    with suppress(SourceError):
        return parse_url(f"https://{text}"[:MAX_VALUE])
    return None


def name(text: str) -> object:
    """Read ``text`` as git may list it, and as a person may type it."""
    listed = list(split_names([text.encode("utf-8", "replace"), b"a\0"]))
    policy = Access()
    with suppress(SourceError):
        normalise(text)
    allowed = ReadableNames(policy).allows(text)
    return listed, display_path(text), policy.refusal("read", text), policy.is_sensitive(text), allowed


def typed(text: str) -> object:
    query = PathQuery(text[:MAX_VALUE])
    return token_at_end(text), token_at_end(f"@{text}"), [query.grade(path) for path in _NAMES]


def tool_servers(text: str) -> object:
    """Read ``text`` as the file of another client, and in every value of such a file."""
    whole = json.dumps({"mcpServers": {"a": {"command": text, "args": [text], "env": {"A": text}}}})
    read: list[object] = []
    for written in (text, whole):
        with suppress(ConfigError):
            for server in servers_of_json(written, "here"):
                read += [server.variables, server.filled_in({}, "/")]
    return read


def usage(text: str) -> object:
    folder = Path.home() / "usage"
    Usage(Path.home(), folder=folder).record(["a"])
    for written in folder.glob("*.json"):
        written.write_text(text, encoding="utf-8", errors="replace")
    return Usage(Path.home(), folder=folder).scores()


def image(text: str) -> object:
    """Read ``text`` as what follows the beginning of each kind of image."""
    begins = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"\xff\xd8" + b"\xff" * len(text), b"GIF89a", b"RIFF0000WEBPVP8 ")
    return [image_header(begin + text.encode("latin-1", "replace")) for begin in begins]


def bytes_of_a_file(text: str) -> object:
    found = []
    for encoding in ("utf-8", "utf-16-le", "cp1252"):
        with suppress(SourceError):
            found.append(decode(text.encode(encoding, "replace"), "a.txt"))
    return found


def response(text: str) -> object:
    found = []
    for content_type in ("text/plain", "application/json", text[:1_000]):
        for encoding in ("utf-8", "cp1252"):
            with suppress(SourceError):
                found.append(read_body(text.encode(encoding, "replace"), content_type, url="http://a/", seconds=8.0))
    return found


def pdf(text: str) -> object:
    """Read ``text`` as a PDF, and as what a page of one draws."""
    from tests.unit.workspace.documents.test_pages import pdf as written

    return [convert_pdf(body) for body in (f"%PDF-1.4\n{text}".encode("utf-8", "replace"), written(text))]


def notebook(text: str) -> object:
    """Read ``text`` as a notebook, and as what its cells hold and print."""
    cells = [
        {"cell_type": "markdown", "source": text},
        {"cell_type": "code", "source": text, "outputs": [{"text": text}]},
    ]
    return [notebook_text(text), notebook_text(json.dumps({"cells": cells}))]


def word(text: str) -> object:
    """Read ``text`` as the document in a DOCX, and as the text in it."""
    from tests.unit.workspace.test_documents import docx

    return [convert_docx(docx(text)), convert_docx(docx(f"<w:p><w:r><w:t>{escape(text)}</w:t></w:r></w:p>" * 2))]


def shown(text: str) -> object:
    source = Source("a", "a", "file", text, content_hash(text))
    sections = readable(text), escaped(text, "a"), unescaped(text, "a")
    return visible(text), one_line(text), slug(text), display_width(text), sections, render_all(source)


def render_all(source: Source) -> object:
    counter = Counter()
    cut = excerpt(source.text, 1_000, counter)
    return render(source, Detail.FULL, source.text, counter), cut, hit_lines(source.text, ["a", "b c"], 80)


def score(text: str) -> object:
    return parse_score(text), judge(RelevanceQuestion(text, "a.py", text))


def dates(text: str) -> object:
    with suppress(ValueError, PromptuaryError):
        moment(text, _NOW)
    return list(dates_in(text)), lone_date(text), time_hint(text, _NOW)


def front_matter(text: str) -> object:
    whole = [f"{mark}\n{text}\n{mark}\n" for mark in ("---", "+++")]
    return [(fields(one), names_in_front_matter(one)) for one in whole]


def note(text: str) -> object:
    """Read ``text`` as a note, as its front matter, and as what a person wants to remember; change it."""
    found = []
    for whole in (text, f"---\n{text}\n---\n", f"---\nid: abcd\n---\n{text}"):
        read = read_note(whole.encode("utf-8", "replace"), "private/user/a.md", Ownership("project"))
        with suppress(PromptuaryError):
            found.append((read, rewrite(read.text, {"title": text[:100]}, text)))
    page = update_page(text, "private", [read.header for read, _ in found], 1)
    links = [broken_links(read, set(), set()) for read, _ in found]
    return found, links, page, human_text(page), title_of(NoteDraft(text))


def said(text: str) -> object:
    """Read ``text`` as what a person said, and as what is to be remembered."""
    return has_secret(text), own_words(text), statements(text), says_no_more(text, text), quotes(text, text)


def tool_use(text: str) -> object:
    """Read ``text`` as what a person asks, as the arguments of tools and as their results, in a turn that ends."""
    arguments = (text, json.dumps({"a": text, text[:100]: [text]}))
    called = [Item("a", "assistant", "", tuple(ToolCall(one, text[:100], one) for one in arguments))]
    results = [Item("t", "tool", one, tool_call_id=one) for one in arguments]
    return lessons([Item("u", "user", text), *called, *results, *called, *reversed(results)])


def experience(text: str) -> object:
    """Read ``text`` as what was learnt: its intent, its solution, a field of it and a tag."""
    scrubs = scrub(text), scrub_value({text[:100]: [text], "a": {"token": text}})
    with suppress(ConfigError):
        at = "2026-01-01T00:00:00.000Z"
        return scrubs, draft("task_solution", text, text, {"problem": text, "tags": [text]}, now=at)
    return scrubs, fingerprint("task_solution", "success", text, [text, {text[:100]: text}])


def model_answer(text: str) -> object:
    """Read ``text`` as what a model answers that was asked for JSON."""
    found = []
    for answer in (text, f'{{"a": {text}', f"<think>{text}"):
        with suppress(PromptuaryError):
            found.append(json_object(answer, {"type": "object"}))
    return found


def foreign_memory(text: str) -> object:
    """Read ``text`` as a file of every other memory."""
    names = ("xperts/a/private/user/b.md", "private/user/b.md", "raw_memories.md", "MEMORY.md", "a.md")
    found = []
    for name in names:
        with suppress(PromptuaryError):
            found.append(read_memory({name: text, "c.md": f"---\npermalink: a\n---\n{text}"}))
    return found


def tree(text: str) -> object:
    """Draw the files that ``text`` names, as long as names can be."""
    listed = sorted({line[:MAX_VALUE].strip("/") for line in text.split("\n")} - {""})
    drawn = Tree("a/", [(path, Leaf(1, 1, "")) for path in listed])
    forms = drawn.forms()
    return drawn.whole(), [forms[step] for step in range(0, len(forms), max(len(forms) // 4, 1))]


def outlines(text: str, language: str) -> object:
    forms = text_forms(text, language)
    return outline(text, language), [forms[step] for step in range(0, len(forms), max(len(forms) // 4, 1))]


def export(text: str) -> object:
    """Read ``text`` as an export of chats, and as what is said in one by somebody of that name."""
    lines = text.split("\n")
    slack = [{"type": "message", "ts": "1683541931.0001", "text": line, "username": line} for line in lines]
    mapping = {str(number): {"message": None, "parent": line} for number, line in enumerate(lines)}
    chatgpt = [{"title": text, "create_time": text, "mapping": mapping}]
    claude = [{"uuid": text, "name": text, "chat_messages": [{"sender": "human", "text": text}]}]
    return [as_transcript(one) for one in (f'["mapping",{text}', *map(json.dumps, (slack, chatgpt, claude)))]


def file(path: str) -> Parser:
    return Parser(lambda text: (chunks(text, path, Sizes(), Counter()), date_of(path, text, 0)))


def code(path: str) -> Parser:
    """Read code with a grammar that somebody else wrote: it is stopped after a while."""
    return Parser(lambda text: chunks(text, path, Sizes(), Counter()), deadline=lambda size: 0.5 + 4e-6 * size)


GRAMMARS: Final = {
    "c": "c",
    "cpp": "cpp",
    "go": "go",
    "java": "java",
    "js": "javascript",
    "rb": "ruby",
    "rs": "rust",
    "ts": "typescript",
    "tsx": "tsx",
}


def slash_command(text: str) -> None:
    """Read a line of a chat."""
    allowed = frozenset(command.name for command in SLASH_COMMANDS)
    for line in (text, f"/{text}", f"/context add {text}", f"/memory {text}"):
        parse_command(line, allowed)
        list(command_choices(line, allowed))


def agent_settings(text: str) -> None:
    """Add an entry to JSON with comments."""
    for one in (text, f'{{"a": {text}', f"// {text}\n{{}}", f'{{"a": [{text}'):
        with suppress(PromptuaryError):
            with_entry(one, ("b", "c"), 1)


def settings_toml(text: str) -> None:
    """Find the statements of TOML."""
    for one in (text, f"a = [{text}"):
        with suppress(PromptuaryError, ValueError):
            toml_tables(one)


def agent_transcript(text: str) -> None:
    """Read what coding agents write down of a conversation."""
    line = json.dumps({"type": "user", "message": {"role": "user", "content": text}, "uuid": "1"})
    for agent in ("claude-code", "codex", "gemini"):
        transcript_turns(f"{text}\n{line}\n{line}".encode(), agent)


def request_of_a_client(text: str) -> object:
    """Read a request with ``text`` as its only message, in each protocol, and record what it says."""
    said = [{"role": "user", "content": text}, {"role": "assistant", "content": text}]
    call: Message = {"role": "assistant", "content": text}
    call["tool_calls"] = [{"id": "1", "name": "look", "arguments": text}]
    requests = [
        MESSAGES.parse(json.dumps({"messages": said[:1], "model": "m", "system": text}).encode()),
        RESPONSES.parse(json.dumps({"input": said[:1], "instructions": text}).encode()),
        COMPLETIONS.parse(json.dumps({"messages": said[:1]}).encode()),
    ]
    added = [dialect.insert(request, {0: text}, text) for dialect, request in zip(DIALECTS, requests, strict=True)]
    find_route("POST", f"/v1/{text}".encode("utf-8", "replace")[:64_000])
    return added, chain_of([call]), long_texts(json.dumps({"prompt": text}))


DIALECTS: Final = (MESSAGES, RESPONSES, COMPLETIONS)


def prompt_by_name(text: str) -> None:
    """Read ``text`` as a prompt of every form, and fill it with itself."""
    for form in get_args(Form):
        with suppress(PromptuaryError):
            read = read_prompt(form, text)
            is_name(read.name)
            made = NamedPrompt("it", form, "person", "it", "", text, read.template, arguments=read.arguments)
            filled_text(made, text)


PARSERS: Final[dict[str, Parser]] = {
    "a request of a client": Parser(request_of_a_client),
    "settings": Parser(settings),
    "an ignore file": Parser(ignore_file),
    "a pattern": Parser(pattern),
    "a message": Parser(message),
    "a message with slips": Parser(slipped),
    "what a service streams": Parser(answer_stream),
    "the export of a thread": Parser(exported_thread),
    "a name in code": Parser(named_in_code),
    "a prompt by name": Parser(prompt_by_name),
    "a slash command": Parser(slash_command),
    "a paste": Parser(lambda text: Pastes().unfolded(text)),
    "a message of a chat": Parser(
        lambda text: plain(without_addresses(without_codes(as_sent(with_slash(text, "!"), "!"))))
    ),
    "an answer in a chat": Parser(chat_answer),
    "a table in a chat": Parser(with_tables_as_code),
    "a preference": Parser(choice),
    "settings of a coding agent": Parser(agent_settings),
    "settings of an agent in TOML": Parser(settings_toml),
    "a transcript of a coding agent": Parser(agent_transcript),
    "a summary": Parser(summary),
    "a patch": Parser(patch),
    "an address": Parser(address),
    "a name": Parser(name),
    "a tree of names": Parser(tree),
    "something typed": Parser(typed),
    "something typed ahead": Parser(lambda text: text_of(text, str.upper)),
    "words of a service": Parser(lambda text: words_of(text.encode("utf-8", "surrogatepass"), "sk-0123456789")),
    "what was used": Parser(usage),
    "the use of tools": Parser(tool_use),
    "an experience": Parser(experience),
    "a query": Parser(lambda text: (parse_query(text), extra_terms(folded(text)))),
    "instructions": Parser(parse_imports),
    "git's references": Parser(git_references),
    "git's settings": Parser(lambda text: parse_settings(text.encode("utf-8", "replace"))),
    "shown text": Parser(shown),
    "text with secrets": Parser(mask_secrets),
    "a score": Parser(score),
    "an image": Parser(image),
    "the bytes of a file": Parser(bytes_of_a_file),
    "the date of a file": Parser(lambda text: [date_of("a.md", f"{mark}\n{text}", 0) for mark in ("---", "+++", "#")]),
    "a date in a name": Parser(lambda text: date_of(text, "", 0)),
    "dates": Parser(dates),
    "front matter": Parser(front_matter),
    "links of notes": Parser(links_in),
    "tags of notes": Parser(lambda text: tags_in(text, "markdown")),
    "a note": Parser(note),
    "what was said": Parser(said),
    "an answer of a model": Parser(model_answer),
    "a file of another memory": Parser(foreign_memory),
    "an export of chats": Parser(export),
    "what a program wrote": Parser(lambda text: is_generated("a.py", text, text)),
    "a response": Parser(response),
    "a web page": Parser(lambda text: convert_html(text, "http://a/"), deadline=lambda _: _PAGE_SECONDS),
    "the content of a web page": Parser(
        lambda page: page_content(page, "http://a/"), prepare=lambda text: LexborHTMLParser(text, scripting=True)
    ),
    "a notebook": Parser(notebook),
    "a Word document": Parser(word, deadline=lambda _: _PAGE_SECONDS),
    "a PDF": Parser(pdf, deadline=lambda _: _PAGE_SECONDS),
    "the title of a note": Parser(lambda text: note_path("private", "user", text, "0123456789ab")),
    "the id of a note": Parser(is_note_id),
    "an outline of Markdown": Parser(lambda text: outlines(text, "markdown")),
    "an outline of Python": Parser(lambda text: outlines(text, "python")),
    **{f"a .{ending} file": file(f"a.{ending}") for ending in ("md", "rst", "org", "adoc", "txt", "json", "py")},
    **{f"a .{ending} file": code(f"a.{ending}") for ending, language in GRAMMARS.items() if has_grammar(language)},
    "the language of a text": Parser(lambda text: (passage_language(text), question_language(text))),
    "notes in a list": Parser(lambda text: listed_notes(f"{LIST_HEADING}## Notes\n{text}")),
    "parts of a message": Parser(parts_of),
    "servers of another client": Parser(tool_servers),
}
