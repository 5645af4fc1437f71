"""What a kind of reference works with while one message is expanded."""

from dataclasses import dataclass, field

from promptuary.core.counting import TokenCounter
from promptuary.core.search import Search
from promptuary.workspace.workspace import Visit, Workspace


@dataclass(frozen=True, slots=True)
class Desk:
    """The workspace, open for one message, the counter of the model that is written to, and who searches."""

    visit: Visit
    counter: TokenCounter
    search: Search | None = None
    told: list[str] = field(default_factory=list)
    """What a person should know of how something was had. It is said beside the prompt, never in it."""

    @property
    def workspace(self) -> Workspace:
        """The workspace that is visited."""
        return self.visit.workspace
