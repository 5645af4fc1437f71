"""The token meter."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from promptuary.base.errors import PromptuaryError
from promptuary.chat.prompt.meter import WIDTH, LiveMeter, meter_text
from promptuary.references.expansion import Measured, TokenUse


def measured(injected: int, *, words: int = 0, uncounted: tuple[str, ...] = ()) -> Measured:
    return Measured(words, TokenUse(injected, 1_000, 250, 500), uncounted)


def shown(injected: int) -> str:
    return "".join(text for _, text in meter_text(measured(injected)))


def test_the_bar_has_marks_at_a_quarter_and_at_half_of_the_window() -> None:
    assert shown(0)[:WIDTH] == "──────┼─────┼───────────"
    assert shown(250)[:WIDTH] == "━━━━━━┼─────┼───────────"
    assert shown(500)[:WIDTH] == "━━━━━━╋━━━━━┼───────────"


def test_the_figures_follow_the_bar() -> None:
    said = "".join(text for _, text in meter_text(measured(254, words=7, uncounted=("@url:x",)), busy=True))

    assert said[WIDTH:] == " @ 254 of 1,000 tokens (25%), message 7, 1 not counted yet …"


def test_a_reference_that_is_not_measured_yet_is_not_shown_as_zero() -> None:
    async def run() -> list[str]:
        said: list[str] = []
        measuring, go_on, drawn = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def measure(text: str) -> Measured:
            if "@glob" in text:
                measuring.set()
                await go_on.wait()
                return measured(254)
            return measured(0)

        meter = LiveMeter(measure, drawn.set, pause=0.0)

        def show() -> None:
            assert meter.measured is not None
            said.append("".join(text for _, text in meter_text(meter.measured, busy=meter.busy, unknown=meter.unknown)))

        for text in ("", "words", "@glob:**"):
            meter.typed(text)
            if "@" in text:
                await measuring.wait()
                show()
                go_on.set()
            await drawn.wait()
            drawn.clear()
            show()
        return said

    assert [one[-13:] for one in asyncio.run(run())] == [
        "0 tokens (0%)",
        "0 tokens (0%)",
        "@ measuring …",
        " tokens (25%)",
    ]


def test_a_narrow_toolbar_loses_the_words_then_the_bar() -> None:
    def narrow(room: int) -> str:
        return "".join(text for _, text in meter_text(measured(254, words=7), room=room))

    assert narrow(55)[WIDTH:] == " @ 254 of 1,000 tokens (25%)"
    assert narrow(40)[WIDTH:] == " @ 254 (25%)"
    assert narrow(20) == "@ 254 (25%)"


def test_the_colour_says_whether_it_is_much() -> None:
    styles = [meter_text(measured(injected))[-1][0] for injected in (250, 251, 500)]

    assert styles == ["class:meter.low", "class:meter.high", "class:meter.full"]


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_the_bar_is_always_as_wide(injected: int, window: int) -> None:
    spend = TokenUse(injected, window, window // 4, window // 2)
    parts = meter_text(Measured(0, spend))

    assert "".join(text for _, text in parts).index(" ") == WIDTH


def test_only_what_is_typed_last_is_measured_and_nothing_twice_at_once() -> None:
    async def run() -> tuple[list[str], int, bool]:
        asked: list[str] = []
        redrawn = under_way = 0
        done = asyncio.Event()

        async def measure(text: str) -> Measured:
            nonlocal under_way
            under_way += 1
            assert under_way == 1
            asked.append(text)
            if len(asked) == 1:
                meter.typed("abc")  # while the first is being measured
                meter.typed("abcd")
            await asyncio.sleep(0)
            under_way -= 1
            return measured(len(text))

        def changed() -> None:
            nonlocal redrawn
            redrawn += 1
            done.set()

        meter = LiveMeter(measure, changed, pause=0.001)
        for text in ("a", "ab"):
            meter.typed(text)
        await done.wait()
        assert meter.measured == measured(4)
        return asked, redrawn, meter.busy

    assert asyncio.run(run()) == (["ab", "abcd"], 1, False)


def test_what_cannot_be_measured_shows_no_meter() -> None:
    async def run() -> Measured | None:
        done = asyncio.Event()

        async def measure(text: str) -> Measured:
            raise PromptuaryError(text)

        meter = LiveMeter(measure, done.set, pause=0)
        meter.typed("a")
        await done.wait()
        meter.close()
        return meter.measured

    assert asyncio.run(run()) is None
