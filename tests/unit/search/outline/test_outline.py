"""What a text defines, in every language that can be outlined."""

import pytest

from promptuary.search.outline import GRAMMARS, best_named, definitions, has_grammar, outline, plain_name

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

OTHER_NAMES = {
    "python": ("MAX = 3\nclass A:\n    f: int = 1\n    def m(self):\n        x = 2\n", "MAX A A.f A.m"),
    "javascript": ("export const MAX = 3\nclass A { static K = 1; m() { const x = 1 } }\n", "MAX A A.K A.m"),
    "typescript": (
        "interface I { k: number; m(): void }\nabstract class A { abstract go(): void }\nenum E { One, Two = 2 }\n",
        "I I.k I.m A A.go E E.One E.Two",
    ),
    "go": (
        "const Max = 3\nvar A, B = 1, 2\ntype R interface {\n\tRead() int\n}\nfunc f() { const x = 1 }\n",
        "Max A B R R.Read f",
    ),
    "rust": (
        "pub const MAX: u32 = 3;\ntrait T { type Out; fn sig(&self); }\nimpl<X> T for Vec<X> { fn sig(&self) {} }\n",
        "MAX T T.Out T.sig Vec Vec.sig",
    ),
    "java": ("interface I { int K = 3; void m(); }\nclass C { static final int A = 1; }\n", "I I.K I.m C C.A"),
    "c": (
        "#define MAX 3\nstatic const int LIMIT = 1;\ntypedef struct { int x; } p_t;\nint proto(int);\n",
        "MAX LIMIT p_t p_t.x proto",
    ),
    "cpp": (
        "struct A { void b(); };\nvoid A::b() {}\ntemplate <class T>\nT& n::A<T>::get() { int x = 1; }\nA::~A() {}\n",
        "A A.b A.b n.A.get A.~A",
    ),
    "ruby": ("MAX = 3\nclass A::Q\n  K = 1\n  def z; x = 1; end\nend\n", "MAX A.Q A.Q.K A.Q.z"),
}


@pytest.mark.parametrize("language", sorted(OTHER_NAMES))
def test_constants_fields_and_methods_without_a_body_have_names_too(language: str) -> None:
    text, names = OTHER_NAMES[language]

    assert [one.name for one in definitions(text, language, everything=True)] == names.split()


def test_an_outline_has_no_constants() -> None:
    assert outline("MAX = 3\ndef f(): pass\n", "python") == "2  def f(): pass\n"


COMMENTED = {
    "python": "x = 1  # of x\n# One.\n# Two.\n@decorated\ndef f():\n    pass\n",
    "rust": "const X: u8 = 1; // of x\n/// One.\n/// Two.\n#[inline]\nfn f() {\n}\n",
    "cpp": "int x; // of x\n/* One.\n   Two. */\ntemplate <class T>\nvoid f() {\n}\n",
    "typescript": "let x = 1 // of x\n/** One.\n * Two. */\n@decorated\nexport class f {\n}\n",
    "java": "class x {} // of x\n/** One.\n * Two. */\n@Decorated\nclass f {\n}\n",
    "go": "var x = 1 // of x\n// One.\n// Two.\n// Three.\nfunc f() {\n}\n",
    "ruby": "X = 1 # of x\n# One.\n# Two.\n# Three.\ndef f\nend\n",
}


@pytest.mark.parametrize("language", sorted(COMMENTED))
def test_a_definition_has_the_comments_and_attributes_right_above_it(language: str) -> None:
    found = definitions(COMMENTED[language], language)[-1]

    assert (found.name, found.above, found.last) == ("f", 2, 6)


def test_a_comment_before_a_blank_line_belongs_to_no_definition() -> None:
    assert [one.above for one in definitions("// A licence.\n\nfunc f() {}\n", "go")] == [3]
    assert [one.above for one in definitions("# A licence.\n\ndef f(): pass\n", "python")] == [3]


def test_a_group_of_constants_that_count_on_is_shown_whole() -> None:
    text = "const (\n\tA = iota\n\tB\n)\nconst (\n\tC = 1\n\tD = 2\n)\n"

    found = {one.name: (one.first, one.last) for one in definitions(text, "go", everything=True)}
    assert found == {"A": (1, 4), "B": (1, 4), "C": (6, 6), "D": (7, 7)}


def test_a_string_below_a_constant_of_python_is_part_of_it() -> None:
    found = definitions('X = 1\n"""About\nX."""\nY = 2\n', "python", everything=True)

    assert [(one.name, one.first, one.last) for one in found] == [("X", 1, 3), ("Y", 4, 4)]


@pytest.mark.parametrize("written", ["Point.new", "Point::new", "Point#new", "Point::new()"])
def test_a_name_may_be_spelled_as_its_language_does(written: str) -> None:
    assert plain_name(written) == "Point.new"


def test_a_definition_goes_before_a_declaration_and_an_exact_name_before_a_longer_one() -> None:
    found = definitions("struct A { void b(); };\nvoid A::b() {}\nvoid n::A::b() {}\n", "cpp", everything=True)

    assert [one.first for one in best_named(found, "A.b", lambda one: one)] == [2]
    assert [one.first for one in best_named(found, "b", lambda one: one)] == [2, 3]


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
def test_code_that_breaks_off_is_outlined_as_far_as_it_goes(language: str) -> None:
    text, names = SAMPLES[language]
    broken = f"{text}\n{text[: len(text) // 2]}"

    found = [one.name for one in definitions(broken, language)]
    assert found[: len(names.split())] == names.split()


@pytest.mark.parametrize("text", ["{" * 20_000, "\x00\ud800", ""])
@pytest.mark.parametrize("language", sorted(GRAMMARS))
def test_what_is_no_code_has_no_definitions_and_never_fails(language: str, text: str) -> None:
    assert definitions(text, language) == ()


def test_odd_escapes_in_other_peoples_code_warn_nobody() -> None:
    assert [one.name for one in definitions("def f():\n    return '\\d'\n", "python")] == ["f"]


def test_a_markdown_section_ends_where_the_next_of_its_rank_begins() -> None:
    found = definitions("# A\ntext\n## B\ntext\n# C\n", "markdown")

    assert [(one.name, one.first, one.last) for one in found] == [("A", 1, 4), ("B", 3, 4), ("C", 5, 6)]


def test_an_unknown_language_has_no_definitions() -> None:
    assert definitions("anything", "klingon") == ()
    assert outline("anything", "klingon") is None
