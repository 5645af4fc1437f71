"""Text that stands in front of the model on every turn."""

import asyncio
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from promptuary.base.blocks import Detail
from promptuary.base.errors import Code, ConfigError, LayerInitError, SourceError
from promptuary.layers.layer import Layer, LayerContext, Recall, RecallRequest, Slot, StateKey, check
from promptuary.layers.runner import HookLog, Runner
from promptuary.layers.sections import escaped, unescaped
from promptuary.layers.static import NamedText, StaticContent
from promptuary.tokens.counting import Counter

COUNTER = Counter()
GUIDE = "".join(f"{number}. Prefer the plain word over the long one, and say it once.\n" for number in range(1, 41))


def context(state: object = None) -> LayerContext:
    return LayerContext("t1", "resource:w", state, COUNTER, 128_000)


async def recalled(layer: Layer, budget: int = 1_000_000, given: LayerContext | None = None) -> Recall:
    given = given or context()
    await layer.init(given)
    said = await layer.recall(RecallRequest("", budget), given)
    assert said is None or isinstance(said, Recall)
    return said or Recall()


def recall(layer: Layer, budget: int = 1_000_000, given: LayerContext | None = None) -> Recall:
    return asyncio.run(recalled(layer, budget, given))


def text(layer: Layer, budget: int = 1_000_000) -> str:
    return recall(layer, budget).text


class Letters:
    """Counts characters: with it a budget can be hit exactly."""

    def count(self, text: str) -> int:
        return len(text)


def lettered(layer: Layer, budget: int) -> Recall:
    return recall(layer, budget, LayerContext("t1", "resource:w", None, Letters(), 128_000))


class Page:
    """A text that changes and fails on demand, and counts how often it is asked for."""

    def __init__(self, text: str = "Be brief.") -> None:
        self.text = text
        self.error: Exception | None = None
        self.loads = 0

    def load(self) -> str:
        self.loads += 1
        if self.error:
            raise self.error
        return self.text


# What is shown.


def test_the_text_stands_between_its_tags() -> None:
    async def load() -> str:
        return "Be brief."

    said = recall(StaticContent(load))

    assert said.text == "<instructions>\nBe brief.\n</instructions>"
    assert [(block.source.label, block.detail, block.reason) for block in said.blocks] == [
        ("static_content", Detail.FULL, "")
    ]


def test_a_layer_says_what_it_is_by_default() -> None:
    layer = StaticContent(lambda: "x")

    assert (layer.id, layer.slot, layer.scope, layer.budget, layer.band) == (
        "static_content",
        Slot.STATIC,
        "resource",
        "auto",
        "stable",
    )
    assert layer.slot == 105


def test_tag_id_slot_scope_and_budget_can_be_chosen() -> None:
    layer = StaticContent(lambda: "x", id="house", slot=7, scope="global", tag="house_rules", budget=300)

    assert text(layer) == "<house_rules>\nx\n</house_rules>"
    assert (layer.id, layer.slot, layer.scope, layer.budget) == ("house", 7, "global", 300)


def test_text_is_shown_verbatim_with_its_white_space() -> None:
    content = "\n  # Rules\n\n\t- one & <b>two</b>\n\n```xml\n<![CDATA[ ]]> ]]>\n```\n\n"

    assert text(StaticContent(lambda: content)) == f"<instructions>\n{content}\n</instructions>"


@pytest.mark.parametrize("content", ["", " \n\t\r\n ", "\ufeff", "\u3000"])
def test_blank_text_contributes_nothing(content: str) -> None:
    async def main() -> None:
        layer, given = StaticContent(lambda: content), context()
        await layer.init(given)
        assert await layer.recall(RecallRequest("", 100), given) is None

    asyncio.run(main())


def test_the_same_text_is_byte_identical_on_every_turn() -> None:
    async def main() -> list[str]:
        layer, given = StaticContent(lambda: GUIDE, reload="on_change"), context()
        await layer.init(given)
        said = [await layer.recall(RecallRequest(query, 2_000), given) for query in ("a", "b", "c")]
        return [one.text for one in said if one]

    first, *others = asyncio.run(main())
    assert others == [first, first]


