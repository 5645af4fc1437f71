import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.base.errors import Code
from promptuary.sessions.values import Session
from promptuary.workspace.access import REMOTE_KINDS, Access, Action, Pins

POLICY = Access()


def code_of(path: str, policy: Access = POLICY) -> Code | None:
    refusal = policy.refusal("read", path)
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
    refusal = POLICY.refusal("read", "a\u200b.zip")

    assert refusal is not None
    assert '"a⟨U+200B⟩.zip"' in refusal.reason
    assert "allowed_extensions" in refusal.reason


def test_extensions_can_be_added_or_all_be_allowed() -> None:
    assert code_of("a.unheard", Access(also=frozenset({".unheard"}))) is None
    assert code_of("a.unheard", Access(also=frozenset({"*"}))) is None
    assert code_of("a.py", Access(allowed=frozenset({".md"}))) is Code.DISALLOWED_EXTENSION
    assert code_of("only.this", Access(allowed=frozenset({"only.this"}))) is None


def test_allowing_every_extension_opens_no_secret() -> None:
    assert code_of("server.pem", Access(also=frozenset({"*"}))) is Code.SENSITIVE_PATH


def test_a_name_opened_on_purpose_may_be_read_wherever_it_is() -> None:
    policy = Access(allow_sensitive=frozenset({".env.test", "config/secrets.yml", "ca.pem"}))

    assert code_of(".env.test", policy) is None
    assert code_of("deep/.env.test", policy) is None
    assert code_of("config/secrets.yml", policy) is None
    assert code_of("ca.pem", policy) is None
    assert code_of(".env", policy) is Code.SENSITIVE_PATH
    assert code_of("secrets.yml", policy) is Code.SENSITIVE_PATH
    assert code_of("not.env.test.pem", policy) is Code.SENSITIVE_PATH


def test_folders_can_be_asked_about_too() -> None:
    policy = Access(allow_sensitive=frozenset({".aws/task.json"}))

    assert [policy.is_sensitive(path) for path in (".ssh", "a/.git/hooks", "src", "pkg.v2", ".github")] == [
        *(True, True, False, False, False)
    ]
    assert not policy.is_sensitive(".aws/task.json")


def test_the_words_of_secrets_may_be_translated_and_described() -> None:
    assert code_of("public/locales/en/auth.json") is None
    assert code_of("chart/templates/secrets.yaml") is None
    assert code_of("auth.json") is Code.SENSITIVE_PATH
    assert code_of("chart/secrets.yaml") is Code.SENSITIVE_PATH


def test_a_policy_compares_and_hashes_as_a_value() -> None:
    assert Access() == Access()
    assert len({Access(), Access(), Access(max_bytes=1)}) == 2


@pytest.mark.parametrize("path", ["a" * 256 + ".py", f"b/{'a' * 256}/c.py", "a/" * 2_048 + "c.py", " copy" * 50_000])
def test_a_name_that_no_file_can_have_is_refused_without_a_closer_look(path: str) -> None:
    assert code_of(path) == Code.BAD_NAME
    assert POLICY.is_sensitive(path)


def test_the_longest_name_of_a_file_is_looked_at_as_any_other() -> None:
    folder = "a" * 255

    assert code_of(f"{folder}/{folder}/c.py") is None
    assert code_of(f"{folder}/{folder}/.env{' copy' * 50}") == Code.SENSITIVE_PATH


PLACES = st.lists(st.sampled_from(["", "a", "b", "a/b", "a/c", "b/c/d"]), max_size=3).map(tuple)
LIMITED = st.builds(
    Access.limited,
    st.frozensets(st.sampled_from(sorted(REMOTE_KINDS))),
    PLACES,
    st.frozensets(st.sampled_from(["one.test", "two.test"])),
)
ANY = st.just(Access(hosts=frozenset({"own.test"}), allow_sensitive=frozenset({".env"}))) | LIMITED


def session(*roots: str, memory: bool = True) -> Session:
    return Session("s1", "one", "one", "", "", roots=roots, memory=memory)


@given(ANY, ANY, PLACES, st.lists(st.sampled_from("abcd"), max_size=4).map("/".join))
def test_narrowed_access_is_what_both_allow(first: Access, second: Access, roots: tuple[str, ...], path: str) -> None:
    second = second.during(session(*roots), Pins())
    both = first.narrow(second)

    assert both.covers(path) == (first.covers(path) and second.covers(path))
    assert both.session is second.session
    assert all(
        not both.allows("use", kind) or (first.allows("use", kind) and second.allows("use", kind))
        for kind in REMOTE_KINDS
    )
    assert both.is_limited == (first.is_limited or second.is_limited)
    assert not (second.is_limited and both.allow_sensitive)
    assert second.is_limited or both.hosts == first.hosts
    assert not second.is_limited or both.hosts <= second.hosts


@given(ANY, PLACES, st.lists(st.sampled_from("abcd"), max_size=4))
def test_what_may_be_read_may_be_seen_and_so_may_the_folders_above_it(
    access: Access, roots: tuple[str, ...], names: list[str]
) -> None:
    access = access.during(session(*roots), Pins())
    path = "/".join([*names, "x.py"])

    if access.allows("read", path):
        assert all(access.allows("see", "/".join(names[:depth])) for depth in range(len(names) + 1))
        assert access.inside([path]) == [path]


def test_a_session_limits_files_kinds_and_experiences() -> None:
    whole = Access().during(session(), Pins(experiences={"e": "1"}))
    part = Access().during(session("docs", memory=False), Pins(experiences={"e": "1"}))

    assert whole.allows("use", "git")
    assert whole.sees_experience("e", "1")
    assert not whole.sees_experience("e", "2")
    refused: list[tuple[Action, str]] = [("read", "src/a.py"), ("list", "src"), ("see", "src")]
    refused += [("use", "git"), ("use", "memory")]
    for action, what in refused:
        refusal = part.refusal(action, what)
        assert refusal is not None
        assert refusal.code is Code.OUTSIDE_SESSION
    assert part.allows("read", "docs/a.md")
    assert part.allows("list", "")
    assert not part.sees_experience("e", "1")
