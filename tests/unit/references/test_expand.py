"""What a model is told about what it does not get."""

from promptuary.blocking import Promptuary
from tests.conftest import Files


def test_a_pattern_that_matches_thousands_does_not_push_out_what_was_named(files: Files) -> None:
    many = {f"many/a_rather_long_name_of_a_file_{number}.md": "Some words.\n" * 20 for number in range(300)}
    workspace = files({"named.md": "A line of what was named.\n" * 1_000, **many})
    with Promptuary.open(workspace, exact=True, budget=2_000) as promptuary:
        expansion = promptuary.expand("Compare @file:named.md with @glob:many/*.md")

    named, matched = expansion.outcomes
    assert named.tokens is not None
    assert matched.tokens is not None
    assert named.tokens > 700
    assert matched.tokens > 700
    assert expansion.spend.injected <= 2_000


def test_a_model_is_told_the_size_of_a_binary_that_it_does_not_get(files: Files) -> None:
    folder = files({"a.zip": b"PK\x03\x04" + bytes(2_996), "b.md": b"\x89PNG\r\n\x1a\n\x00"})
    with Promptuary.open(folder, exact=True) as opened:
        sent = str(opened.expand("See @file:a.zip, @file:b.md, @file:gone.zip").messages[-1]["content"])

    assert "- @file:a.zip: DISALLOWED_EXTENSION (3.0 kB)\n" in sent
    assert "- @file:b.md: BINARY (9 B)\n" in sent
    assert "gone.zip: DISALLOWED_EXTENSION\n" in sent or "gone.zip: NOT_FOUND\n" in sent