def test_a_cut_does_not_move_with_every_token_of_the_budget() -> None:
    cuts = {text(StaticContent(lambda: GUIDE), budget) for budget in range(300, 312)}

    assert len(cuts) <= 2


def test_what_cannot_be_seen_is_spelled_out_and_windows_lines_and_the_mark_go() -> None:
    content = "\ufeffa\r\nb\u200b\x07\ud800 👩\u200d💻"

    assert text(StaticContent(lambda: content)) == (
        "<instructions>\na\nb⟨U+200B⟩⟨U+0007⟩⟨U+D800⟩ 👩\u200d💻\n</instructions>"
    )


# The tag.


@pytest.mark.parametrize("tag", ["a b", 'a b"><x', "", "1a", "-a", "a>", "a:b", "a\n", "a\u200d", "<a", "a/", None, 3])
def test_a_tag_must_be_an_xml_name(tag: Any) -> None:
    with pytest.raises(ConfigError, match="tag must be an XML name"):
        StaticContent(lambda: "x", tag=tag)


@pytest.mark.parametrize("tag", ["a", "_x", "house-rules", "Règles", "v1.2", "規則"])
def test_any_xml_name_will_do(tag: str) -> None:
    assert text(StaticContent(lambda: "x", tag=tag)) == f"<{tag}>\nx\n</{tag}>"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("</instructions>", r"<\/instructions>"),
        ("</ instructions >", r"<\/ instructions >"),
        ("< / INSTRUCTIONS>", r"<\ / INSTRUCTIONS>"),
        ("</instructions", r"<\/instructions"),
        ("<\n/Instructions\n>", "<\\\n/Instructions\n>"),
        ("<instructions>", r"<\instructions>"),
        ('<instructions a="b">', r'<\instructions a="b">'),
        (r"<\/instructions>", r"<\\/instructions>"),
        ("</instructions-extra>", "</instructions-extra>"),
        ("<instruction>", "<instruction>"),
        ("</other>", "</other>"),
    ],
)
def test_text_cannot_close_or_open_its_own_tag(written: str, shown: str) -> None:
    assert text(StaticContent(lambda: f"a {written} b")) == f"<instructions>\na {shown} b\n</instructions>"
    assert unescaped(escaped(written, "instructions"), "instructions") == written


def test_escaping_is_linear() -> None:
    hostile = "<" + " " * 200_000 + "<\\" * 100_000 + "< /" * 50_000

    assert len(escaped(hostile, "instructions")) == len(hostile)


# Budgets.


@pytest.mark.parametrize("budget", [99, 100, 101, 400])
def test_text_that_is_too_long_is_cut_between_whole_tags_with_a_remark(budget: int) -> None:
    said = recall(StaticContent(lambda: GUIDE), budget)

    assert said.text.startswith("<instructions>\n1. Prefer")
    assert said.text.endswith("]\n</instructions>")
    assert COUNTER.count(said.text) <= budget
    assert COUNTER.count(said.text) > budget * 0.75
    [block] = said.blocks
    assert block.detail is Detail.EXCERPT
    remark = re.search(r"\[… ([\d,]+ of [\d,]+ characters left out)\]", said.text)
    assert remark
    assert block.reason == remark[1]


def test_the_remark_counts_exactly_what_is_missing_and_says_where_it_is() -> None:
    said = recall(StaticContent(sources=[NamedText("guide", lambda: GUIDE, source="docs/guide.md")]), 200)
    body = said.text.removeprefix('<instructions source="guide">\n').partition("[…")[0]
    missing = len(GUIDE) - len(body)

    assert GUIDE.startswith(body)
    assert f"[… {missing:,} of {len(GUIDE):,} characters left out; the rest is in docs/guide.md]" in said.text


