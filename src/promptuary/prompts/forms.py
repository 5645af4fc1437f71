"""Reads the forms of prompts: each function returns what the text of one file says. Pure; nothing is ever run.

What a form has and this program does not use (tools, models of others, commands of a shell) is named in ``notes``.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from promptuary.base.errors import FrontMatterError
from promptuary.base.front_matter import NoteText, fields, matter_end, parse
from promptuary.base.references import quote
from promptuary.base.text import beginning, list_names, one_line, split_lines
from promptuary.prompts.values import ALL_WORDS, Argument, Form, Hole, Template

MAX_ARGUMENTS: Final = 50
_ARGUMENT: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,59}")
_SHOWN: Final = 60
_LONGEST: Final = 300

_MARKDOWN: Final = re.compile(r"\{\{[ \t]*(?P<name>[A-Za-z][A-Za-z0-9_-]{0,59})[ \t]*\}\}")
_CLAUDE: Final = re.compile(r"\$(?:(?P<words>ARGUMENTS)\b|(?P<number>[1-9])(?!\d))|!`(?P<command>[^`\n]+)`")
_CODEX: Final = re.compile(
    r"\$(?:(?P<dollar>\$)|(?P<words>ARGUMENTS)\b|(?P<number>[1-9])(?!\d)|(?P<name>[A-Z][A-Z0-9_]{0,59})(?![A-Za-z0-9_]))"
)
# Braces in braces, three deep; nothing is tried twice, so an unclosed one costs no more than its text.
_IN_BRACES: Final = r"(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+"
_GEMINI: Final = re.compile(
    rf"\{{\{{[ \t]*(?P<words>args)[ \t]*\}}\}}|!\{{(?P<command>{_IN_BRACES})\}}|@\{{(?P<path>[^{{}}\n]+)\}}"
)
_LLM: Final = re.compile(
    r"\$(?:(?P<dollar>\$)|(?P<words>input)(?!\w)|\{(?P<all>input)\}"
    r"|(?P<name>[A-Za-z_]\w{0,59})|\{(?P<braced>[A-Za-z_]\w{0,59})\})",
    re.ASCII,
)


class ReadPrompt(Struct, frozen=True):
    """What a file says. ``name`` is the one that it gives itself, if it does."""

    text: str
    template: Template
    name: str = ""
    description: str = ""
    hint: str = ""
    arguments: tuple[Argument, ...] = ()
    model: str = ""
    notes: tuple[str, ...] = ()


def read_prompt(form: Form, text: str) -> ReadPrompt:
    """Return what a file of this form says. Raises ``FrontMatterError`` if it cannot be understood."""
    read = _READERS[form](text.removeprefix("\ufeff"))
    if not read.text.strip():
        raise FrontMatterError("it has no text")
    if len(read.arguments) > MAX_ARGUMENTS:
        raise FrontMatterError(f"it has more than {MAX_ARGUMENTS} arguments")
    return read


def _read_markdown(text: str) -> ReadPrompt:
    matter = parse(text)
    if matter.problem:
        raise FrontMatterError(matter.problem)
    references = " ".join(_texts(matter, "references"))
    body = "\n\n".join(filter(None, [matter.body.strip(), references]))
    used = list(dict.fromkeys(found["name"] for found in _MARKDOWN.finditer(body)))
    declared = "arguments" in matter.fields
    arguments = _declared(matter) if declared else tuple(Argument(name) for name in used)
    names = {one.name for one in arguments}
    known = ("description", "arguments", "model", "references")
    notes = [*_not_used(matter.fields, known), *_left([name for name in used if name not in names])]
    if unused := [one.name for one in arguments if one.name not in used]:
        notes.append(f"its text has no place for {list_names(unused)}")
    template = _template(body, _MARKDOWN, lambda found: Hole(found["name"]) if found["name"] in names else found[0])
    return ReadPrompt(
        body,
        template,
        description=_line(_value(matter, "description")),
        arguments=arguments,
        model=_value(matter, "model"),
        notes=tuple(notes),
    )


def _declared(matter: NoteText) -> tuple[Argument, ...]:
    """Return the arguments that front matter lists: names, perhaps with ``=default``, or mappings."""
    found = [_of_text(one) for one in _texts(matter, "arguments")]
    for mapping in matter.mappings("arguments"):
        if mapping.problem:
            raise FrontMatterError(f"its arguments cannot be read: {mapping.problem}")
        if "name" in mapping.fields:
            found.append(_of_mapping(_value(mapping, "name"), mapping))
            continue
        below = {key: mapping.mappings(key) for key in mapping.fields}
        found += [
            _of_mapping(key, inner[0]) if inner else Argument(_checked_name(key), default=_value(mapping, key))
            for key, inner in below.items()
        ]
    names = [one.name for one in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise FrontMatterError(f"it has the argument {twice[0]} twice")
    return tuple(found)


def _of_text(written: str) -> Argument:
    name, equals, default = written.partition("=")
    return Argument(_checked_name(name.strip()), default=default.strip() if equals else None)


def _of_mapping(name: str, mapping: NoteText) -> Argument:
    if mapping.problem:
        raise FrontMatterError(f"its argument {one_line(name)[:_SHOWN]} cannot be read: {mapping.problem}")
    required = _value(mapping, "required").lower() not in {"false", "no"}
    default = _value(mapping, "default") if "default" in mapping.fields else None if required else ""
    return Argument(_checked_name(name), _line(_value(mapping, "description")), default)


def _checked_name(name: str) -> str:
    if not _ARGUMENT.fullmatch(name):
        raise FrontMatterError(f"{one_line(name)[:_SHOWN]!r} cannot be the name of an argument; use letters and digits")
    return name


def _read_claude(text: str) -> ReadPrompt:
    found, body = _loose(text)
    notes: list[str] = []
    if "allowed-tools" in found:
        notes.append("its allowed-tools are not used: they are those of Claude Code")
    if "model" in found:
        notes.append(f"its model is not used: {found['model'][:_SHOWN]} is a name of Claude Code")
    commands: list[str] = []

    def part(match: re.Match[str]) -> str | Hole:
        if match["command"] is None:
            return _words_or_number(match)
        commands.append(match["command"])
        return _not_run(match["command"])

    template = _template(body, _CLAUDE, part)
    return ReadPrompt(
        body,
        template,
        name=found.get("name", ""),
        description=_line(found.get("description", "")),
        hint=_line(found.get("argument-hint", "")),
        notes=(*notes, *_commands(commands)),
    )


def _read_codex(text: str) -> ReadPrompt:
    found, body = _loose(text)
    names: dict[str, None] = {}

    def part(match: re.Match[str]) -> str | Hole:
        if match["dollar"]:
            return "$"
        if match["name"] is None:
            return _words_or_number(match)
        names[match["name"]] = None
        return Hole(match["name"])

    template = _template(body, _CODEX, part)
    return ReadPrompt(
        body,
        template,
        description=_line(found.get("description", "")),
        hint=_line(found.get("argument-hint", "")),
        arguments=tuple(map(Argument, names)),
    )


def _read_gemini(text: str) -> ReadPrompt:
    try:
        table = tomllib.loads(text.replace("\r\n", "\n"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise FrontMatterError(f"it is not TOML: {error}") from error
    body, description = table.get("prompt"), table.get("description", "")
    if not isinstance(body, str):
        raise FrontMatterError('it has no prompt = "…"')
    commands: list[str] = []

    def part(match: re.Match[str]) -> str | Hole:
        if match["command"] is not None:
            commands.append(match["command"].strip())
            return _not_run(match["command"].strip())
        return Hole(ALL_WORDS) if match["words"] else f"@{quote(match['path'].strip())}"

    template = _template(body, _GEMINI, part)
    notes = [*_not_used(table, ("prompt", "description")), *_commands(commands)]
    return ReadPrompt(
        body, template, description=_line(description if isinstance(description, str) else ""), notes=tuple(notes)
    )


def _read_llm(text: str) -> ReadPrompt:
    matter = parse(f"---\n{text.removeprefix('---').strip(chr(10))}\n---\n")
    if matter.problem:
        raise FrontMatterError(f"only plain YAML is read: {matter.problem}")
    said = [_value(matter, key).strip() for key in ("system", "prompt")]
    body = "\n\n".join(filter(None, said))
    defaults = {key: _value(one, key) for one in matter.mappings("defaults") for key in one.fields}
    names: dict[str, None] = {}

    def part(match: re.Match[str]) -> str | Hole:
        if match["dollar"]:
            return "$"
        if match["words"] or match["all"]:
            return Hole(ALL_WORDS)
        name = match["name"] or match["braced"]
        names[name] = None
        return Hole(name)

    template = _template(body, _LLM, part)
    arguments = tuple(Argument(name, default=defaults.get(name)) for name in names)
    notes = ["its system prompt is the beginning of the message"] if said[0] else []
    notes += [f"its model is not used: {_value(matter, 'model')[:_SHOWN]} is a name of llm"] * (
        "model" in matter.fields
    )
    notes += _not_used(matter.fields, ("system", "prompt", "defaults", "model", "name"))
    return ReadPrompt(body, template, arguments=arguments, notes=tuple(notes))


_READERS: Final[Mapping[Form, Callable[[str], ReadPrompt]]] = {
    "promptuary": _read_markdown,
    "claude": _read_claude,
    "skill": _read_claude,
    "codex": _read_codex,
    "gemini": _read_gemini,
    "llm": _read_llm,
}


# Parts


def _template(text: str, pattern: re.Pattern[str], part: Callable[[re.Match[str]], str | Hole]) -> Template:
    """Return ``text`` with what ``part`` returns for each match; values that are filled in are not looked at again."""
    parts: list[str | Hole] = []
    said: list[str] = []
    end = 0
    for found in pattern.finditer(text):
        said.append(text[end : found.start()])
        end = found.end()
        if isinstance(one := part(found), str):
            said.append(one)
        else:
            parts += ["".join(said), one]
            said = []
    return tuple(one for one in (*parts, "".join([*said, text[end:]])) if one != "")


def _words_or_number(match: re.Match[str]) -> Hole:
    return Hole(ALL_WORDS if match["words"] else match["number"])


def _not_run(command: str) -> str:
    return f"[not run here: {command}]"


def _commands(commands: Sequence[str]) -> Iterator[str]:
    if commands:
        shown = "; ".join(beginning(one_line(one), _SHOWN) for one in commands[:5])
        more = f" and {len(commands) - 5} more" if len(commands) > 5 else ""
        yield f"its commands are not run, which the message says: {shown}{more}"


def _not_used(given: Mapping[str, object], known: Sequence[str]) -> Iterator[str]:
    if unknown := [beginning(one_line(key), _SHOWN) for key in given if key not in known]:
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        yield f"not used: {', '.join(unknown[:5])}{more}"


def _left(names: Sequence[str]) -> Iterator[str]:
    if names:
        yield f"{{{{{names[0]}}}}} is not among its arguments, and stays as it is"


# Front matter


def _loose(text: str) -> tuple[Mapping[str, str], str]:
    """Return the texts in front matter that need be no YAML (``argument-hint: [a] [b]``), and the body."""
    matter = parse(text)
    if not matter.problem:
        # A list in brackets is meant as it is written.
        written = {key: "".join(values) for key, values in fields(text).items()}
        plain = {
            key: written.get(key, "") if isinstance(matter.value(key), tuple) else _value(matter, key)
            for key in matter.fields
        }
        return plain, matter.body.strip()
    lines = split_lines(text)
    end = matter_end(lines, ("---",))
    if not end:
        return {}, text.strip()
    return {key: "".join(values).strip("\"'") for key, values in fields(text).items()}, "".join(lines[end:]).strip()


def _value(matter: NoteText, key: str) -> str:
    value = matter.value(key)
    return value if isinstance(value, str) else ""


def _texts(matter: NoteText, key: str) -> Sequence[str]:
    value = matter.value(key)
    return [value] if isinstance(value, str) and value else [*(value or ())]


def _line(text: str) -> str:
    return beginning(one_line(" ".join(text.split())), _LONGEST)
