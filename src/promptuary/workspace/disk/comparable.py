"""The normal form in which names of files are compared.

It follows the most tolerant file system and the least attentive reader: compatibility forms, case, invisible
characters, trailing dots and NTFS streams make no difference.
"""

import unicodedata

# Letters and symbols that are invisible, although their category does not say so.
_INVISIBLE = frozenset("\u115f\u1160\u2800\u3164\uffa0")
_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Mn", "Me"})


def comparable(path: str) -> list[str]:
    """Return the names in ``path`` in the form in which names are compared."""
    if path.isascii():
        plain = path.lower()
    else:
        # Case folding can undo the compatibility form, hence twice.
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", path).casefold())
        plain = "".join(
            c for c in folded if c not in _INVISIBLE and unicodedata.category(c) not in _INVISIBLE_CATEGORIES
        )
    if ":" in plain:
        plain = "/".join(name.split(":", 1)[0] for name in plain.split("/"))
    return [name.strip().rstrip(". ") for name in plain.split("/")]