def test_a_cut_falls_after_a_line() -> None:
    body = text(StaticContent(lambda: GUIDE), 200).removeprefix("<instructions>\n").partition("[…")[0]

    assert body.endswith("say it once.\n")


def test_a_cut_in_one_long_line_falls_after_a_word() -> None:
    body = text(StaticContent(lambda: "straightforwardness " * 500), 100).split("\n")[1]

    assert set(body.split()) == {"straightforwardness"}


@pytest.mark.parametrize(
    ("unit", "shown"),
    [
        ("e\u0301", "e\u0301"),
        ("👩\u200d💻", "👩\u200d💻"),
        ("👍🏽", "👍🏽"),
        ("\ud83d", "⟨U+D83D⟩"),
        ("\u200b", "⟨U+200B⟩"),
    ],
)
def test_a_cut_leaves_characters_whole(unit: str, shown: str) -> None:
    cuts = {text(StaticContent(lambda: unit * 500), budget).split("\n")[1] for budget in range(60, 120)}

    assert len(cuts) > 5
    assert all(cut.replace(shown, "") == "" for cut in cuts)


def test_a_cut_cannot_make_a_tag_of_what_was_none() -> None:
    """``</instructions-are-here>`` is another tag; its beginning would not be."""
    content = "</instructions-are-here>" * 300
    for budget in range(30, 130):
        said = text(StaticContent(lambda: content), budget)
        assert len(re.findall(r"</instructions(?![\w-])", said)) == (1 if said else 0)


@pytest.mark.parametrize("budget", [1, 2, 3, 5, 8])
def test_where_not_even_the_tags_and_the_remark_fit_there_is_nothing_and_the_receipt_says_so(budget: int) -> None:
    said = recall(StaticContent(lambda: GUIDE), budget)

    assert said.text == ""
    assert [(one.label, one.reason) for one in said.omitted] == [
        ("static_content", f"not even its first words fit into {budget} tokens")
    ]


def test_every_budget_from_the_smallest_on_shows_something_once_it_can() -> None:
    texts = [text(StaticContent(lambda: GUIDE), budget) for budget in range(1, 80)]
    first = next(index for index, one in enumerate(texts) if one)

    assert all(texts[first:])
    assert all(COUNTER.count(one) <= budget for budget, one in enumerate(texts, 1))
    assert f"{len(GUIDE):,} of {len(GUIDE):,} characters left out" in texts[first]


def test_the_tags_and_the_remark_are_shown_as_soon_as_they_fit_to_the_token() -> None:
    least = len(f"<instructions>\n[… {len(GUIDE):,} of {len(GUIDE):,} characters left out]\n</instructions>")

    assert lettered(StaticContent(lambda: GUIDE), least - 1).text == ""
    for budget in range(least, least + 20):
        assert least <= len(lettered(StaticContent(lambda: GUIDE), budget).text) <= budget


@pytest.mark.parametrize("budget", [0, -1, -1_000])
def test_without_a_budget_nothing_is_cut(budget: int) -> None:
    assert text(StaticContent(lambda: GUIDE), budget) == f"<instructions>\n{GUIDE}\n</instructions>"


def test_text_that_fits_exactly_is_unchanged() -> None:
    whole = f"<instructions>\n{GUIDE}\n</instructions>"

    assert text(StaticContent(lambda: GUIDE), COUNTER.count(whole)) == whole
    assert text(StaticContent(lambda: GUIDE), COUNTER.count(whole) - 1) != whole


@pytest.mark.parametrize("budget", [-1, 1.5, float("nan"), "all", True])
def test_a_budget_that_is_none_is_refused_at_construction(budget: Any) -> None:
    with pytest.raises(ConfigError, match="budget"):
        StaticContent(lambda: "x", budget=budget)


def test_two_layers_with_the_default_id_are_refused_together() -> None:
    with pytest.raises(ConfigError, match="two layers are called 'static_content'"):
        check([StaticContent(lambda: "a"), StaticContent(lambda: "b")])


# Several sources.


