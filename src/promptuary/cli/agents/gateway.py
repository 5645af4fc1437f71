"""``promptuary gateway``: runs the chat bots that the person configured, or checks whether one can run."""

import argparse
import asyncio
import logging
import signal
import sys
from datetime import UTC, datetime
from typing import Any

from promptuary.base import concurrency
from promptuary.base.errors import PromptuaryError
from promptuary.base.text import one_line
from promptuary.cli.common import print_json, print_json_line

DONE, CANNOT_ANSWER = 0, 1


def main(options: argparse.Namespace) -> int:
    """Run gateways until Ctrl-C, or check one."""
    level = logging.DEBUG if options.debug else logging.ERROR if options.quiet else logging.WARNING
    logging.basicConfig(level=level, stream=sys.stderr, format="promptuary: %(message)s")
    for name in ("httpx", "httpcore", "telegram", "discord", "slack_bolt", "slack_sdk"):
        # They log URLs, of which Telegram's contain the token, and tracebacks of requests that are retried.
        logging.getLogger(name).setLevel(logging.CRITICAL)
    names = list(options.words)
    if names[:1] == ["check"]:
        return _check(names[1:], options)
    concurrency.share_heaps()
    return asyncio.run(_run(names, options))


def _event(event: str, **about: object) -> dict[str, Any]:
    return {"event": event, "time": datetime.now(UTC).isoformat(timespec="seconds"), **about}


def _check(names: list[str], options: argparse.Namespace) -> int:
    from promptuary.gateways.running import check_gateway  # noqa: PLC0415  (the rest of the program can do without)

    if len(names) > 1:
        raise PromptuaryError("check takes the name of one gateway")
    check = asyncio.run(check_gateway(names[0] if names else ""))
    if options.json:
        print_json(_event("check", lines=check.lines, can_answer=check.can_answer))
    else:
        print("\n".join(map(one_line, check.lines)))
    return DONE if check.can_answer else CANNOT_ANSWER


async def _run(names: list[str], options: argparse.Namespace) -> int:
    from promptuary.gateways.running import run_gateways  # noqa: PLC0415  (the rest of the program can do without)

    def tell(gateway: str, sentence: str) -> None:
        if options.json:
            print_json_line(_event("state", gateway=gateway, sentence=sentence))
        elif not options.quiet:
            print(f"{gateway}: {one_line(sentence)}", file=sys.stderr, flush=True)

    task = asyncio.ensure_future(run_gateways(names, tell))
    loop = asyncio.get_running_loop()
    for one in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(one, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        if not options.quiet and not options.json:
            print("stopped; what is not answered yet is answered at the next start", file=sys.stderr)
    return DONE
