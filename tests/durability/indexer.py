"""A process that indexes a workspace again and again while its files change, and says when it begins.

indexer.py WORKSPACE SEED
"""

import random
import sys
from pathlib import Path

from promptuary.base.errors import PromptuaryError
from tests.indexes import search_of

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]


def change(workspace: Path, chance: random.Random) -> None:
    """Change some files in one of the ways in which files change."""
    files = sorted(workspace.rglob("*.md"))
    for _ in range(chance.randint(1, 6)):
        path = chance.choice(files) if files else workspace / "first.md"
        match chance.randint(0, 4):
            case 0:
                new = workspace / chance.choice(["", "sub", "sub/deep"]) / f"note{chance.randint(0, 40)}.md"
                write(new, chance)
            case 1 if path.exists():
                write(path, chance)
            case 2 if path.exists():
                path.rename(path.with_name(f"moved{chance.randint(0, 40)}.md"))
            case 3 if path.exists() and len(files) > 5:
                path.unlink()
            case _:
                write(workspace / f"more{chance.randint(0, 40)}.md", chance)


def write(path: Path, chance: random.Random) -> None:
    """Write a file of a few sections."""
    path.parent.mkdir(parents=True, exist_ok=True)
    sections = [
        f"# {chance.choice(WORDS)}\n\n" + " ".join(chance.choices(WORDS, k=chance.randint(1, 300)))
        for _ in range(chance.randint(1, 5))
    ]
    path.write_text("\n\n".join(sections) + "\n")


def main() -> None:
    """Index for ever."""
    workspace, seed = Path(sys.argv[1]), int(sys.argv[2])
    chance = random.Random(seed)
    with search_of(workspace) as service:
        print("ready", flush=True)
        while True:
            change(workspace, chance)
            try:
                service.index([workspace], rebuild=chance.random() < 0.1)
            except PromptuaryError as error:
                print(f"error {error}", flush=True)
                return


if __name__ == "__main__":
    main()