def three(**options: Any) -> StaticContent:
    sources = [
        NamedText("style", lambda: "Be brief.", source="style.md"),
        NamedText('a "b" <c>', lambda: "Be kind."),
        NamedText("guide", lambda: GUIDE),
    ]
    return StaticContent(sources=sources, **options)


def test_each_source_is_a_block_with_its_own_label_source_and_revision() -> None:
    said = recall(three(tag="rules"))

    assert [(block.source.label, block.source.address) for block in said.blocks] == [
        ("style", "style.md"),
        ('a "b" <c>', 'a "b" <c>'),
        ("guide", "guide"),
    ]
    assert len({block.source.revision for block in said.blocks}) == 3
    assert all(re.fullmatch("[0-9a-f]{64}", block.source.revision) for block in said.blocks)
    assert said.text.startswith(
        '<rules source="style">\nBe brief.\n</rules>\n\n'
        '<rules source="a &quot;b&quot; &lt;c&gt;">\nBe kind.\n</rules>\n\n<rules source="guide">\n1. '
    )


def test_short_sources_stay_whole_where_a_long_one_is_cut() -> None:
    said = recall(three(), 200)

    assert [block.detail for block in said.blocks] == [Detail.FULL, Detail.FULL, Detail.EXCERPT]
    assert 150 < COUNTER.count(said.text) <= 200


@pytest.mark.parametrize("budget", [256, 400, 512, 768, 1_024])
def test_what_stands_between_the_blocks_is_within_the_budget_too(budget: int) -> None:
    sources = [NamedText(f"s{number}", lambda: "x" * 5_000) for number in range(5)]
    said = lettered(StaticContent(sources=sources), budget)

    assert said.blocks
    assert budget * 0.6 < len(said.text) <= budget


def test_where_not_all_sources_fit_the_first_ones_stay() -> None:
    sources = [NamedText(f"source {number}", lambda: GUIDE) for number in range(20)]
    said = recall(StaticContent(sources=sources), 150)

    assert [block.source.label for block in said.blocks][:2] == ["source 0", "source 1"]
    assert [one.label for one in said.omitted] == [f"source {number}" for number in range(len(said.blocks), 20)]
    assert COUNTER.count(said.text) <= 150


def test_sources_are_loaded_at_the_same_time() -> None:
    meeting = threading.Barrier(3, timeout=30)

    def load() -> str:
        meeting.wait()
        return "there"

    assert text(StaticContent(sources=[NamedText(label, load) for label in "abc"])).count("there") == 3


@pytest.mark.parametrize("labels", [["a", "a"], ["a", ""], [" "], [None]])
def test_every_source_needs_a_label_of_its_own(labels: list[Any]) -> None:
    with pytest.raises(ConfigError, match="label of its own"):
        StaticContent(sources=[NamedText(label, lambda: "x") for label in labels])


def test_one_load_or_sources_not_both_and_not_none() -> None:
    with pytest.raises(ConfigError, match="either load or sources"):
        StaticContent()
    with pytest.raises(ConfigError, match="either load or sources"):
        StaticContent(lambda: "x", sources=[NamedText("a", lambda: "y")])
    with pytest.raises(ConfigError, match="must be a function"):
        StaticContent("text")  # type: ignore[arg-type]


# Loading again.


def turns(layer: StaticContent, *steps: Callable[[], None], state: object = None) -> list[Recall]:
    """Recall once, and once more after each step."""

    async def main() -> list[Recall]:
        given = context(state)
        said = [await recalled(layer, given=given)]
        for step in steps:
            step()
            said.append(await layer.recall(RecallRequest("", 1_000), given) or Recall())
        return said

    return asyncio.run(main())


def change(page: Page, to: str | Exception) -> Callable[[], None]:
    def step() -> None:
        page.text, page.error = (page.text, to) if isinstance(to, Exception) else (to, None)

    return step


def inner(said: Recall) -> str:
    return said.text.removeprefix("<instructions>\n").removesuffix("\n</instructions>")


