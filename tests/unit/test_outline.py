"""What a text defines, in every language that can be outlined."""

import pytest

from promptuary.outline import GRAMMARS, definitions, has_grammar, outline

SAMPLES = {
    "python": (
        "class A:\n    @property\n    def b(self) -> int:\n        return 1\n\nasync def c(x): ...\n",
        "A A.b c",
    ),
    "javascript": ("class A { b() {} }\nconst c = (x) => x\nfunction d() {}\nexport const n = 1\n", "A A.b c d"),
    "typescript": ("export interface I { x: string }\ntype T = string\nclass A { b(): void {} }\n", "I T A A.b"),
    "tsx": ("export function View(): JSX.Element { return <p/> }\n", "View"),
    "go": ("type S struct{}\nfunc (s *S) Run() error { return nil }\nfunc main() {}\n", "S S.Run main"),
    "rust": ("struct S;\nimpl S { fn run(&self) {} }\nenum E { A }\nfn main() {}\n", "S S S.run E main"),
    "java": ("class A { A() {} void b() {} interface I {} }\n", "A A.A A.b A.I"),
    "c": ("struct s { int x; };\nstatic int *f(int a) { return 0; }\nstruct s g;\n", "s f"),
    "cpp": ("namespace n { class A { void b() {} }; }\nint main() {}\n", "n n.A n.A.b main"),
    "ruby": ("module M\n  class A\n    def b; end\n    def self.c; end\n  end\nend\n", "M M.A M.A.b M.A.c"),
    "markdown": ("# One\n\n```\n# not a heading\n```\n\n## Two\n", "One Two"),
}


@pytest.mark.parametrize("language", sorted(SAMPLES))
def test_the_names_of_a_text_are_found_qualified_and_in_order(language: str) -> None:
    text, names = SAMPLES[language]

    assert [one.name for one in definitions(text, language)] == names.split()


def test_every_grammar_has_a_sample_and_is_installed_for_the_tests() -> None:
    assert SAMPLES.keys() >= GRAMMARS
    assert all(has_grammar(language) for language in SAMPLES)


@pytest.mark.parametrize("language", sorted(SAMPLES))
def test_the_lines_of_a_definition_hold_it(language: str) -> None:
    text, _ = SAMPLES[language]
    lines = text.split("\n")
    for one in definitions(text, language):
        assert one.name.rsplit(".", 1)[-1] in "\n".join(lines[one.first - 1 : one.last])


def test_a_decorated_definition_begins_at_its_decorator() -> None:
    found = definitions("@one\n@two(\n    3,\n)\ndef f():\n    pass\n", "python")

    assert [(one.first, one.last, one.signature) for one in found] == [(1, 6, "def f()")]


def test_a_signature_over_several_lines_is_told_in_one() -> None:
    text = "def f(\n    a: int,\n    *,\n    b: str = ':',\n) -> dict[str, int]:\n    '''Doc.'''\n"

    assert outline(text, "python") == "1  def f(a: int, *, b: str = ':') -> dict[str, int]\n"


def test_definitions_inside_conditions_are_found() -> None:
    text = "if True:\n    def f(): pass\ntry:\n    class A: pass\nexcept ImportError:\n    def g(): pass\n"

    assert [one.name for one in definitions(text, "python")] == ["f", "A"]


@pytest.mark.parametrize(
    "text",
    [
        "def f(:\n",
        "x = '\\d'\n\x00",
        "(" * 100_000,
        "-" * 50_000 + "1",
        "\ud800",
        "def f():\n\treturn 1\n        x = 2\n",
    ],
    ids=["syntax", "nul", "nesting", "operators", "surrogate", "tabs"],
)
def test_a_text_that_does_not_parse_has_no_definitions(text: str) -> None:
    assert definitions(text, "python") == ()


@pytest.mark.parametrize("language", sorted(GRAMMARS))
def test_broken_code_is_outlined_as_far_as_it_goes_and_never_fails(language: str) -> None:
    for text in (SAMPLES[language][0][:-5], "{" * 20_000, "\x00\ud800", ""):
        definitions(text, language)


def test_odd_escapes_in_other_peoples_code_warn_nobody() -> None:
    assert [one.name for one in definitions("def f():\n    return '\\d'\n", "python")] == ["f"]


def test_a_markdown_section_ends_where_the_next_of_its_rank_begins() -> None:
    found = definitions("# A\ntext\n## B\ntext\n# C\n", "markdown")

    assert [(one.name, one.first, one.last) for one in found] == [("A", 1, 4), ("B", 3, 4), ("C", 5, 6)]


def test_an_unknown_language_has_no_definitions() -> None:
    assert definitions("anything", "klingon") == ()
    assert outline("anything", "klingon") is None
