"""Recognises secrets in a text that is about to be remembered: a note may enter every later prompt. Pure and linear.

Keys are recognised as in files. People also write a password in a sentence; there a value counts only if it has a digit
or a sign, so that "the password is stored in the vault" can be remembered.
"""

import re
from functools import cache
from typing import Final

from promptuary.core.errors import SecretError
from promptuary.workspace.disk.secret_values import mask_secrets

_NAMES: Final = (
    r"pass(?:word|wd|phrase|code)|passwort|kennwort|mot de passe|contraseña|senha|密[码碼]|口令|"
    r"(?:api|access|secret|private)[ _-]?key|secret|credentials?|(?:auth|access|bearer|api)[ _-]?token|pin(?: code)?"
)
_SPOKEN: Final = rf"(?<![\w-])(?:{_NAMES})(?!\w)[ \t]{{0,3}}(?:is|ist|est|es|é|=|:|：|是|为|為)[ \t]{{0,3}}[\"'`]?"
_VALUE: Final = r"(?=[^\s\"'`]{0,80}[\d!$%&*+?@^~])[^\s\"'`<>(\[{][^\s\"'`]{3,200}"
_MASK: Final = "***"
_NO_SECRET: Final = re.compile(r"\*+|x+|\.+|…|\$\{?\w+\}?|%\w+%|\d{4}-\d{2}-\d{2}\S*", re.IGNORECASE)


def has_secret(text: str) -> bool:
    """Return whether a text holds something that looks like a secret."""
    if mask_secrets(text) != text:
        return True
    return any(_NO_SECRET.fullmatch(found[1].rstrip(".,;")) is None for found in _spoken().finditer(text))


def without_secrets(text: str) -> str:
    """Return a text in which everything that looks like a secret is masked."""

    def masked(found: re.Match[str]) -> str:
        value = found[1].rstrip(".,;")
        return found[0] if _NO_SECRET.fullmatch(value) else found[0][: -len(found[1])] + _MASK

    return _spoken().sub(masked, mask_secrets(text))


def refuse_secrets(*texts: str) -> None:
    """Raise ``SecretError`` if one of the texts holds a secret. Its message does not contain the secret."""
    if has_secret("\n".join(texts)):
        raise SecretError(
            "this looks like it holds a password, a key or a token, which is not stored; say where it is kept instead"
        )


@cache
def _spoken() -> re.Pattern[str]:
    return re.compile(f"{_SPOKEN}({_VALUE})", re.IGNORECASE)
