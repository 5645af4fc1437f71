"""Files that are generated are current."""

from scripts.unasync import SOURCE, TARGET, blocking


def test_blocking_is_what_is_generated_from_the_engine() -> None:
    written = TARGET.read_text(encoding="utf-8")

    assert written == blocking(SOURCE.read_text(encoding="utf-8")), "run `make generate`"
