"""Prompts as values: what a file says, where it lies, and the text that it gives when its arguments are filled in."""

from typing import Final, Literal

from msgspec import Struct

Form = Literal["promptuary", "claude", "skill", "codex", "gemini", "llm"]
"""Whose file a prompt is: this program's, or that of Claude Code (a command or a skill), Codex, Gemini CLI or llm."""

PromptPlace = Literal["person", "workspace"]
"""Where it lies: in a folder of the person's own, or in the workspace, which may come from somebody else."""

WORDS: Final = "words"
"""What is written after the name of a prompt and has no name itself, where values are given by name."""
ALL_WORDS: Final = "*"
"""The hole for all of them; those for single ones are named "1" to "9"."""
_HASH_LENGTH: Final = 12


class Argument(Struct, frozen=True):
    """An argument by name. Without a ``default`` it is required."""

    name: str
    description: str = ""
    default: str | None = None

    @property
    def is_required(self) -> bool:
        """Whether it has no default."""
        return self.default is None


class Hole(Struct, frozen=True):
    """A place in a text for a value: of the argument ``name``, of the word with that number, or of ``ALL_WORDS``."""

    name: str


Template = tuple[str | Hole, ...]
"""A text with holes."""


class NamedPrompt(Struct, frozen=True):
    """A prompt by name.

    ``source`` is its file as a person finds it, and ``path`` the same from the workspace, if it is there. ``file`` is
    all that is in it, ``template`` what it says in parts. ``hint`` says which words it takes, if these have no names.
    ``notes`` say what in the file is not used or not run here. ``accepted`` says whether it may be used: the person has
    read a prompt of the workspace as it is now; those of their own folders always may.
    """

    name: str
    form: Form
    place: PromptPlace
    source: str
    sha256: str
    file: str
    template: Template
    description: str = ""
    hint: str = ""
    arguments: tuple[Argument, ...] = ()
    model: str = ""
    notes: tuple[str, ...] = ()
    path: str = ""
    accepted: bool = True

    @property
    def origin(self) -> str:
        """What a receipt says of it: its name, its file and its version."""
        return f"the prompt {self.name} ({self.source}, sha256 {self.sha256[:_HASH_LENGTH]})"

    @property
    def takes(self) -> str:
        """How its arguments are written after its name."""
        named = [
            f"--{one.name} VALUE" if one.is_required else f"[--{one.name} {one.default or 'VALUE'}]"
            for one in self.arguments
        ]
        return " ".join(named) or self.hint or ("[WORDS]" if self.takes_words else "")

    @property
    def takes_words(self) -> bool:
        """Whether its text has a place for words without a name."""
        named = {one.name for one in self.arguments}
        return any(isinstance(part, Hole) and part.name not in named for part in self.template)


class UnusedPrompt(Struct, frozen=True):
    """A file that is no prompt here, and why: its name, its size, its form, or another prompt of that name."""

    source: str
    reason: str


class PromptList(Struct, frozen=True):
    """The prompts by name, in the order of their names, and the files that are none."""

    prompts: tuple[NamedPrompt, ...]
    unused: tuple[UnusedPrompt, ...] = ()


class FilledPrompt(Struct, frozen=True):
    """A message that a prompt gives; ``origin`` is what ``threads.run`` takes as ``prompt``, for the receipt."""

    text: str
    prompt: NamedPrompt

    @property
    def origin(self) -> str:
        """What a receipt says of the prompt."""
        return self.prompt.origin
