"""A large working tree for the benchmarks: made once for each size, then kept in the cache folder.

The names are words that real projects use, in the mixture of cases that real projects have, so that
prefixes, word starts and subsequences meet as many paths as they would there. Deterministic.
"""

import os
import random
import subprocess
from pathlib import Path

VERSION = 3
FILES_PER_FOLDER = 5
_WORDS = (
    "account admin agent alert api app archive asset audit auth backup badge batch billing block board "
    "bridge buffer cache calendar cart catalog chart chat check client cloud cluster code column "
    "command comment common config connect console contact content context core cron crypto dash data "
    "date debug deploy design detail device dialog diff digest disk docs domain draft driver edit email "
    "engine entry error event export feed fetch field file filter flow folder font form format frame "
    "gateway graph grid group guard handler hash header health history home hook host http icon image "
    "import index inbox input invoice item job json key label layer layout library license limit line "
    "link list loader local lock log login mail map mark media member memory menu merge message meter "
    "metric mobile mock model module monitor network node note notify number object offer option order "
    "owner package page panel parser patch path payment permission phone picker pipeline plan player "
    "plugin policy pool post price printer product profile project prompt proxy query queue quota range "
    "rate reader record redis region release render report request reset resolver resource response "
    "result retry review role root route rule runner sample schedule schema scope screen script search "
    "secret section select sender server service session setting shape share shell signal site slot "
    "socket source space stack stage state status storage store stream string style summary support "
    "switch symbol sync system table tag target task team template tenant test text theme thread ticket "
    "timer token tool topic trace track transfer tree trial update upload usage user util validator "
    "value vector version video view wallet watch webhook widget window worker workspace writer zone"
)
WORDS = _WORDS.split()
EXTENSIONS = (
    "py",
    "py",
    "py",
    "ts",
    "tsx",
    "js",
    "go",
    "rs",
    "md",
    "json",
    "yaml",
    "css",
    "html",
    "sql",
    "sh",
)
TOPS = ("src", "lib", "packages", "services", "apps", "tests", "docs", "tools")
IGNORE = "*.log\nbuild/\n/dist\n*.pyc\n!keep.log\n"


def _name(rng: random.Random, words: int) -> str:
    chosen = [rng.choice(WORDS) for _ in range(words)]
    style = rng.random()
    if style < 0.5:
        return "_".join(chosen)
    if style < 0.75:
        return "-".join(chosen)
    return "".join(word.capitalize() for word in chosen)


def paths(files: int, seed: int = 7) -> list[str]:
    """Return ``files`` different paths in about a fifth as many folders."""
    rng = random.Random(seed)
    folders = [*TOPS]
    made: dict[str, None] = {}
    while len(made) < files:
        folder = f"{rng.choice(folders[-4000:])}/{_name(rng, 1)}"
        if folder.count("/") < 8:
            folders.append(folder)
        for _ in range(FILES_PER_FOLDER):
            made[f"{folder}/{_name(rng, rng.choice((1, 2, 2, 3)))}.{rng.choice(EXTENSIONS)}"] = None
    return list(made)[:files]


def cache_folder() -> Path:
    """Return where the trees are kept between runs."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "promptuary-bench"


def big_tree(files: int) -> Path:
    """Return a git working tree with that many files, every twentieth of them ignored besides."""
    tree = cache_folder() / f"tree-{files}-v{VERSION}"
    if (tree / ".git" / "ready").exists():
        return tree
    print(f"making {tree} once; this takes about {files // 4_000 + 1} s …", flush=True)
    for number, path in enumerate(paths(files - 1)):
        _write(tree / path, number)
        if number % 20 == 0:
            _write(tree / Path(path).parent / "build" / "out.o", number)
    (tree / ".gitignore").write_text(IGNORE)
    for command in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *command], cwd=tree, check=True)
    (tree / ".git" / "ready").touch()
    return tree


def _write(path: Path, number: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{number}\n")
