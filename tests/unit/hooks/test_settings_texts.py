"""Entries in the text of JSON and TOML: put in and taken out in the layout of the file, and every comment stays."""

import tomllib

import pytest

from promptuary.base.errors import PromptuaryError
from promptuary.config.toml_statements import tables
from promptuary.hooks.install import jsonc, toml_text

AT = ("servers", "p")
TABLE = ("mcp_servers", "promptuary")
VALUES = {"command": "/bin/p", "args": ["mcp"]}
INLINE = '{ command = "/bin/p", args = ["mcp"] }'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"servers": {"a": 1}}', '{"servers": {"a": 1, "p": 7}}'),
        ('{"servers": {"a": 1,}}', '{"servers": {"a": 1, "p": 7,}}'),
        ('{"servers": {"a": 1 /* a */}}', '{"servers": {"a": 1, /* a */ "p": 7}}'),
        (
            '{\n\t"servers": {\n\t\t"a": 1 // about a\n\t}\n}\n',
            '{\n\t"servers": {\n\t\t"a": 1, // about a\n\t\t"p": 7\n\t}\n}\n',
        ),
        (
            '{\n  "servers": {\n    "a": 1, // about a\n    // "b": 2\n  },\n}\n',
            '{\n  "servers": {\n    "a": 1, // about a\n    "p": 7,\n    // "b": 2\n  },\n}\n',
        ),
        (
            '{\r\n  "servers": {"a": 1 // about a\r\n  }\r\n}\r\n',
            '{\r\n  "servers": {"a": 1, // about a\r\n  "p": 7\r\n  }\r\n}\r\n',
        ),
        ('{"servers": {\n  // none yet\n}}', '{"servers": {\n  // none yet\n  "p": 7\n}}'),
        ('{"a": [1]}', '{"a": [1], "servers": {"p": 7}}'),
        ('\ufeff{"servers": {"a": 1}}', '\ufeff{"servers": {"a": 1, "p": 7}}'),
    ],
)
def test_a_member_is_added_and_removed_and_comments_stay_where_they_are(before: str, after: str) -> None:
    assert jsonc.with_entry(before, AT, 7) == after
    assert jsonc.without(after, AT, keep=jsonc.depth(before, AT)) == before


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"servers": {"p": 7, "b": 1}}', '{"servers": {"b": 1}}'),
        ('{"servers": {"a": 0, "p": 7, "b": 1}}', '{"servers": {"a": 0, "b": 1}}'),
        ('{"servers": {"a": 0, // a\n"p": 7}}', '{"servers": {"a": 0 // a\n}}'),
        ('{"servers": { // ours\n  "p": 7\n}}', '{"servers": { // ours\n}}'),
        ('{"servers": {\n  "p": 7, // ours\n  "b": 1\n}}', '{"servers": {\n  // ours\n  "b": 1\n}}'),
        ('{"servers": {\n  /* p */ "p": 7 /* x */,\n  "b": 1\n}}', '{"servers": {\n  /* p */  /* x */\n  "b": 1\n}}'),
        ('{"servers": {\n  "p": 7\n}, "b": 1}', '{"b": 1}'),
        ('{"servers": {"p": 7}}', "{}"),
    ],
)
def test_a_member_is_removed_with_what_was_made_for_it_alone(before: str, after: str) -> None:
    assert jsonc.without(before, AT, keep=0) == after


FORMS = [
    ("", '[mcp_servers.promptuary]\ncommand = "/bin/p"\nargs = ["mcp"]\n'),
    ("\ufeff", '\ufeff[mcp_servers.promptuary]\ncommand = "/bin/p"\nargs = ["mcp"]\n'),
    ("a = 1 # a\n", 'a = 1 # a\n\n[mcp_servers.promptuary]\ncommand = "/bin/p"\nargs = ["mcp"]\n'),
    ("mcp_servers = {}\n", f"mcp_servers = {{ promptuary = {INLINE} }}\n"),
    (
        'mcp_servers = { x = { a = "}" } } # in\n',
        f'mcp_servers = {{ x = {{ a = "}}" }}, promptuary = {INLINE} }} # in\n',
    ),
]


@pytest.mark.parametrize(("before", "after"), FORMS)
def test_a_table_is_added_in_the_form_that_the_file_allows(before: str, after: str) -> None:
    assert toml_text.with_table(before, TABLE, VALUES) == after
    assert toml_text.without_table(after, TABLE) == before


@pytest.mark.parametrize(
    "text",
    [
        '[mcp_servers.promptuary]\ncommand = "old" # was\n\n[mcp_servers.promptuary.env]\nA = "1"\n\n[tools]\n',
        '[mcp_servers]\npromptuary = { command = "old" } # was\nb.command = "b"\n',
        '[mcp_servers]\npromptuary.command = "old"\npromptuary.args = []\nb.command = "b"\n',
        'mcp_servers.promptuary.command = "old"\nmcp_servers.b.command = "b"\n',
        'mcp_servers = { promptuary = { command = "old" }, b = { command = "b" } }\n',
        'mcp_servers.b = { command = "b" }\n[mcp_servers."promptuary"]\ncommand = """\n[x]\n"""\n',
        '[a]\nx = [\n  "[mcp_servers.promptuary]", # no\n]\n[ mcp_servers . promptuary ]\ncommand = "old"\n',
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_table_in_any_form_is_replaced_and_put_back_and_taken_out(text: str, newline: str) -> None:
    text = text.replace("\n", newline)
    others = tomllib.loads(text.replace("\r\n", "\n"))
    del others["mcp_servers"]["promptuary"]

    after = toml_text.with_table(text, TABLE, VALUES)
    assert toml_text.value_at(after, TABLE) == VALUES
    assert toml_text.value_at(toml_text.with_table_of(after, TABLE, text), TABLE) == toml_text.value_at(text, TABLE)
    without = tomllib.loads(toml_text.without_table(after, TABLE).replace("\r\n", "\n"))
    assert {name: one for name, one in without.items() if one} == {name: one for name, one in others.items() if one}


def test_what_is_written_in_a_string_is_no_statement() -> None:
    text = 'a = """\n[x]\n""" # "\nb = \'\'\'y = 1\'\'\'\n[z]\n"k.k" . l = 1979-05-27 07:32:00 # c\n'

    assert [(one.path, [pair.path for pair in one.pairs]) for one in tables(text)] == [
        ((), [("a",), ("b",)]),
        (("z",), [("k.k", "l")]),
    ]


@pytest.mark.parametrize("text", ["a = " + "[" * 100_000, "a = " + "{ a = " * 5_000, "x" * 1_000_000])
def test_no_toml_takes_the_program_down(text: str) -> None:
    with pytest.raises(PromptuaryError, match="not TOML"):
        toml_text.with_table(text, TABLE, VALUES)
