"""Keys of services: from an environment variable or from the keyring of the system, read when they are needed.

A key is never part of a setting, an error, a log, a receipt or the ledger.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from promptuary.core.errors import ConfigError, PromptuaryError, how_to_install

KEYRING_SERVICE: Final = "promptuary"
"""Under which name the keyring of the system has the keys."""


def service_key(variable: str, service: str, keyring_entry: str = "") -> str:
    """Return the key that the environment variable or the entry of the keyring holds, or nothing if none is named.

    The variable counts first. Raises ``ConfigError``, which says what to do, if neither holds a key.
    """
    key = os.environ.get(variable, "").strip() if variable else ""
    if not key and keyring_entry:
        key = _from_keyring(keyring_entry)
    if key or not (variable or keyring_entry):
        return key
    ways = [f"set the environment variable {variable}"] if variable else []
    ways += [f"run `keyring set {KEYRING_SERVICE} {keyring_entry}`"] if keyring_entry else []
    raise ConfigError(f"The {service} service needs a key: {', or '.join(ways)}.")


@contextmanager
def never_told(key: str) -> Iterator[None]:
    """Take ``key`` out of errors: a service may repeat it in what it says went wrong."""
    try:
        yield
    except PromptuaryError as error:
        if key and key in str(error):
            raise PromptuaryError(str(error).replace(key, "…")) from None
        raise


def _from_keyring(entry: str) -> str:
    try:
        import keyring  # noqa: PLC0415  (an extra, and slow)
        import keyring.errors  # noqa: PLC0415
    except ImportError:
        raise ConfigError(f"Keys in the keyring need the extra keyring: {how_to_install('keyring')}.") from None
    try:
        return (keyring.get_password(KEYRING_SERVICE, entry) or "").strip()
    except keyring.errors.KeyringError as error:
        raise ConfigError(f"The keyring of this system cannot be read: {type(error).__name__}.") from error
