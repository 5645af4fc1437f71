"""Recognises secrets in what is about to be stored: a note, an experience, a proposal. Pure and linear.

What is stored may enter every later prompt, so this is stricter than reading a file, where only ``secret_values`` are
masked. People write a password in a sentence, an assignment, a command, a header or a URL. In a sentence a value counts
only if it has a digit or a sign, so that "the password is stored in the vault" can be remembered.

There is one recogniser for all. A note that holds a secret is refused (``refuse_secrets``), since its words are
somebody's; an experience is useful without the value, so it is masked there (``without_secrets``).
"""

import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Final

from promptuary.base.errors import SecretError
from promptuary.workspace.disk.secret_values import mask_secrets

MASK: Final = "***"

FIELD_NAMES: Final = (
    r"pass(?:word|wd|phrase|code)?|pwd|passwort|kennwort|secret|credentials?|authorization|auth|cookie|"
    r"(?:access|api|auth|bearer|refresh|session|id)?[_-]?token|(?:api|access|secret|private|account)[_-]?key|apikey|"
    r"client[_-]?secret"
)
"""How fields, options and variables are called that hold a secret."""

_PLAIN_NAMES: Final = (
    r"pass[ -]?(?:word|wd|phrase|code)|pwd|passwort|kennwort|zugangscode|mot de passe|code secret|contrase[ñn]a|clave|"
    r"parola(?: d[’']ordine)?|senha|palavra[ -]passe|wachtwoord|has[łl]o|heslo|jelsz[óo]|l[öo]senord(?:et)?|"
    r"adgangskoden?|passord(?:et)?|salasana|[şs]ifre(?:si)?|пароль|κωδικός|m[ậa]t kh[ẩa]u|kata sandi|पासवर्ड|"
    r"كلمة (?:المرور|السر)|סיסמה"
)
_OTHER_NAMES: Final = (
    r"(?:api|access|secret|private|auth|license|encryption|signing|account|master)[ _-]?(?:key|schl[üu]ssel)|"
    r"(?:api|access|auth|bearer|refresh|session|bot|deploy|id)?[ _-]?token|client[ _-]?secret|secret|credentials?|"
    r"(?:cl[ée]|clave|chiave|chave) (?:d[’'e] ?)?(?:api|secr[èe]te|secreta|segreta)|zugangsdaten"
)
_SAY: Final = r"[ \t]{0,3}"
_THEN: Final = r"[ \t]{1,3}"
_VERB: Final = (
    rf"(?:(?<![^\W\d_])(?:(?:was|is|has been){_THEN}(?:changed|set|reset){_THEN}to|is{_THEN}(?:now|still)|wurde auf|"
    r"is|are|was|reads|ist|sind|war|lautet|hei(?:ß|ss)t|est|es|son|è|é|são|это|je|jest|[äa]r|er|on|είναι)(?![^\W\d_])|"
    r"[=:：→]|=>|->)"
)
_OF: Final = (
    r"for|of|to|on|in|at|from|we|i|you|that|f[üu]rs?|von|vom|der|des|zu|zum|zur|im|ins|am|auf|aus|bei|beim|"
    r"(?:m|d|s)eine[rs]|unsere[rs]|ihre[rs]|pour|de|du|d[’']\w+|sur|à|aux?|del|dell[aeo]|dei|degli|nel|nella|sul|para|en|"
    r"no|na|em|di|do|da|dos|das|per|a|al|van|voor|op|bij|naar|för|till|til|av|af|dla|для|от|к"
)
_WHICH: Final = rf"(?:{_THEN}(?:{_OF})(?:{_THEN}[^\s:=：]{{1,40}}){{1,6}}?|{_THEN}\([^()\n]{{1,40}}\))?"
"""Which one it is: "for the staging database"."""
_WORDS: Final = rf"(?:[^\s:=]{{1,20}}{_THEN}){{0,3}}?"
_QUOTE: Final = r"[\"'`“”„«‘*]{0,3}"
_TELLING: Final = r"(?=[^\s\"'`]{0,80}[\d!$%&*+?@^~])"
_WORD: Final = r"[^\s\"'`“”„«»<>(\[{⟨*][^\s\"'`“”»]{3,200}"
_VALUE: Final = r"(?:\"[^\"\n]{1,400}\"|'[^'\n]{1,400}'|[^\s\"'`;&|<>,]{1,400})"
_UNSPACED: Final = rf"(?:密[码碼]|口令|パスワード|暗証番号|비밀번호|암호)[^\s:：=]{{0,20}}?{_SAY}[是为為は는은:：=]"
_PREFIX: Final = r"(?<![A-Za-z0-9])(?:[A-Za-z0-9]{1,30}[_.-]){0,5}"
_OPTION: Final = rf"(?<![\w-])--?(?:[a-z]{{1,20}}-){{0,3}}(?:{FIELD_NAMES})"
_REST: Final = r"[^\n|;&]{0,200}?[ \t]"
_COMMANDS: Final = (
    # Options without a name that tells what they are: mysql -pPASSWORD.
    rf"(?:mysql|mariadb)\w{{0,10}}(?=[ \t]){_REST}(?-i:-p)",
    rf"sshpass{_THEN}-p{_SAY}",
    rf"redis-cli{_REST}-a{_THEN}",
    rf"(?:docker|podman|az|oc|helm){_REST}login{_REST}(?-i:-p){_THEN}",
    rf"7za?{_REST}(?-i:-p)",
    rf"(?:un)?zip{_REST}(?-i:-P){_SAY}",
    rf"ldap\w{{3,9}}{_REST}-w{_THEN}",
    rf"(?:sqlcmd|mongo\w{{0,4}}){_REST}-p{_THEN}",
    rf"smbclient{_REST}-U{_SAY}[^\s%]{{1,60}}%",
)
_STANDS_FOR: Final = (
    r"\*+|x+|.*(?:\.\.\.|…).*|\$\{?\w+\}?|\$\(.*|%\w+%|⟨.*|\{.*|<.*|\d{4}-\d\d-\d\d\S*|true|false|null|none|nil|yes|no|n/a|tbd|"
    r"str|string|text|bytes|required|optional|password|passwd|secret|token|value|hidden|redacted|unset|empty|"
    r"(?-i:[A-Z_]+)"
)
_ORDINARY: Final = (
    r"v?\d+(?:\.\d+)+\S*|\d+(?:st|nd|rd|th)?|[\d,.']+|\d+[-–]?[a-zäöüéèñç%€$]+|[~./\\].*|\w+://.*|[a-z_][\w.]*[(\[].*|"
    r"[^@\s]+@[\w-]+(?:\.[\w-]+)+|"
    r"[\w.-]+\.(?:md|txt|json|ya?ml|toml|env|ini|conf|cfg|py|js|ts|go|rs|rb|sh|sql|gpg|kdbx|age|pem|key|csv|log|html?)|"
    r"(?:base\d\d|sha-?\d+|md5|utf-?\d+|[rhep]s\d{3}|aes|rsa|ed25519|argon2|pbkdf2|bcrypt|oauth2?|oidc|k8s|s3|ec2|"
    r"x\.?509|pkcs|p12|gpg2?|1password|bitwarden|keepass|http2?|ipv[46]|i18n|l10n|tls1|mfa|2fa)[\w-]*"
)
"""Words with a digit or a sign that are no password: versions, amounts, paths, addresses, names of methods."""
_CODE: Final = rf"[A-Za-z_]\w*(?:(?:\.\w+)+|(?:\.\w+)*[(\[].*)|[(\[{{@/~].*|[\w.-]*(?:{FIELD_NAMES})\W*"
_MIN_VALUE: Final = 4

