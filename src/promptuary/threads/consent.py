"""Whether the person lets models call a tool of another server without being asked: for one definition of it.

A server may change what a tool is, or its person what the server is; then its hash is another, and the person is asked.
"""

from msgspec import Struct

from promptuary.workspace.data_folder.tool_consents import keep_consent, read_consents


class ToolConsent(Struct, frozen=True):
    """The consent to a tool: its full name, the hash of its definition, and ``about``, whose it is, for the person."""

    tool: str
    digest: str
    about: str

    def is_given(self) -> bool:
        """Return whether the person agreed to this definition for good. Blocks."""
        return read_consents().get(self.tool) == self.digest

    def has_changed(self) -> bool:
        """Return whether the person agreed to another definition of it. Blocks."""
        return read_consents().get(self.tool, self.digest) != self.digest

    def keep(self) -> None:
        """Record that the person agrees for good. Blocks. Raises ``PromptuaryError`` if that is not possible."""
        keep_consent(self.tool, self.digest)

    def question(self) -> str:
        """Return whose tool it is, for whoever is asked. Blocks."""
        return f"{self.about}{'; it has changed since you agreed to it' if self.has_changed() else ''}"
