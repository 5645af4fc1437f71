"""Keys of services: from an environment variable or from the keyring of the system, read when they are needed.

A key is never part of a setting, an error, a log, a receipt or the ledger.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from msgspec import Struct

from promptuary.base.errors import ConfigError, PromptuaryError, how_to_install
from promptuary.workspace.web.refusals import without_key

KEYRING_SERVICE: Final = "promptuary"
"""The service name of the keys in the keyring of the system."""

_SECRET_NAME: Final = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)


class KeyPlace(Struct, frozen=True):
    """Where the key of a service is: in an environment variable, in the keyring, or nowhere if it needs none.

    ``variable`` takes precedence over ``entry``, the name in the keyring. ``setting`` says how to configure one of
    them.
    """

    variable: str = ""
    entry: str = ""
    setting: str = ""

    def read(self, service: str) -> str:
        """Return the key; empty if no place is named. Raises ``ConfigError``, which says what to do, if it is missing.

        ``service`` is the name of the service in messages.
        """
        key = os.environ.get(self.variable, "").strip() if self.variable else ""
        if not key and self.entry:
            key = _from_keyring(self.entry)
        if key or not (self.variable or self.entry):
            return key
        ways = [f"set the environment variable {self.variable}"] if self.variable else []
        ways += [f"run `keyring set {KEYRING_SERVICE} {self.entry}`"] if self.entry else []
        raise ConfigError(f"The {service} service needs a key: {', or '.join(ways)}.")

    @property
    def advice(self) -> str:
        """What to do if the service rejects the key, or requires one and no place is named."""
        if self.variable and os.environ.get(self.variable, "").strip():
            return f"check the environment variable {self.variable}"
        if self.entry:
            return f"check the entry {self.entry} of the keyring (`keyring set {KEYRING_SERVICE} {self.entry}`)"
        return self.setting


NO_KEY: Final = KeyPlace()
"""The service needs no key."""


@contextmanager
def redacted(key: str) -> Iterator[None]:
    """Remove ``key`` from errors: a service may repeat it in its message."""
    try:
        yield
    except PromptuaryError as error:
        if key and key in str(error):
            raise PromptuaryError(without_key(str(error), key)) from None
        raise


def without_keys(text: str) -> str:
    """Return ``text`` without the values of environment variables named as a key, a token, a secret or a password.

    For errors of other packages, which read keys themselves.
    """
    for name, value in os.environ.items():
        if _SECRET_NAME.search(name):
            text = without_key(text, value)
    return text


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