Needed = tuple[tuple[str, ...], ...]
"""What a text of ASCII letters must have for a pattern to match: of each part one, in lower case."""

_IN_OTHER_LETTERS: Final = ()
"""Of a pattern whose names have no letter of ASCII."""

_PROGRAMS: Final = (
    *("mysql", "mariadb", "sshpass", "redis-cli", "login", "zip", "7z", "ldap", "sqlcmd", "mongo", "smbclient"),
)
_NAMED: Final = ("pass", "pwd", "kennwort", "secret", "credential", "auth", "cookie", "token", "key")
_PLAIN: Final = (
    *("pass", "pwd", "wort", "code", "contras", "clave", "parola", "senha", "wachtwoord", "haslo", "heslo"),
    *("jelszo", "losenord", "adgangskode", "salasana", "sifre", "mat khau", "kata sandi"),
)
_SPOKEN: Final = (*_PLAIN, *_NAMED, "schl", "api", "secr", "segreta", "zugang")
"""What each of the commands, of the field names, of the plain names and of all names has in it, in ASCII."""

Counts = Callable[[str], bool]
"""Whether what stands in the place of a secret is one."""


def has_secret(text: str) -> bool:
    """Return whether a text holds something that looks like a secret."""
    return without_secrets(text) != text


def without_secrets(text: str) -> str:
    """Return a text in which everything that looks like a secret is masked."""
    text = mask_secrets(text)
    for pattern, counts in _patterns_for(text):
        text = _ignoring_case(pattern).sub(partial(_mask, counts), text)
    return text