def test_by_default_text_is_loaded_once_a_process_however_many_scopes_there_are() -> None:
    page = Page("one")
    layer = StaticContent(page.load)
    said = turns(layer, change(page, "two"))
    said += turns(layer)

    assert [inner(one) for one in said] == ["one", "one", "one"]
    assert page.loads == 1


def test_a_recall_without_an_init_loads_too() -> None:
    said = asyncio.run(StaticContent(lambda: "one").recall(RecallRequest("", 100), context()))

    assert said
    assert inner(said) == "one"


def test_text_that_changes_is_seen_at_the_next_turn() -> None:
    page = Page("one")
    said = turns(StaticContent(page.load, reload="on_change"), change(page, "two"), change(page, "one"))

    assert [inner(one) for one in said] == ["one", "two", "one"]
    assert said[0].blocks[0].source.revision == said[2].blocks[0].source.revision != said[1].blocks[0].source.revision
    assert page.loads == 3


def test_a_cheap_revision_spares_the_load() -> None:
    page, revision = Page("one"), ["r1"]

    async def current() -> str:
        return revision[0]

    layer = StaticContent(page.load, revision=current, reload="on_change")
    said = turns(layer, change(page, "two"), lambda: revision.__setitem__(0, "r2"))

    assert [inner(one) for one in said] == ["one", "one", "two"]
    assert page.loads == 2


def test_text_is_loaded_again_when_its_time_is_over() -> None:
    page, now = Page("one"), [0.0]
    layer = StaticContent(page.load, reload=60, clock=lambda: now[0])
    said = turns(layer, change(page, "two"), lambda: now.__setitem__(0, 59.9), lambda: now.__setitem__(0, 60.0))

    assert [inner(one) for one in said] == ["one", "one", "one", "two"]
    assert page.loads == 2


@pytest.mark.parametrize("reload", ["sometimes", -1, float("nan"), float("inf"), True, None])
def test_reload_must_be_known(reload: Any) -> None:
    with pytest.raises(ConfigError, match="reload must be"):
        StaticContent(lambda: "x", reload=reload)


# Failing.


def test_on_error_must_be_known() -> None:
    with pytest.raises(ConfigError, match="on_error must be"):
        StaticContent(lambda: "x", on_error="ignore")  # type: ignore[arg-type]


def test_a_load_that_fails_makes_init_fail_and_keeps_its_cause() -> None:
    page = Page()
    page.error = OSError("the disk is gone")
    with pytest.raises(SourceError, match="could not be loaded") as caught:
        recall(StaticContent(page.load, id="house"))

    assert caught.value.reason == "'house' could not be loaded (OSError: the disk is gone)"
    assert caught.value.__cause__ is page.error


def test_what_is_not_text_is_a_failed_load() -> None:
    with pytest.raises(SourceError, match="load returned bytes, not text"):
        recall(StaticContent(lambda: b"x"))  # type: ignore[arg-type, return-value]


def test_a_load_that_failed_is_tried_again_by_the_next_init() -> None:
    page = Page("there")
    layer = StaticContent(page.load)
    page.error = OSError("gone")
    with pytest.raises(SourceError):
        recall(layer)
    page.error = None

    assert "there" in text(layer)


def test_disabled_means_that_the_others_stay_and_the_receipt_names_the_one() -> None:
    page = Page("news")
    layer = StaticContent(
        sources=[NamedText("a", lambda: "A"), NamedText("b", page.load, source="b.md")],
        on_error="disable",
        reload="on_change",
    )
    said = turns(layer, change(page, OSError("gone")), change(page, "back"))

    assert [[block.source.label for block in one.blocks] for one in said] == [["a", "b"], ["a"], ["a", "b"]]
    [omitted] = said[1].omitted
    assert (omitted.label, omitted.source) == ("b", "b.md")
    assert omitted.reason == "'b' could not be loaded (OSError: gone)"


