"""Hooks are timed, isolated, cancelled when late, and change state only when they end well."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from promptuary.base.blocks import Block
from promptuary.base.errors import ConfigError, LayerInitError
from promptuary.base.messages import Item
from promptuary.base.principals import Principal
from promptuary.layers.layer import (
    BudgetRange,
    Changed,
    Ending,
    Incoming,
    Layer,
    LayerContext,
    LayerState,
    Recall,
    RecallRequest,
    Reply,
    StateKey,
    StateScope,
    check,
)
from promptuary.layers.runner import HookLog, LoadStates, Runner, dispose
from promptuary.tokens.counting import Counter
from tests.stores import thread_state

REPLY = Reply([Item("1", "assistant", "done")])


async def nothing_kept(keys: Sequence[StateKey]) -> list[None]:
    return [None] * len(keys)


def runner(*layers: Layer) -> Runner:
    return Runner(layers, "t1", "r1", Counter(), 1_000)


def started(*layers: Layer, load: LoadStates = nothing_kept) -> tuple[Runner, HookLog]:
    made, account = runner(*layers), HookLog()
    asyncio.run(made.init(load, account))
    return made, account


class Recorder(Layer):
    """Notes what is called, and answers what it is told to."""

    def __init__(self, name: str, log: list[str], slot: int = 100) -> None:
        self.id, self.slot, self.log = name, slot, log

    async def init(self, context: LayerContext) -> None:
        self.log.append(f"{self.id}.init")

    async def on_message(self, message: Incoming, context: LayerContext) -> Changed | None:
        self.log.append(f"{self.id}.on_message {message.text}")
        return Changed(text=f"{message.text}+{self.id}")

    async def recall(self, request: RecallRequest, context: LayerContext) -> str:
        return f"{self.id} recalls {request.budget}"

    async def complete(self, ending: Ending, context: LayerContext) -> None:
        self.log.append(f"{self.id}.complete {ending}")

    async def dispose(self) -> None:
        self.log.append(f"{self.id}.dispose")


class Failing(Layer):
    id = "failing"

    async def on_message(self, message: Incoming, context: LayerContext) -> Changed | None:
        context.state = {"half": "done"}
        raise ValueError("broken")

    async def recall(self, request: RecallRequest, context: LayerContext) -> str:
        raise ValueError("broken too")


class Late(Layer):
    id = "late"
    timeouts = {"on_message": 0.02, "store": 0.02}  # noqa: RUF012

    def __init__(self) -> None:
        self.cancelled = 0

    async def on_message(self, message: Incoming, context: LayerContext) -> Changed | None:
        await self._forever(context)
        return None

    async def store(self, reply: Reply, context: LayerContext) -> None:
        await self._forever(context)

    async def _forever(self, context: LayerContext) -> None:
        context.state = "late"
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise


def test_hooks_run_in_the_order_of_slots_and_ties_in_the_order_given() -> None:
    log: list[str] = []
    made, account = started(Recorder("c", log, 300), Recorder("a", log, 100), Recorder("b", log, 100))
    text = asyncio.run(made.on_message(Incoming("hi", "hi"), account))

    assert text.text == "hi+a+b+c"
    assert log == ["a.init", "b.init", "c.init", "a.on_message hi", "b.on_message hi+a", "c.on_message hi+a+b"]


def test_layers_are_prepared_once_and_disposed_in_reverse() -> None:
    log: list[str] = []
    made, account = started(Recorder("a", log), Recorder("b", log, 200))
    asyncio.run(made.init(nothing_kept, account))
    asyncio.run(made.complete("finished", account))
    asyncio.run(dispose([run.layer for run in made.active], account))

    assert log == ["a.init", "b.init", "a.complete finished", "b.complete finished", "b.dispose", "a.dispose"]


def test_a_failing_hook_is_noted_changes_nothing_and_the_others_go_on() -> None:
    log: list[str] = []
    made, account = started(Failing(), Recorder("after", log, 200))
    text = asyncio.run(made.on_message(Incoming("hi", "hi"), account))

    assert text.text == "hi+after"
    assert [(one.layer, one.hook, one.code, one.reason) for one in account.failures] == [
        ("failing", "on_message", "ERROR", "ValueError: broken")
    ]
    assert made.take_changes() == []


def test_a_late_hook_is_cancelled_and_what_it_changed_is_dropped() -> None:
    layer = Late()
    made, account = started(layer)
    asyncio.run(made.on_message(Incoming("hi", "hi"), account))

    assert layer.cancelled == 1
    assert [one.code for one in account.failures] == ["TIMEOUT"]
    assert made.take_changes() == []


def test_store_hooks_run_at_the_same_time() -> None:
    met = asyncio.Barrier(3)

    class Meeting(Layer):
        def __init__(self, name: str) -> None:
            self.id = name

        async def store(self, reply: Reply, context: LayerContext) -> None:
            await met.wait()

    made, account = started(Meeting("a"), Meeting("b"), Meeting("c"))
    asyncio.run(made.store(REPLY, account))

    assert account.failures == []


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("plain", "plain"),
        ("", ""),
        (None, ""),
        (Recall([Block.of("a", "a"), Block.of("b", "b")], heading="# H"), "# H\n\na\n\nb"),
        (Recall([Block.of("", "a")], heading="# H"), ""),
        (42, ""),
    ],
)
def test_whatever_a_layer_says_is_a_recall(said: object, text: str) -> None:
    class Saying(Layer):
        id = "saying"

        async def recall(self, request: RecallRequest, context: LayerContext) -> Recall | str | None:
            return said  # type: ignore[return-value]

    made, account = started(Saying())
    assert asyncio.run(made.recall(made.active[0], RecallRequest("q", 10), account)).text == text


class Counting(Layer):
    id = "counting"

    async def on_message(self, message: Incoming, context: LayerContext) -> Changed | None:
        context.state = {"count": (context.state or {"count": 0})["count"] + 1}
        return None


def test_state_is_restored_and_only_changes_are_kept() -> None:
    kept = thread_state("counting", "t1", 1, {"count": 41})

    async def load(keys: Sequence[StateKey]) -> list[LayerState | None]:
        return [kept if key == kept.key else None for key in keys]

    made, account = started(Counting(), load=load)

    assert made.take_changes() == []
    asyncio.run(made.on_message(Incoming("hi", "hi"), account))
    assert [state.value for state in made.take_changes()] == [{"count": 42}]
    assert made.take_changes() == []


class Keeping(Layer):
    """Keeps hold of every state that it saw or set."""

    id = "keeping"

    def __init__(self, *states: object) -> None:
        self.states, self.seen = list(states), list[Any]()

    async def on_message(self, message: Incoming, context: LayerContext) -> Changed | None:
        self.seen.append(context.state)
        if self.states:
            context.state = self.states.pop(0)
        return None


def test_a_state_is_nobody_elses_to_change_once_its_hook_has_ended() -> None:
    given: Any = {"notes": ["one"]}
    layer = Keeping(given)
    made, account = started(layer)
    asyncio.run(made.on_message(Incoming("1", "1"), account))
    (kept,) = made.take_changes()
    given["notes"].append("two")
    asyncio.run(made.on_message(Incoming("2", "2"), account))
    layer.seen[1]["notes"].append("three")
    asyncio.run(made.on_message(Incoming("3", "3"), account))

    assert kept.value == layer.seen[2] == {"notes": ["one"]}
    assert made.take_changes() == []


DEEP: Any = None
for _ in range(400):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"a": (1, 2.5), 3: None}, {"a": [1, 2.5], "3": None}),
        ("\ud83d\ude00 in two halves, \x00 and \udcff", "\ud83d\ude00 in two halves, \x00 and \udcff"),
        ([10**100, -(2**63), True, 1e308, ""], [10**100, -(2**63), True, 1e308, ""]),
        (DEEP, DEEP),
    ],
)
def test_the_next_hook_finds_a_state_as_a_store_would_give_it_back(given: object, found: object) -> None:
    layer = Keeping(given)
    made, account = started(layer)
    for text in ("1", "2", "3"):
        asyncio.run(made.on_message(Incoming(text, text), account))

    assert account.failures == []
    assert layer.seen == [None, found, found]
    assert [state.value for state in made.take_changes()] == [found]


@pytest.mark.parametrize("given", [{1, 2}, object(), {"a": b"bytes"}, {(1, 2): 3}])
def test_a_state_that_is_not_json_is_the_failure_of_its_hook(given: object) -> None:
    layer = Keeping(given)
    made, account = started(layer)
    asyncio.run(made.on_message(Incoming("1", "1"), account))
    asyncio.run(made.on_message(Incoming("2", "2"), account))

    assert [(one.hook, one.code) for one in account.failures] == [("on_message", "ERROR")]
    assert layer.seen == [None, None]
    assert made.take_changes() == []


def test_all_states_are_asked_for_at_once_and_only_those_that_last() -> None:
    asked: list[Sequence[StateKey]] = []

    async def load(keys: Sequence[StateKey]) -> list[None]:
        asked.append(keys)
        return [None] * len(keys)

    passing = Recorder("passing", [])
    passing.scope = "execution"
    made, account = started(Counting(), passing, Recorder("r", []), load=load)
    asyncio.run(made.init(load, account))

    assert asked == [[StateKey("counting", "thread", "t1"), StateKey("r", "thread", "t1")]] * 2


@pytest.mark.parametrize("version", [1, 9])
def test_state_of_another_version_is_refused_and_left_alone(version: int) -> None:
    async def load(_: Sequence[StateKey]) -> list[LayerState]:
        return [thread_state("counting", "t1", version, {"other": 1})]

    layer = Counting()
    layer.state_version = 2
    made, account = started(layer, load=load)

    assert made.active == []
    assert [(one.code, f"version {version}" in one.reason) for one in account.failures] == [("BAD_STATE", True)]
    assert made.take_changes() == []


@pytest.mark.parametrize(("scope", "name"), [("thread", "t1"), ("user", ""), ("resource", "r1"), ("global", "")])
def test_state_is_stored_per_scope(scope: StateScope, name: str) -> None:
    layer = Counting()
    layer.scope = scope
    made, account = started(layer)
    asyncio.run(made.on_message(Incoming("hi", "hi"), account))

    assert [state.key for state in made.take_changes()] == [StateKey("counting", scope, name)]


def test_state_of_one_execution_is_not_kept() -> None:
    layer = Counting()
    layer.scope = "execution"
    made, account = started(layer)
    asyncio.run(made.on_message(Incoming("hi", "hi"), account))

    assert made.take_changes() == []


def test_state_that_json_cannot_hold_is_the_layers_failure() -> None:
    class Odd(Layer):
        id = "odd"

        async def on_message(self, message: Incoming, context: LayerContext) -> Changed | None:
            context.state = {"x": object()}
            return None

    made, account = started(Odd())
    asyncio.run(made.on_message(Incoming("hi", "hi"), account))

    assert [one.code for one in account.failures] == ["ERROR"]
    assert made.take_changes() == []


class Unready(Layer):
    id = "unready"

    async def init(self, context: LayerContext) -> None:
        raise OSError("no disk")


def test_a_layer_that_cannot_be_prepared_stops_everything_unless_it_may_be_left_out() -> None:
    with pytest.raises(LayerInitError, match="'unready' could not be prepared: OSError: no disk"):
        started(Unready())
    layer = Unready()
    layer.on_init_error = "disable"
    made, account = started(layer)

    assert made.active == []
    assert [one.code for one in account.failures] == ["ERROR", "DISABLED"]


def test_every_hook_is_timed() -> None:
    made, account = started(Recorder("a", []))
    asyncio.run(made.on_message(Incoming("hi", "hi"), account))

    assert [(run.layer, run.hook, run.milliseconds >= 0) for run in account.hooks] == [
        ("a", "init", True),
        ("a", "on_message", True),
    ]


def layer_with(**attributes: object) -> Layer:
    layer = Layer()
    layer.id = "x"
    for name, value in attributes.items():
        setattr(layer, name, value)
    return layer


@pytest.mark.parametrize(
    ("layers", "told"),
    [
        ([layer_with(id="")], "has no id"),
        ([layer_with(), layer_with()], "two layers are called 'x'"),
        ([layer_with(slot=-1)], "slot must be"),
        ([layer_with(slot=1.5)], "slot must be"),
        ([layer_with(slot=float("nan"))], "slot must be"),
        ([layer_with(budget=-1)], "budget must be"),
        ([layer_with(budget=float("nan"))], "budget must be"),
        ([layer_with(budget=1.5)], "budget must be"),
        ([layer_with(budget=BudgetRange(3_000, 100))], "min 3000 above max 100"),
        ([layer_with(band="middle")], "band must be"),
        ([layer_with(scope="galaxy")], "scope must be"),
        ([layer_with(timeouts={"recal": 1.0})], "timeouts must name hooks"),
        ([layer_with(timeouts={"recall": float("nan")})], "timeouts must name hooks"),
    ],
)
def test_layers_that_could_not_work_are_refused_at_once(layers: Sequence[Layer], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        check(layers)


def test_a_layer_that_cannot_be_disposed_does_not_keep_the_others() -> None:
    class Stuck(Layer):
        id = "stuck"
        slot = 500

        async def dispose(self) -> None:
            raise OSError("stuck")

    log: list[str] = []
    account = HookLog()
    asyncio.run(dispose([Recorder("a", log), Stuck()], account))

    assert log == ["a.dispose"]
    assert [(one.layer, one.code) for one in account.failures] == [("stuck", "ERROR")]


def test_a_layer_may_leave_what_changed_for_the_next_turn() -> None:
    class Patient(Layer):
        id = "patient"
        asked = 0

        async def on_message(self, message: Incoming, context: LayerContext) -> Changed | None:
            context.state = message.text
            return Changed(rerender="next_turn" if message.text == "two" else "immediate")

        async def recall(self, request: RecallRequest, context: LayerContext) -> str:
            self.asked += 1
            return str(context.state)

    layer = Patient()
    made, account = started(layer)

    def turn(text: str) -> str:
        asyncio.run(made.on_message(Incoming(text, text), account))
        return asyncio.run(made.recall(made.active[0], RecallRequest(text, 100), account)).text

    assert [turn("one"), turn("two"), turn("three")] == ["one", "one", "three"]
    assert layer.asked == 2


def test_what_a_layer_caches_under_differs_by_scope_and_owner() -> None:
    seen: list[str] = []

    class Noting(Layer):
        async def init(self, context: LayerContext) -> None:
            seen.append(context.scope_key)

    for scope in ("thread", "user"):
        for principal in (Principal(), Principal("ada"), Principal("ada", "reviewer"), Principal("ada", group="team")):
            layer = Noting()
            layer.id, layer.scope = "noting", scope
            made = Runner([layer], "t1", "r1", Counter(), 1_000, principal=principal)
            asyncio.run(made.init(nothing_kept, HookLog()))

    assert len(set(seen)) == len(seen) == 8
