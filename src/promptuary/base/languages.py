"""The language of a file, by its name: the tag of its code fence and the grammar of its outline."""

from functools import lru_cache

_BY_EXTENSION = {
    "bash": "bash zsh sh ksh",
    "batch": "bat cmd",
    "c": "c h",
    "clojure": "clj cljs cljc edn",
    "cpp": "cpp cc cxx hpp hh hxx",
    "csharp": "cs",
    "css": "css",
    "csv": "csv",
    "dart": "dart",
    "diff": "diff patch",
    "elixir": "ex exs",
    "elm": "elm",
    "erlang": "erl hrl",
    "fsharp": "fs fsx fsi",
    "go": "go",
    "graphql": "graphql gql",
    "groovy": "groovy gradle",
    "haskell": "hs lhs",
    "hcl": "tf hcl",
    "html": "html htm xhtml",
    "ini": "ini cfg conf properties",
    "java": "java",
    "javascript": "js mjs cjs jsx",
    "json": "json jsonc json5 ipynb webmanifest",
    "jsonl": "jsonl ndjson",
    "julia": "jl",
    "kotlin": "kt kts",
    "latex": "tex sty bib",
    "less": "less",
    "lua": "lua",
    "markdown": "md mdx markdown",
    "nix": "nix",
    "objectivec": "m mm",
    "ocaml": "ml mli",
    "perl": "pl pm",
    "php": "php",
    "powershell": "ps1 psm1",
    "protobuf": "proto",
    "python": "py pyi pyw",
    "r": "r",
    "rst": "rst",
    "ruby": "rb rake gemspec",
    "rust": "rs",
    "scala": "scala sc",
    "scss": "scss sass",
    "sql": "sql",
    "svelte": "svelte",
    "swift": "swift",
    "toml": "toml",
    "tsx": "tsx",
    "typescript": "ts mts cts",
    "vim": "vim",
    "vue": "vue",
    "xml": "xml svg xsl xsd plist",
    "yaml": "yaml yml",
    "zig": "zig",
}
_BY_NAME = {
    "cmakelists.txt": "cmake",
    "containerfile": "dockerfile",
    "dockerfile": "dockerfile",
    "gemfile": "ruby",
    "gnumakefile": "makefile",
    "jenkinsfile": "groovy",
    "makefile": "makefile",
    "rakefile": "ruby",
}
_TAGS = {extension: tag for tag, extensions in _BY_EXTENSION.items() for extension in extensions.split()}


@lru_cache(maxsize=16)
def language_of(path: str) -> str:
    """Return the language of ``path``, or an empty text if it is unknown. Cached: it is asked for repeatedly."""
    name = path.rsplit("/", 1)[-1].lower()
    return _BY_NAME.get(name) or _TAGS.get(name.rpartition(".")[2] if "." in name else "", "")
