"""What is known of layers of this kind elsewhere, example by example, in our terms: its good sides and its faults.

Most of it is said through whole turns of a real workspace. The message "hi" costs five tokens with its envelope, and
a layer's message four besides its words, so that every share can be worked out by hand. An eighth of what nobody has
reserved stays free for the results of tools.
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from promptuary import Promptuary
from promptuary.base.blocks import Detail
from promptuary.base.budget import Claim, allocate
from promptuary.base.errors import Code, ConfigError, SourceError
from promptuary.base.ids import new_id
from promptuary.layers.layer import (
    TIMEOUTS,
    Band,
    Budget,
    BudgetRange,
    Changed,
    Ending,
    Hook,
    Incoming,
    Layer,
    LayerContext,
    Recall,
    RecallRequest,
    StateKey,
    check,
)
from promptuary.layers.runner import HookLog, Runner
from promptuary.layers.static import StaticContent
from promptuary.layers.tracked import reader
from promptuary.layers.tracked.layer import TrackedFiles
from promptuary.threads.prepared import Turn
from promptuary.tokens.counting import Counter
from promptuary.workspace.access import Access
from promptuary.workspace.workspace import Workspace, open_workspace
from tests.conftest import Files

COUNTER = Counter()
ENVELOPE = 4
HI = 5
EVERYTHING = 1_000_000


class Says(Layer):
    """Has so many words to say, and says as many as it may; each is one token."""

    def __init__(
        self, name: str, words: int = EVERYTHING, budget: Budget = "auto", *, slot: int = 100, band: Band = "live"
    ) -> None:
        self.id, self.words, self.budget, self.slot, self.band = name, words, budget, slot, band
        self.asked: list[int] = []

    async def recall(self, request: RecallRequest, context: LayerContext) -> str | None:
        self.asked.append(request.budget)
        return " ".join([self.id] * min(self.words, request.budget)) or None


class Deaf(Says):
    """Says all it has, whatever it may."""

    async def recall(self, request: RecallRequest, context: LayerContext) -> str:
        self.asked.append(request.budget)
        return " ".join([self.id] * self.words)


def turns(workspace: Path, *layers: Layer, texts: Sequence[str] = ("hi",), **options: Any) -> list[Turn]:
    """Say ``texts`` one after the other in a thread of their own, each but the last answered with "fine"."""

    async def main() -> list[Turn]:
        thread = new_id("thread")
        async with Promptuary.open(
            workspace, exact=True, layers=layers, **{"reply_reserve": 0, **options}
        ) as promptuary:
            said = [await promptuary.threads.prepare(texts[0], thread=thread)]
            for text in texts[1:]:
                await promptuary.threads.finish(said[-1], "fine")
                said.append(await promptuary.threads.prepare(text, thread=thread))
            return said

    return asyncio.run(main())


def shares(workspace: Path, available: int, *layers: Says) -> list[int]:
    """Return what each layer costs, envelope included, where ``available`` tokens are shared."""
    [turn] = turns(workspace, *layers, window=available + HI)
    assert turn.receipt.failures == ()
    assert turn.receipt.tokens == cost(turn) <= available + HI
    words = {entry.layer: entry.tokens + ENVELOPE for entry in turn.receipt.entries if entry.status != "out"}
    return [words.get(layer.id, 0) for layer in layers]


def cost(turn: Turn) -> int:
    """Return what is sent, counted message by message."""
    return cost_of_all([message["content"] for message in turn.messages])


def cost_of_all(texts: Sequence[str]) -> int:
    return sum(COUNTER.count(text) + ENVELOPE for text in texts)


# How a window is shared


@pytest.mark.parametrize(("words", "share"), [(700, 704), (6_001, 6_005), (EVERYTHING, 8_750)])
def test_one_layer_gets_what_it_wants_as_far_as_there_is_room(workspace: Path, words: int, share: int) -> None:
    assert shares(workspace, 10_000, Says("a", words)) == [share]


def test_layers_without_a_budget_share_equally_and_what_one_leaves_goes_to_the_other(workspace: Path) -> None:
    assert shares(workspace, 10_000, Says("a"), Says("b")) == [4_375, 4_375]
    assert shares(workspace, 10_000, Says("c", 96), Says("d")) == [100, 8_650]


def test_shares_are_whole_tokens_and_nothing_is_left_over_but_room_for_results(workspace: Path) -> None:
    assert sorted(shares(workspace, 10_000, Says("a"), Says("b"), Says("c"))) == [2_916, 2_917, 2_917]


def test_a_number_is_kept_for_its_layer_beside_a_huge_ceiling_and_no_budget_at_all(workspace: Path) -> None:
    layers = Says("a", budget=500), Says("b", budget=BudgetRange(0, EVERYTHING)), Says("c")

    assert shares(workspace, 10_000, *layers) == [500, 4_157, 4_156]
    assert shares(workspace, 600, *layers) == [500, 44, 44]


def test_a_number_is_a_ceiling_too(workspace: Path) -> None:
    assert shares(workspace, 10_000, Says("a", budget=500)) == [500]


def test_what_a_ceiling_leaves_goes_to_the_other_layers(workspace: Path) -> None:
    large, small = Says("a", budget=BudgetRange(0, 3_000)), Says("b", budget=BudgetRange(0, 1_000))

    assert shares(workspace, 10_000, large, small) == [3_000, 1_000]
    assert shares(workspace, 10_000, large, small, Says("c")) == [3_000, 1_000, 4_750]


@pytest.mark.parametrize(
    ("ceiling", "expected"), [(2_999, [2_999, 3_001]), (3_000, [3_000, 3_000]), (3_001, [3_000, 3_000])]
)
def test_a_ceiling_around_the_fair_share_moves_no_more_than_its_own_tokens(
    workspace: Path, ceiling: int, expected: list[int]
) -> None:
    assert shares(workspace, 6_857, Says("a", budget=BudgetRange(0, ceiling)), Says("b")) == expected


def test_reservations_that_are_too_much_together_share_and_nobody_else_gets_anything(workspace: Path) -> None:
    layers = Says("a", budget=BudgetRange(3_000)), Says("b", budget=BudgetRange(9_000)), Says("c")

    assert shares(workspace, 6_000, *layers) == [3_000, 3_000, 0]
    assert shares(workspace, 4_000, *layers) == [2_000, 2_000, 0]


def test_a_layer_for_which_nothing_is_left_is_named_in_the_receipt(workspace: Path) -> None:
    layers = Says("a", budget=BudgetRange(9_000)), Says("b", 40)
    [turn] = turns(workspace, *layers, window=1_000 + HI)

    assert [entry.layer for entry in turn.receipt.entries if entry.status == "out"] == ["b"]
    assert "44 tokens" in next(entry.reason for entry in turn.receipt.entries if entry.layer == "b")
    assert turn.receipt.failures == ()


def test_a_reservation_comes_before_what_is_shared_and_takes_part_in_that(workspace: Path) -> None:
    assert shares(workspace, 10_000, Says("a", budget=BudgetRange(6_000)), Says("b")) == [7_750, 1_750]


def test_a_layer_with_nothing_to_say_takes_nothing_whatever_is_reserved_for_it(workspace: Path) -> None:
    class Hooks(Layer):
        id = "hooks"

    silent = Says("silent", 0, BudgetRange(5_000))
    [turn] = turns(workspace, silent, Hooks(), loud := Says("a"), window=10_000 + HI)

    assert loud.asked == [9_996, 8_746]
    assert turn.receipt.tokens == 8_750 + HI
    assert {entry.layer for entry in turn.receipt.entries} == {"a", "message"}


def test_no_room_is_no_share_and_no_debt() -> None:
    assert allocate([Claim(10, 5), Claim(7)], 0) == [0, 0]
    assert allocate([Claim(10, 5), Claim(7)], -1_000) == [0, 0]
    assert allocate([], 100) == []


@pytest.mark.parametrize(
    ("budget", "told"),
    [
        (BudgetRange(3_000, 100), "min 3000 above max 100"),
        (BudgetRange(-1), "budget must be"),
        (BudgetRange(0, -1), "budget must be"),
        (float("nan"), "budget must be"),
        (float("inf"), "budget must be"),
        (0.5, "budget must be"),
        (True, "budget must be"),
        ("500", "budget must be"),
    ],
)
def test_a_budget_that_makes_no_sense_is_refused_before_anything_runs(budget: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        check([Says("a", budget=budget)])


@pytest.mark.parametrize("setting", ["window", "reply_reserve"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -5])
def test_a_window_that_is_no_number_of_tokens_is_refused(workspace: Path, setting: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=setting):
        Promptuary.open(workspace, exact=True, **{setting: value})


def test_a_layer_whose_budget_makes_no_sense_stops_the_first_turn_and_names_itself(workspace: Path) -> None:
    with pytest.raises(ConfigError, match="layer 'a': budget has min 2 above max 1"):
        turns(workspace, Says("a", budget=BudgetRange(2, 1)))


# What a prompt is made of


def test_stable_layers_the_history_live_layers_and_the_message_stand_in_this_order(workspace: Path) -> None:
    layers = [
        Says("live-late", 1, slot=200),
        Says("stable-late", 1, slot=300, band="stable"),
        Says("live-early", 1, slot=100),
        Says("stable-early", 1, slot=5, band="stable"),
        Says("stable-tie", 1, slot=5, band="stable"),
    ]
    turn = turns(workspace, *layers, texts=["one", "two"])[-1]

    assert [(message["role"], message["content"]) for message in turn.messages] == [
        ("developer", "stable-early"),
        ("developer", "stable-tie"),
        ("developer", "stable-late"),
        ("user", "one"),
        ("assistant", "fine"),
        ("developer", "live-early"),
        ("developer", "live-late"),
        ("user", "two"),
    ]


def test_the_message_is_sent_whole_however_much_layers_and_history_want(workspace: Path) -> None:
    message = "why " * 80
    turn = turns(workspace, Says("a", budget=BudgetRange(EVERYTHING)), texts=["x " * 90, message], window=110)[-1]

    assert turn.messages[-1] == {"role": "user", "content": message}
    assert turn.receipt.tokens == cost(turn) <= 110


def test_a_message_that_does_not_fit_is_said_to_be_too_long_and_never_replaced_by_something_else(
    workspace: Path,
) -> None:
    [turn] = turns(workspace, Says("a"), texts=["why " * 200], window=110)

    assert turn.messages == [{"role": "user", "content": "why " * 200}]
    assert turn.receipt.blocked


def test_the_reply_has_its_reserve_whatever_layers_want(workspace: Path) -> None:
    [turn] = turns(workspace, Says("a"), window=1_000, reply_reserve=400)

    assert (turn.receipt.tokens, turn.receipt.reserve) == (526, 400)


def test_what_is_counted_is_what_is_sent_even_where_every_character_would_be_escaped(files: Files) -> None:
    root = files({"quotes.py": 'x = "\\"\\n\\t\\""\n' * 400})
    [turn] = turns(root, Says("a"), texts=["fix #quotes.py"], window=900)

    assert turn.receipt.tokens == cost(turn) <= 900
    assert 'x = "\\"\\n\\t\\""' in turn.messages[0]["content"]
    assert turn.receipt.failures == ()


def test_a_layer_that_says_more_than_it_may_is_left_out_and_told_and_a_smaller_one_still_stands(
    workspace: Path,
) -> None:
    deaf = Deaf("deaf", 2_000, slot=1)
    [turn] = turns(workspace, deaf, Says("b", 50, slot=2), window=1_000)

    assert [message["content"] for message in turn.prompt.live] == ["b" + " b" * 49]
    assert [(one.layer, one.hook, one.code) for one in turn.receipt.failures] == [("deaf", "recall", "OVER_BUDGET")]
    assert [entry.layer for entry in turn.receipt.entries if entry.status == "out"] == ["deaf"]


def test_the_history_can_count_on_two_fifths_beside_a_layer_that_wants_everything(workspace: Path) -> None:
    past = ["word " * 195] * 6
    turn = turns(workspace, Says("a"), texts=[*past, "hi"], window=1_000 + HI, compact_share=1.0)[-1]

    kept = cost_of_all([message["content"] for message in turn.prompt.history])
    assert 400 <= kept < cost_of_all(past)
    assert list(turn.prompt.history[-2:]) == [
        {"role": "user", "content": past[-1]},
        {"role": "assistant", "content": "fine"},
    ]
    assert turn.receipt.tokens == cost(turn) <= 1_000 + HI


def test_what_layers_leave_goes_to_the_history(workspace: Path) -> None:
    past = ["word " * 195] * 4
    turn = turns(workspace, Says("a", 5, BudgetRange(600)), texts=[*past, "hi"], window=1_100, compact_share=1.0)[-1]

    assert len(turn.prompt.history) == 2 * len(past)


# When layers are asked


class Attentive(Layer):
    """Notes what it is told, and says what it heard last."""

    id = "attentive"

    def __init__(self) -> None:
        self.log: list[str] = []

    async def on_message(self, message: Incoming, context: LayerContext) -> Changed:
        self.log.append(f"heard {message.text}")
        context.state = message.text
        return Changed(rerender="immediate")

    async def recall(self, request: RecallRequest, context: LayerContext) -> str:
        self.log.append("recalled")
        return f"you said: {context.state}"

    async def complete(self, ending: Ending, context: LayerContext) -> None:
        self.log.append(ending)


def test_what_a_message_changes_is_recalled_in_the_same_turn_and_once(workspace: Path) -> None:
    layer = Attentive()
    said = turns(workspace, layer, texts=["one", "two"])

    assert [turn.prompt.live[0]["content"] for turn in said] == ["you said: one", "you said: two"]
    assert layer.log == ["heard one", "recalled", "finished", "heard two", "recalled"]


def test_every_message_is_shown_to_the_layers_and_an_empty_one_too(workspace: Path) -> None:
    layer = Attentive()
    turns(workspace, layer, texts=["", " ", "x"])

    assert [line for line in layer.log if line.startswith("heard")] == ["heard ", "heard  ", "heard x"]


def test_a_layer_is_asked_once_if_it_fits_and_once_more_if_it_has_to_say_less(workspace: Path) -> None:
    small, large = Says("a", 10), Says("b")
    turns(workspace, small, large, window=1_000 + HI)

    assert (small.asked, large.asked) == ([996], [996, 857])


def test_layers_are_told_how_a_turn_ended_whichever_way_that_was(workspace: Path) -> None:
    layer = Attentive()

    async def main() -> None:
        async with Promptuary.open(workspace, exact=True, layers=[layer]) as promptuary:
            await promptuary.threads.abandon(await promptuary.threads.prepare("never mind"))
            await promptuary.threads.finish(await promptuary.threads.prepare("go"), "done")

    asyncio.run(main())
    assert [line for line in layer.log if line in {"finished", "abandoned", "failed"}] == ["abandoned", "finished"]


def test_a_timeout_of_zero_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(Layer):
        id = "default"

        async def recall(self, request: RecallRequest, context: LayerContext) -> str:
            await asyncio.Event().wait()
            return "never"

    class Unhurried(Slow):
        id = "none"
        timeouts: ClassVar[Mapping[Hook, float]] = {"recall": 0}

        async def recall(self, request: RecallRequest, context: LayerContext) -> str:
            await asyncio.sleep(20 * TIMEOUTS["recall"])  # a timer that began later and ends later
            return "at last"

    async def main() -> list[str]:
        account = HookLog()
        runner = Runner([Slow(), Unhurried()], "t", "r", COUNTER, 1_000)

        async def nothing_stored(keys: Sequence[StateKey]) -> list[None]:
            return [None] * len(keys)

        await runner.init(nothing_stored, account)
        said = [await runner.recall(run, RecallRequest("", 100), account) for run in runner.active]
        assert [(one.layer, one.code) for one in account.failures] == [("default", "TIMEOUT")]
        return [one.text for one in said]

    monkeypatch.setitem(TIMEOUTS, "recall", 0.001)
    assert asyncio.run(main()) == ["", "at last"]


# Files in view


class Thread:
    """A conversation with the layer that keeps files in view, and nothing else."""

    def __init__(self, door: Workspace, **options: Any) -> None:
        self.layer = TrackedFiles(door, **options)
        self.context = LayerContext("t", "t", None, COUNTER, 128_000)

    def say(self, text: str) -> Changed | None:
        return asyncio.run(self.layer.on_message(Incoming(text, text), self.context))

    def recall(self, budget: int = 10_000) -> Recall:
        found = asyncio.run(self.layer.recall(RecallRequest("", budget), self.context))
        assert found is not None
        assert COUNTER.count(found.text) <= budget
        return found

    @property
    def states(self) -> dict[str, str]:
        files = (self.context.state or {"files": []})["files"]
        return {file["path"] + file["suffix"]: file["code"] or file["state"] for file in files}


@pytest.fixture
def thread(workspace: Path) -> Iterator[Callable[..., Thread]]:
    door = open_workspace(workspace, Access(), follow_symlinks=False)
    yield lambda **options: Thread(door, **options)
    door.close()


@pytest.mark.parametrize(
    ("text", "tracked"),
    [
        ("see #src/index.ts.", ["src/index.ts"]),
        ("(#a.ts)", ["a.ts"]),
        ("#a.ts:42", ["a.ts:42"]),
        ("#a.ts#L10", ["a.ts:10"]),
        ("#a.test.ts", ["a.test.ts"]),
        ("#a..ts", ["a..ts"]),
        ("#_x.ts", ["_x.ts"]),
        ("#a.ts,#b.ts", ["a.ts", "b.ts"]),
        ("#b.ts #a.ts #b.ts", ["b.ts", "a.ts"]),
        ("#./a.ts", ["a.ts"]),
        ("#src/../b.ts", ["b.ts"]),
        (r"#src\index.ts", ["src/index.ts"]),
        ("#1.2", ["1.2"]),
        ("`#a.ts`", []),
        ("```\n#a.ts\n```", []),
        ("##a.ts", []),
        ("#a.ts-foo", []),
        ("#a.md?x=1", []),
        ("x#a.ts", []),
        ("C#net.core", []),
        ("https://x.io/p#sec.html", []),
        ("issue #1.3, #v1.2.3, #fff.css", []),
        ("#hashtag #123 #region # a.ts #a. #src/ #...", []),
        ("#/etc/passwd.txt #~/x.txt", []),
        ("#nowhere", []),
    ],
)
def test_a_reference_is_what_a_person_would_take_for_one(
    files: Files, thread: Callable[..., Thread], text: str, tracked: list[str]
) -> None:
    names = ["a.ts", "b.ts", "a.md", "src/index.ts", "a.test.ts", "a..ts", "_x.ts", "net.core", "sec.html", "1.2"]
    files(dict.fromkeys(names, "line\n" * 50))
    talk = thread()
    talk.say(text)

    assert list(talk.states) == tracked
    assert set(talk.states.values()) <= {"ok", "DISALLOWED_EXTENSION"}


def test_a_hash_right_after_a_path_names_a_part_of_it_and_one_that_is_not_there_is_said_to_be_missing(
    files: Files, thread: Callable[..., Thread]
) -> None:
    files({"a.ts": "export const one = 1;\n", "b.ts": "x\n"})
    talk = thread()
    talk.say("#a.ts#b.ts")

    assert talk.states == {"a.ts#b.ts": "NO_MATCH"}
    assert "[ERROR NO_MATCH: " in talk.recall().text


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("src/index.ts", "src-index-ts"),
        ("A_b/C.d-e.TS", "a_b-c-d-e-ts"),
        ("src/deep/er/and/deeper/x.test.ts", "src-deep-er-and-deeper-x-test-ts"),
    ],
)
def test_a_link_leads_to_the_heading_of_its_block(
    files: Files, thread: Callable[..., Thread], name: str, slug: str
) -> None:
    files({name: "x\n"})
    talk = thread()

    assert talk.say(f"see #{name}!") == Changed(f"see [#{name}](#{slug})!", "immediate")
    assert f"\n## {name} {{#{slug}}}\n" in talk.recall().text


def test_where_several_rules_forbid_a_file_the_first_of_them_is_told(
    files: Files, thread: Callable[..., Thread]
) -> None:
    root = files({"big.exe": "x" * 200, "big.txt": "x" * 200})
    (root.parent / "out.exe").write_text("x")
    (root / "link.exe").symlink_to("big.exe")
    (root / "link.txt").symlink_to("big.txt")
    layer = thread(max_file_size=100).layer
    codes = {
        "/etc/passwd": Code.ABSOLUTE_PATH,
        "../out.exe": Code.PATH_TRAVERSAL,
        "link.exe": Code.SYMLINK,
        "link.txt": Code.SYMLINK,
        "big.txt": Code.FILE_TOO_LARGE,
    }
    for path, code in codes.items():
        with pytest.raises(SourceError) as caught:
            asyncio.run(layer.track(None, path, COUNTER))
        assert (path, caught.value.code) == (path, code)


def test_what_cannot_be_shown_comes_after_what_can_in_the_order_of_naming(
    files: Files, thread: Callable[..., Thread]
) -> None:
    files({"virus.exe": "x", "z.py": "x = 1\n", "a.py": "x = 1\n"})
    talk = thread()
    talk.say("#src/nope.py #virus.exe #z.py #a.py")

    assert [block.source.label for block in talk.recall().blocks] == ["z.py", "a.py", "src/nope.py", "virus.exe"]


def test_five_lines_of_four_hundred_characters_are_shown_in_part_within_eighty_tokens(
    files: Files, thread: Callable[..., Thread]
) -> None:
    files({"wide.txt": "".join(f"{number} {'wide ' * 80}\n" for number in range(5))})
    talk = thread()
    talk.say("#wide.txt")
    [block] = talk.recall(80).blocks

    assert block.detail is Detail.EXCERPT
    assert "wide wide" in block.text


def test_a_file_that_shrinks_below_the_limit_is_read_again(files: Files, thread: Callable[..., Thread]) -> None:
    root = files({"a.txt": "x" * 200})
    talk = thread(max_file_size=100)
    talk.say("#a.txt")
    assert talk.states == {"a.txt": "FILE_TOO_LARGE"}
    (root / "a.txt").write_text("ok")

    assert talk.say("now?") == Changed(None, "immediate")
    assert "\nok\n" in talk.recall().text


FORBIDDEN = """
import asyncio, pathlib, sys
from promptuary import Promptuary

