"""Blocking work for an event loop, in a thread that never keeps the program from ending.

The standard executor's threads are waited for at exit: after Ctrl-C a slow server or disk would hold the program up.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

Result = TypeVar("Result")


async def run(function: Callable[[], Result]) -> Result:
    """Return what ``function`` returns, or raise what it raises, without blocking the loop."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def tell(result: Result | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def work() -> None:
        try:
            told: tuple[Result | None, BaseException | None] = (function(), None)
        except BaseException as error:  # noqa: BLE001  (carried over to whoever waits)
            told = (None, error)
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(tell, *told)

    threading.Thread(target=work, name="promptuary-background", daemon=True).start()
    return await future
