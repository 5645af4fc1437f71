import pytest

from promptuary.base.errors import Code
from promptuary.workspace.disk.policy import ReadPolicy

POLICY = ReadPolicy()


def code_of(path: str, policy: ReadPolicy = POLICY) -> Code | None:
    refusal = policy.refusal(path)
    return refusal.code if refusal else None


@pytest.mark.parametrize(
    "path",
    [
        *(
            "app.py",
            "lib.rs",
            "main.zig",
            "Page.astro",
            "App.vue",
            "q.sql",
            "icon.svg",
            "paper.tex",
            "run.ipynb",
        ),
        *(
            "api.proto",
            "schema.graphql",
            "uv.lock",
            "go.mod",
            "go.sum",
            "data.jsonl",
            "table.csv",
            "x.R",
            "MAIN.PY",
        ),
        *(
            "Dockerfile",
            "Dockerfile.dev",
            "Makefile.am",
            "Jenkinsfile",
            "CODEOWNERS",
            "LICENSE",
            "README",
            "README.de",
        ),
        *(
            "bin/run",
            ".ci/run",
            ".gitignore",
            ".github/workflows/ci.yml",
            ".editorconfig",
            "man/tool.1",
            "v1.2",
        ),
        *(
            "requirements.in",
            "a.html.erb",
            "index.d.ts",
            "Cargo.lock",
            "CMakeLists.txt",
            ".clang-format",
            "x.asc",
        ),
    ],
)
def test_what_holds_text_by_its_name_may_be_read(path: str) -> None:
    assert code_of(path) is None


@pytest.mark.parametrize(
    "path",
    [
        "a.png",
        "b.zip",
        "c.exe",
        "d.sqlite",
        "e.db",
        "f.xlsx",
        "g.doc",
        "h.so",
        "i.tar.gz",
        "j.mp4",
        "k.pyc",
        "l.unheard",
    ],
)
def test_what_holds_no_text_by_its_name_is_refused(path: str) -> None:
    assert code_of(path) is Code.DISALLOWED_EXTENSION


def test_a_refusal_says_what_to_do_and_shows_what_is_hidden() -> None:
    refusal = POLICY.refusal("a\u200b.zip")

    assert refusal is not None
    assert '"a⟨U+200B⟩.zip"' in refusal.reason
    assert "allowed_extensions" in refusal.reason


def test_extensions_can_be_added_or_all_be_allowed() -> None:
    assert code_of("a.unheard", ReadPolicy(also=frozenset({".unheard"}))) is None
    assert code_of("a.unheard", ReadPolicy(also=frozenset({"*"}))) is None
    assert code_of("a.py", ReadPolicy(allowed=frozenset({".md"}))) is Code.DISALLOWED_EXTENSION
    assert code_of("only.this", ReadPolicy(allowed=frozenset({"only.this"}))) is None


def test_allowing_every_extension_opens_no_secret() -> None:
    assert code_of("server.pem", ReadPolicy(also=frozenset({"*"}))) is Code.SENSITIVE_PATH


def test_a_name_opened_on_purpose_may_be_read_wherever_it_is() -> None:
    policy = ReadPolicy(allow_sensitive=frozenset({".env.test", "config/secrets.yml", "ca.pem"}))

    assert code_of(".env.test", policy) is None
    assert code_of("deep/.env.test", policy) is None
    assert code_of("config/secrets.yml", policy) is None
    assert code_of("ca.pem", policy) is None
    assert code_of(".env", policy) is Code.SENSITIVE_PATH
    assert code_of("secrets.yml", policy) is Code.SENSITIVE_PATH
    assert code_of("not.env.test.pem", policy) is Code.SENSITIVE_PATH


def test_folders_can_be_asked_about_too() -> None:
    policy = ReadPolicy(allow_sensitive=frozenset({".aws/task.json"}))

    assert [policy.sensitive(path) for path in (".ssh", "a/.git/hooks", "src", "pkg.v2", ".github")] == [
        *(True, True, False, False, False)
    ]
    assert not policy.sensitive(".aws/task.json")


def test_the_words_of_secrets_may_be_translated_and_described() -> None:
    assert code_of("public/locales/en/auth.json") is None
    assert code_of("chart/templates/secrets.yaml") is None
    assert code_of("auth.json") is Code.SENSITIVE_PATH
    assert code_of("chart/secrets.yaml") is Code.SENSITIVE_PATH


def test_a_policy_compares_and_hashes_as_a_value() -> None:
    assert ReadPolicy() == ReadPolicy()
    assert len({ReadPolicy(), ReadPolicy(), ReadPolicy(max_bytes=1)}) == 2


@pytest.mark.parametrize("path", ["a" * 256 + ".py", f"b/{'a' * 256}/c.py", "a/" * 2_048 + "c.py", " copy" * 50_000])
def test_a_name_that_no_file_can_have_is_refused_without_a_closer_look(path: str) -> None:
    assert code_of(path) == Code.BAD_NAME
    assert POLICY.sensitive(path)


def test_the_longest_name_of_a_file_is_looked_at_as_any_other() -> None:
    folder = "a" * 255

    assert code_of(f"{folder}/{folder}/c.py") is None
    assert code_of(f"{folder}/{folder}/.env{' copy' * 50}") == Code.SENSITIVE_PATH