def _patterns_for(text: str) -> Iterator[tuple[str, Counts]]:
    """Yield the patterns that can match ``text``: most texts have nothing that one needs."""
    # Letters beyond ASCII may be those of any pattern: some equal one of ASCII where case is ignored, and others write
    # the names of secrets in another language.
    is_foreign = not text.isascii() and any(letter > "\x7f" and letter.isalpha() for letter in text)
    folded = text.lower()
    for pattern, needed, counts in _patterns():
        if is_foreign or all(any(part in folded for part in parts) for parts in needed):
            yield pattern, counts


def refuse_secrets(*texts: str) -> None:
    """Raise ``SecretError`` if one of the texts holds a secret. Its message does not contain the secret."""
    if any(map(has_secret, texts)):
        raise SecretError


def is_placeholder(value: str) -> bool:
    """Return whether a value only stands for a secret: a variable, an ellipsis, the name of a type."""
    return not value or _compile(_STANDS_FOR).fullmatch(value) is not None


def _mask(counts: Counts, found: re.Match[str]) -> str:
    before, value = found[1], found[2]
    bare = value.strip("\"'")
    bare = bare if is_placeholder(bare) else bare.rstrip(".,;:!?)]}»*_")
    if not counts(bare):
        return found[0]
    return before + MASK + ("" if value[0] in "\"'" else value[len(bare) :])


def _any_value(value: str) -> bool:
    return not is_placeholder(value)


def _some_value(value: str) -> bool:
    """Return whether the value of an assignment is one: not a call, nor the name of another variable."""
    return len(value) >= _MIN_VALUE and not is_placeholder(value) and _compile(_CODE).fullmatch(value) is None


def _telling_value(value: str) -> bool:
    """Return whether a word in a sentence is a password: it has a digit or a sign, and is no ordinary word with one."""
    tells = any(char.isdigit() or char in "!$%&*+?@^~" for char in value) and any(map(str.isalnum, value))
    return len(value) >= _MIN_VALUE and tells and not is_placeholder(value) and not _compile(_ORDINARY).fullmatch(value)


def _assigned_value(value: str) -> bool:
    return _some_value(value) and _telling_value(value)