def test_stale_keeps_the_last_good_text_and_says_so_in_the_receipt_only() -> None:
    page = Page("good")
    layer = StaticContent(page.load, on_error="stale", reload="on_change")
    said = turns(layer, change(page, OSError("gone")), change(page, OSError("still")), change(page, "better"))

    assert [inner(one) for one in said] == ["good", "good", "good", "better"]
    assert said[0].text == said[1].text
    assert [one.blocks[0].reason for one in said] == [
        "",
        "stale, the last good text: 'static_content' could not be loaded (OSError: gone)",
        "stale, the last good text: 'static_content' could not be loaded (OSError: still)",
        "",
    ]


def test_stale_without_any_good_text_is_left_out_with_its_reason() -> None:
    page = Page()
    page.error = OSError("gone")
    said = recall(StaticContent(page.load, on_error="stale"))

    assert said.blocks == []
    assert [one.reason for one in said.omitted] == ["'static_content' could not be loaded (OSError: gone)"]


def test_stale_survives_a_restart() -> None:
    page, given = Page("good <\u200b>"), context()
    before = recall(StaticContent(page.load, on_error="stale"), given=given)
    page.error = OSError("gone")
    after = recall(StaticContent(page.load, on_error="stale"), given=context(given.state))

    assert after.text == before.text
    assert after.blocks[0].source.revision == before.blocks[0].source.revision
    assert after.blocks[0].reason.startswith("stale")


def test_only_revisions_are_kept_where_no_text_will_be_needed() -> None:
    given = context()
    said = recall(StaticContent(lambda: "secret words"), given=given)

    assert given.state == {"sources": {"static_content": {"sha256": said.blocks[0].source.revision}}}


@pytest.mark.parametrize(
    "state", [None, 3, [], {}, {"sources": 3}, {"sources": {"static_content": 3}}, {"sources": {"x": {"text": 3}}}]
)
def test_state_of_any_shape_is_survived(state: object) -> None:
    page = Page()
    page.error = OSError("gone")

    assert recall(StaticContent(page.load, on_error="stale"), given=context(state)).text == ""


def test_a_load_that_is_too_slow_counts_as_failed_before_the_hook_is_cancelled() -> None:
    class Impatient(StaticContent):
        timeouts = {"init": 0.05, "recall": 0.05}  # noqa: RUF012

    async def load() -> str:
        await asyncio.Event().wait()
        return "never"

    given = context({"sources": {"static_content": {"text": "old"}}})
    said = recall(Impatient(load, on_error="stale"), given=given)

    assert inner(said) == "old"
    assert "could not be loaded in 0.045 s" in said.blocks[0].reason
    with pytest.raises(SourceError) as caught:
        recall(Impatient(load))
    assert caught.value.code is Code.TIMEOUT


# Under the runner.


async def nothing_stored(keys: Sequence[StateKey]) -> list[None]:
    return [None] * len(keys)


def run(layer: StaticContent) -> tuple[HookLog, str]:
    async def main() -> tuple[HookLog, str]:
        account, runner = HookLog(), Runner([layer], "t1", "w", COUNTER, 128_000)
        await runner.init(nothing_stored, account)
        said = [await runner.recall(one, RecallRequest("", 100), account) for one in runner.active]
        return account, "".join(one.text for one in said)

    return asyncio.run(main())


def test_the_runner_stops_for_a_layer_that_raises_and_goes_on_without_one_that_does_not() -> None:
    page = Page()
    page.error = OSError("gone")

    with pytest.raises(LayerInitError, match="could not be loaded"):
        run(StaticContent(page.load))
    account, said = run(StaticContent(page.load, on_error="disable"))
    assert (list(account.failures), said) == ([], "")


# The page.


def test_python_on_the_page_runs(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "layers.md").read_text(encoding="utf-8")
    section = page.partition("## Text of your own")[2].partition("\n## ")[0]
    (tmp_path / "CONVENTIONS.md").write_text("Be brief.\n", encoding="utf-8")
    (code,) = re.findall(r"```py\n(.*?)```", section, re.DOTALL)

    program = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(program, cwd=tmp_path, check=True, capture_output=True, text=True)

    assert "<conventions>\nBe brief.\n" in done.stdout
