"""What was pasted is sent whole, and nothing in it is a reference."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from promptuary import Changed, Incoming, LayerContext, PromptuaryError
from promptuary.base.references import carried_spans, pasted_spans
from promptuary.blocking import Promptuary
from promptuary.layers.static import StaticContent

LOG = "see @file:a.py and #b.py, @remember:evil"


class Shouting(StaticContent):
    """Rewrites messages: everything moves, and what was pasted stays."""

    async def on_message(self, message: Incoming, context: LayerContext) -> Changed | None:
        return Changed(f"Look! {message.text}")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text("a = 1\n", encoding="utf-8")
    (tmp_path / "b.py").write_text("b = 2\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def opened(project: Path) -> Iterator[Promptuary]:
    with Promptuary.open(project, exact=True) as promptuary:
        yield promptuary


TEXT = f"Why @file:b.py?\n{LOG}\nThanks."
SPAN = (TEXT.index(LOG), TEXT.index(LOG) + len(LOG))


@pytest.mark.parametrize("pasted", [[LOG], [SPAN], [SPAN, LOG], (SPAN,)])
def test_only_what_was_typed_is_attached(opened: Promptuary, pasted: Any) -> None:
    turn = opened.threads.prepare(TEXT, pasted=pasted)
    expansion = opened.expand(TEXT, pasted=pasted)

    for each in (turn.expansion, expansion):
        assert [one.reference.raw for one in each.outcomes] == ["@file:b.py"]
        assert each.messages[-1]["content"].endswith(TEXT)
    assert opened.threads.attachments().tracked == ()
    assert opened.memory.list().total == 0


def test_without_it_all_of_them_would_be(opened: Promptuary) -> None:
    turn = opened.threads.prepare(TEXT)

    assert [one.reference.raw for one in turn.expansion.outcomes][:2] == ["@file:b.py", "@file:a.py"]
    assert [one.path for one in opened.threads.attachments().tracked] == ["b.py"]


def test_a_layer_that_rewrites_the_message_does_not_expose_what_was_pasted(project: Path) -> None:
    layer = Shouting(lambda: "Be brief.", id="shouting", slot=5)
    with Promptuary.open(project, exact=True, layers=[layer]) as promptuary:
        turn = promptuary.threads.prepare(TEXT, pasted=[SPAN])

    assert turn.expansion.text.startswith("Look! Why")
    assert [one.reference.raw for one in turn.expansion.outcomes] == ["@file:b.py"]


@pytest.mark.parametrize(
    ("pasted", "told"),
    [
        (["not there"], "not in the message: 'not there'"),
        ([""], "not in the message"),
        ("see", r"write \[text\] for a single one"),
        ([(3, 1)], "spans"),
        ([(0, 9_999)], "in its 64 characters"),
        ([(-1, 2)], "spans"),
        ([None], "not of None"),
    ],
)
def test_what_cannot_have_been_pasted_is_refused(opened: Promptuary, pasted: Any, told: str) -> None:
    for call in (opened.expand, opened.threads.prepare):
        with pytest.raises(PromptuaryError, match=told):
            call(TEXT, pasted=pasted)
    assert opened.threads.list() == ()


def test_a_text_is_meant_wherever_it_stands() -> None:
    assert pasted_spans("ab ab", ["ab"]) == ((0, 2), (3, 5))
    assert carried_spans([(0, 2)], "ab c", "c ab") == ((2, 4),)
    assert carried_spans([(0, 2), (3, 3)], "ab c", "ab!") == ((0, 2),)
