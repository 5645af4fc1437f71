"""A text is only compared with the patterns that can match it, and the result is that of all patterns."""

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from promptuary.memory import secret_texts
from promptuary.workspace.disk.secret_values import mask_secrets

PARTS = st.sampled_from(
    [
        *(
            "password",
            "PassWord",
            "pwd",
            "kennwort",
            "lösenord",
            "losenord",
            "haslo",
            "hasło",
            "пароль",
            "密码",
            "pin",
            "secret",
        ),
        *(
            "api_key",
            "API-Key",
            "token",
            "cookie",
            "Authorization",
            "auth",
            "credentials",
            "zugangsdaten",
            "clave secreta",
        ),
        *(
            "is",
            "ist",
            "lautet",
            "reads",
            "=",
            ":",
            " := ",
            "=>",
            "->",
            "--",
            "-",
            "-u ",
            "--user=",
            "bearer ",
            "Basic ",
            "@",
        ),
        *(
            "https://",
            "postgres://",
            "mysql -p",
            "sshpass -p ",
            "redis-cli -a ",
            "7z -p",
            "login -p ",
            "for the staging database",
        ),
        *(
            "hunter2!",
            "4711",
            "s3cr3t-Pa55",
            "${VAR}",
            "ada",
            "'",
            '"',
            "“",
            "\n",
            " ",
            " ",
            " ",
            "with",
            "using",
            "mit",
            "as",
            "ſecret",
        ),
    ]
)


def by_all_patterns(text: str) -> str:
    """Return ``text`` masked by every pattern, in order."""
    text = mask_secrets(text)
    for pattern, _, counts in secret_texts._patterns():
        text = secret_texts._ignoring_case(pattern).sub(partial(secret_texts._masked, counts), text)
    return text


@given(st.lists(PARTS, min_size=1, max_size=12).map("".join))
def test_no_secret_is_missed_because_a_pattern_was_not_tried(text: str) -> None:
    assert secret_texts.without_secrets(text) == by_all_patterns(text)
