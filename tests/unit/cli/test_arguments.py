"""What the help of the commands offers."""

import argparse

import pytest

from promptuary.cli.arguments import make_parser
from promptuary.cli.flags import SETTING_FLAGS
from promptuary.config.settings import SETTINGS
from promptuary.core.references import KEYWORDS, KINDS


def settings_of(command: str) -> set[str]:
    """Return the settings for which ``command`` takes a flag; one of the same name may be no setting."""
    commands = next(action for action in make_parser()._actions if isinstance(action, argparse._SubParsersAction))
    return {action.dest for action in commands.choices[command]._actions} & set(SETTINGS)


INDEXING = {
    *("allowed_extensions", "allow_sensitive", "max_file_size", "follow_symlinks"),
    *("chunk_tokens", "chunk_overlap", "embedder", "embed_url", "embed_model", "embed_key", "allow_hosts"),
}
RERANKING = {"reranker", "rerank_url", "rerank_model", "rerank_key", "rerank_timeout"}


@pytest.mark.parametrize(
    ("command", "offered"),
    [
        ("index", INDEXING),
        ("search", {*INDEXING, *RERANKING}),
        ("model", {"model_url", "allow_hosts"}),
        ("watch", {*INDEXING, "watch_debounce"}),
        ("expand", set(SETTINGS)),
        ("config", set(SETTINGS)),
    ],
)
def test_a_flag_is_offered_where_it_matters(command: str, offered: set[str]) -> None:
    assert settings_of(command) == offered


def test_every_setting_has_a_flag() -> None:
    assert SETTING_FLAGS.keys() == set(SETTINGS)


def test_the_help_shows_every_kind_of_reference() -> None:
    shown = make_parser().format_help()

    assert [kind for kind in sorted(KINDS | KEYWORDS) if f"@{kind}" not in shown] == []