async def main(root):
    file = root / "a.py"
    async with Promptuary.open(root, exact=True) as promptuary:
        for mode in (0o644, 0, 0o644):
            file.chmod(mode)
            turn = await promptuary.threads.prepare("look at #a.py and #b.py")
            shown = turn.prompt.stable[0]["content"]
            print("secret plan" in shown, "[ERROR PERMISSION_DENIED: " in shown, "always there" in shown)

asyncio.run(main(pathlib.Path(sys.argv[1])))
"""


def test_a_file_that_may_not_be_read_for_a_while_is_an_error_for_as_long(files: Files) -> None:
    root = files({"a.py": "secret plan\n", "b.py": "always there\n"})
    command = [sys.executable, "-c", FORBIDDEN, str(root)]
    if os.geteuid() == 0:  # who may read everything has to give that up first
        if not shutil.which("setpriv"):
            pytest.skip("this user may read everything")
        command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert done.stdout.split("\n")[:3] == ["True False True", "False True True", "True False True"]


def test_headings_inside_a_tracked_document_are_never_taken_for_other_files(
    files: Files, thread: Callable[..., Thread]
) -> None:
    root = files({"m.md": "# M\n\n## b.py {#b-py}\n\nold words\n", "b.py": "x = 1\n"})
    talk = thread()
    talk.say("#m.md #b.py")
    (root / "m.md").write_text("# M\n\n## b.py {#b-py}\n\nnew words\n")
    talk.say("now?")
    blocks = {block.source.label: block.text for block in talk.recall().blocks}

    assert list(blocks) == ["m.md", "b.py"]
    assert "new words" in blocks["m.md"]
    assert "x = 1" in blocks["b.py"]


def test_a_change_on_disk_is_in_the_prompt_of_the_very_next_message_and_asked_for_once(files: Files) -> None:
    root = files({"a.py": "before\n"})

    async def main() -> list[Turn]:
        async with Promptuary.open(root, exact=True) as promptuary:
            first = await promptuary.threads.prepare("look at #a.py")
            await promptuary.threads.finish(first, "ok")
            (root / "a.py").write_text("after\n")
            return [first, await promptuary.threads.prepare("and now?")]

    for turn, content in zip(asyncio.run(main()), ["before", "after"], strict=True):
        assert f"\n{content}\n" in turn.prompt.stable[0]["content"]
        runs = [(run.layer, run.hook) for run in turn.receipt.hooks]
        assert runs.count(("file_reference", "recall")) == 1


def test_tracked_files_are_there_after_a_restart_and_in_their_own_thread_only(files: Files) -> None:
    root = files({"a.py": "kept in view\n"})

    async def prepared(text: str, thread: str) -> str:
        async with Promptuary.open(root, exact=True) as promptuary:
            turn = await promptuary.threads.prepare(text, thread=thread)
            await promptuary.threads.finish(turn, "ok")
            return json.dumps(turn.messages)

    assert "kept in view" in asyncio.run(prepared("look at #a.py", "one"))
    assert "kept in view" in asyncio.run(prepared("go on", "one"))
    assert "kept in view" not in asyncio.run(prepared("hello", "two"))


def test_a_disk_that_hangs_costs_its_files_their_turn_and_nothing_else(
    files: Files, thread: Callable[..., Thread], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"slow{number}.txt" for number in range(24)]
    files({**dict.fromkeys(names, "x\n"), "quick.txt": "fine\n"})
    released, read = threading.Event(), Workspace.read

    def hanging(self: Workspace, path: str) -> object:
        if path.startswith("slow"):
            released.wait(30)
        return read(self, path)

    monkeypatch.setattr(Workspace, "read", hanging)
    monkeypatch.setattr(reader, "LOOK_TIMEOUT", 1.2)
    talk = thread()
    try:
        began = time.monotonic()
        change = talk.say(" ".join(f"#{name}" for name in [*names, "quick.txt"]))
        took = time.monotonic() - began
    finally:
        released.set()

    assert took < 15  # one after the other they would take twice that
    assert change is not None
    assert change.text is not None
    assert change.text.endswith("[#quick.txt](#quick-txt)")
    assert talk.states == {**dict.fromkeys(names, "TIMEOUT"), "quick.txt": "ok"}


# Text that always stands


def test_standing_text_is_cut_between_its_tags_to_what_a_turn_leaves_for_it(workspace: Path) -> None:
    layer = StaticContent(lambda: "Prefer the plain word.\n" * 400, tag="project_conventions")
    [turn] = turns(workspace, layer, window=300)
    [message] = turn.prompt.stable

    assert message["content"].startswith("<project_conventions>\nPrefer the plain word.\n")
    assert message["content"].endswith("characters left out]\n</project_conventions>")
    assert turn.receipt.tokens == cost(turn) <= 300
    assert [entry.status for entry in turn.receipt.entries if entry.layer == "static_content"] == ["degraded"]


def test_several_standing_texts_stack_in_the_order_of_their_slots_and_load_once(workspace: Path) -> None:
    loads: list[str] = []

    def loaded(name: str) -> str:
        loads.append(name)
        return name

    second = StaticContent(lambda: loaded("second"), id="second", slot=110)
    first = StaticContent(lambda: loaded("first"), id="first", tag="persona")
    said = turns(workspace, second, first, texts=["one", "two", "three"])

    for turn in said:
        assert [message["content"] for message in turn.prompt.stable] == [
            "<persona>\nfirst\n</persona>",
            "<instructions>\nsecond\n</instructions>",
        ]
    assert sorted(loads) == ["first", "second"]


def test_standing_text_that_is_blank_is_no_message_and_no_entry(workspace: Path) -> None:
    [turn] = turns(workspace, StaticContent(lambda: " \n"))

    assert turn.messages == [{"role": "user", "content": "hi"}]
    assert [entry.layer for entry in turn.receipt.entries] == ["message"]


def test_a_step_that_is_cancelled_leaves_nothing_in_the_state_of_a_layer(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = files({"a.py": "x = 1\n"})

    async def cancelled(*_: object) -> object:
        raise asyncio.CancelledError

    async def talk() -> str:
        async with Promptuary.open(project, exact=True, embedder="none") as promptuary:
            with monkeypatch.context() as patched:
                patched.setattr("promptuary.threads.turn.Thread._expanded", cancelled)
                with pytest.raises(asyncio.CancelledError):
                    await promptuary.threads.prepare("look at #a.py")
            return str((await promptuary.threads.prepare("hello")).messages)

    assert "a.py" not in asyncio.run(talk())