@cache
def _patterns() -> tuple[tuple[str, Needed, Counts], ...]:
    """Return the patterns: group 1 is what precedes a value, group 2 the value; a match contains what is needed."""
    names = rf"(?<![\w-])(?:{_PLAIN_NAMES}|{_OTHER_NAMES})(?!\w){_WHICH}"
    password = rf"(?<![\w-])(?:{_PLAIN_NAMES})(?!\w)"
    is_ = r"(?:is|ist|est|es|è|é)"
    found: tuple[tuple[str, str, Needed, Counts], ...] = (
        # Headers before assignments: "Authorization: Bearer abc" has two words after the colon.
        (
            rf"(?<!\w)(?:bearer|basic){_THEN}",
            r"(?=[^\s]{0,99}\d)[\w+/][\w+/=.~-]{7,4000}",
            (("bearer", "basic"),),
            _any_value,
        ),
        (
            r"(?<![A-Za-z0-9])[a-z][a-z0-9+.-]{1,15}:(?://|\\/\\/)[^\s/:@\"'<>]{0,200}:",
            r"[^\s/@\"'<>]{1,400}(?=@)",
            ((":/", ":\\/"), ("@",)),
            _any_value,
        ),
        (
            rf"(?<![\w-])(?:-u|--user)(?:=|{_THEN})[\"']?[^\s:/\"']{{1,100}}:",
            r"[^\s\"']{1,200}",
            (("-u",), (":",)),
            _any_value,
        ),
        (rf"{_OPTION}=", _VALUE, (("-",), ("=",), _NAMED), _any_value),
        (rf"{_OPTION}{_THEN}", _VALUE, (("-",), _NAMED), _telling_value),
        (
            rf"(?<![\w-])(?:{'|'.join(_COMMANDS)})[\"']?",
            r"[^\s\"'-][^\s\"']{0,200}",
            (_PROGRAMS,),
            _any_value,
        ),
        (rf"{_PREFIX}[A-Za-z0-9]{{0,30}}?(?:{FIELD_NAMES})=", _VALUE, (("=",), _NAMED), _some_value),
        (rf"{_PREFIX}(?:{FIELD_NAMES})[\"']?{_SAY}(?:[=:]|:=|=>){_SAY}", _VALUE, (("=", ":"), _NAMED), _assigned_value),
        (
            (
                rf"(?m:^)[ \t]{{0,40}}(?:- )?[\"']?{_PREFIX}(?:pass(?:word|wd|phrase)|pwd|secret|api_?key)[\"']?"
                rf"{_SAY}:{_THEN}"
            ),
            rf"{_VALUE}(?=[ \t,]{{0,3}}(?m:$))",
            ((":",), _NAMED),
            _some_value,
        ),
        (rf"{names}{_SAY}{_VERB}{_SAY}{_QUOTE}", f"{_TELLING}{_WORD}", (_SPOKEN,), _telling_value),
        (
            rf"{password}{_WHICH}{_SAY}(?:lautet|reads){_SAY}:?{_SAY}{_QUOTE}",
            _WORD,
            (("lautet", "reads"), _PLAIN),
            _some_value,
        ),
        (rf"{password}{_WHICH}{_SAY}{is_}{_THEN}[\"'`“„«‘]", rf"{_WORD}(?=[\"'`”“»’])", (_PLAIN,), _some_value),
        (
            rf"(?<![\w-])(?:with|using|mit|avec|con|com|met|login){_THEN}{_WORDS}{password}{_THEN}{_QUOTE}",
            f"{_TELLING}{_WORD}",
            (_PLAIN,),
            _telling_value,
        ),
        (
            r"(?:^|(?<=[\s\"'`(]))",
            rf"[^\s\"'`(<>=:]{{4,80}}(?=[\"'`]?{_THEN}(?:{is_}|as|als){_THEN}{_WORDS}{password})",
            (_PLAIN,),
            _telling_value,
        ),
        (rf"{_UNSPACED}{_SAY}{_QUOTE}", rf"{_TELLING}[!-~]{{4,200}}", (_IN_OTHER_LETTERS,), _telling_value),
        (
            rf"(?<![\w-])pin(?:[ -]?code|[ -]?nummer)?{_WHICH}{_SAY}{_VERB}{_SAY}{_QUOTE}",
            r"\d{4,12}(?!\w)",
            (("pin",),),
            _any_value,
        ),
    )
    return tuple((f"({before})({value})", needed, counts) for before, value, needed, counts in found)


@cache
def _ignoring_case(pattern: str) -> re.Pattern[str]:
    """Return a pattern, compiled when a text needs it: all of them together take longer than most commands."""
    return re.compile(pattern, re.IGNORECASE)


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)
