"""What a kind of reference works with while one message is expanded."""

from dataclasses import dataclass

from promptuary.core.counting import TokenCounter
from promptuary.workspace.door import Visit, Workspace


@dataclass(frozen=True, slots=True)
class Desk:
    """The workspace, open for one message, and the counter of the model that is written to."""

    visit: Visit
    counter: TokenCounter

    @property
    def workspace(self) -> Workspace:
        """The workspace that is visited."""
        return self.visit.workspace
