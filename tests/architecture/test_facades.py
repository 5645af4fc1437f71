"""``engine`` and ``blocking`` offer the same, with and without ``async``: names, parameters, defaults and types."""

import ast
import asyncio
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec import Struct

import promptuary
from promptuary import blocking, engine
from tests.architecture.source import modules


class Offer(NamedTuple):
    """One thing that a facade offers: its parameters and what it gives; a property has no parameters."""

    parameters: tuple[tuple[str, ...], ...] | None
    gives: str
    waits: bool


def offers(facade: object, name: str = "") -> Iterator[tuple[str, Offer]]:
    """Yield everything public of a facade, and of the facades that are its attributes."""
    for attribute in sorted(set(dir(type(facade))) | set(vars(facade))):
        if attribute.startswith("_"):
            continue
        where = f"{name}.{attribute}"
        declared = inspect.getattr_static(type(facade), attribute, None)
        value = getattr(facade, attribute)
        if _is_facade(value):
            yield from offers(value, where)
        elif callable(value):
            yield where, _called(value)
        else:
            yield where, Offer(None, _given(declared, value), waits=False)


def _given(declared: object, value: object) -> str:
    if isinstance(declared, property) and declared.fget is not None:
        return str(inspect.signature(declared.fget).return_annotation)
    return type(value).__name__


def _is_facade(value: object) -> bool:
    return type(value).__module__.startswith("promptuary.") and not isinstance(value, Struct) and not callable(value)


def _called(method: Any) -> Offer:
    signature = inspect.signature(method)
    parameters = tuple(
        (one.name, one.kind.name, str(one.annotation), _shown(one.default)) for one in signature.parameters.values()
    )
    return Offer(parameters, str(signature.return_annotation), inspect.iscoroutinefunction(method))


def _shown(default: object) -> str:
    """Return a default as it is compared: two functions are the same if they do the same."""
    return repr(default.__code__.co_code) if inspect.isfunction(default) else repr(default)


@pytest.fixture
def both(workspace: Path) -> Iterator[tuple[dict[str, Offer], dict[str, Offer]]]:
    one = engine.Promptuary.open(workspace, exact=True)
    with blocking.Promptuary.open(workspace, exact=True) as other:
        yield dict(offers(one)), dict(offers(other))
    asyncio.run(one.close())


def test_both_offer_the_same_names(both: tuple[dict[str, Offer], dict[str, Offer]]) -> None:
    waiting, done = both

    assert set(waiting) == set(done)
    assert {".threads.prepare", ".search.find"} <= set(done)


def test_both_take_and_give_the_same(both: tuple[dict[str, Offer], dict[str, Offer]]) -> None:
    waiting, done = both
    different = {name for name in waiting.keys() & done.keys() if waiting[name][:2] != done[name][:2]}

    assert {name: (waiting[name], done[name]) for name in different} == {}


def test_one_is_awaited_and_the_other_is_not(both: tuple[dict[str, Offer], dict[str, Offer]]) -> None:
    waiting, done = both
    called = {name for name, one in waiting.items() if one.parameters is not None}

    assert {name for name in called if not waiting[name].waits} == {".open"}
    assert [name for name, one in done.items() if one.waits] == []


def test_every_type_of_ours_that_is_given_or_taken_can_be_imported(
    both: tuple[dict[str, Offer], dict[str, Offer]],
) -> None:
    said = " ".join(f"{one.gives} {one.parameters}" for one in both[0].values())
    classes = {node.name for one in modules() for node in one.tree.body if isinstance(node, ast.ClassDef)}
    used = {*re.findall(r"\w+", said)} & classes

    assert sorted(used - set(promptuary.__all__)) == []


def test_nothing_is_taken_without_a_name_and_a_type(both: tuple[dict[str, Offer], dict[str, Offer]]) -> None:
    unnamed = {
        (name, kind[2])
        for name, one in both[0].items()
        for kind in one.parameters or ()
        if kind[1].startswith("VAR_") or kind[2] in {"Any", "object"}
    }

    assert unnamed == {
        (".open", "Unpack[SettingsOptions]"),
        (".experiences.add", "Unpack[ExperienceFields]"),
        (".experiences.track_preference", "Unpack[ExperienceFields]"),
        (".memory.edit_proposal", "Unpack[ProposalFields]"),
        (".memory.find", "Unpack[NoteSelection]"),
        (".memory.list", "Unpack[NoteSelection]"),
        (".memory.remember", "Unpack[NoteFields]"),
        (".memory.write", "Unpack[NoteFields]"),
    }
