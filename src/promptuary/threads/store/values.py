"""The format of stored values, the same for every store.

Every store uses this to turn states into JSON and sequences into tuples, and for the same error messages.
"""

import copy

from msgspec.structs import replace

from promptuary.base.errors import ConflictError, PromptuaryError, ThreadBusyError
from promptuary.base.principals import Principal
from promptuary.database.columns import to_text
from promptuary.layers.layer import LayerState
from promptuary.threads.records import TurnRecord


def state_text(state: LayerState) -> str:
    """Return the value of ``state`` as JSON, or raise an error that names its layer."""
    try:
        return to_text(state.value)
    except (TypeError, ValueError, RecursionError) as error:
        raise PromptuaryError(
            f"The state of layer {state.key.layer!r} cannot be stored: it must be a value that JSON can hold ({error})."
        ) from error


def frozen(turn: TurnRecord) -> TurnRecord:
    """Return a copy of ``turn`` that nobody else can change."""
    return replace(turn, messages=copy.deepcopy(tuple(turn.messages)))


def duplicate_item_error(item: str) -> ConflictError:
    """Return the error for an id that another item has."""
    return ConflictError(f"Item {item!r} exists already; read the thread again before you repeat.")


def missing_thread_error(thread: str) -> ConflictError:
    """Return the error for renaming a thread that is not there."""
    return ConflictError(f"There is no thread {thread!r}.")


def taken_thread_error(thread: str) -> ConflictError:
    """Return the error for the name of a thread that is in use."""
    return ConflictError(f"There is a thread {thread!r} already; choose another name, or remove that thread.")


def missing_item_error(thread: str, item: str) -> ConflictError:
    """Return the error for pinning an item that is not in the thread."""
    return ConflictError(f"Thread {thread!r} has no item {item!r} to pin; read the thread again.")


def cannot_compact_error(thread: str, item: str) -> ConflictError:
    """Return the error for replacing an item that is pinned or not in the history."""
    return ConflictError(
        f"Thread {thread!r} has moved on: {item!r} is pinned or no longer in its history; read it again and repeat."
    )


def turn_number_conflict(turn: TurnRecord) -> ConflictError:
    """Return the error for a turn number that is in use."""
    return ConflictError(
        f"Thread {turn.thread!r} has moved on: turn {turn.number} was taken by somebody else; read it again and repeat."
    )


def cannot_continue_error(thread: str, turn: str) -> ConflictError:
    """Return the error for continuing a turn that is over."""
    return ConflictError(f"Thread {thread!r} has moved on: turn {turn!r} is not pending; read it again and repeat.")


def turn_id_conflict(turn: TurnRecord) -> ConflictError:
    """Return the error for the id of a turn that exists elsewhere."""
    return ConflictError(f"Turn {turn.id!r} exists with another thread or number; give this one a unique id.")


def answering_key(principal: Principal, thread: str) -> str:
    """Return the name of the lock of a thread in which a model answers."""
    owner = principal.owner
    return f"{owner.kind}\0{owner.name}\0{owner.agent}\0{thread}"


def busy(thread: str) -> ThreadBusyError:
    """Return the error for a thread in which a model is answering."""
    return ThreadBusyError(
        f"A model is answering in thread {thread!r}, in another chat or program; wait until that is done, or use "
        "another thread."
    )
