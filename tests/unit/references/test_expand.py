"""What a model is told about what it does not get."""

from promptuary.blocking import Promptuary
from tests.conftest import Files


def test_a_model_is_told_the_size_of_a_binary_that_it_does_not_get(files: Files) -> None:
    folder = files({"a.zip": b"PK\x03\x04" + bytes(2_996), "b.md": b"\x89PNG\r\n\x1a\n\x00"})
    with Promptuary.open(folder, exact=True) as opened:
        sent = str(opened.expand("See @file:a.zip, @file:b.md, @file:gone.zip").messages[-1]["content"])

    assert "- @file:a.zip: DISALLOWED_EXTENSION (3.0 kB)\n" in sent
    assert "- @file:b.md: BINARY (9 B)\n" in sent
    assert "gone.zip: DISALLOWED_EXTENSION\n" in sent or "gone.zip: NOT_FOUND\n" in sent
