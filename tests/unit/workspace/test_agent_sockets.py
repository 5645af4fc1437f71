"""Ports on loopback for servers of ours."""

import asyncio
import socket

import pytest

from promptuary.workspace.programs.agents.sockets import listening_port


def test_an_event_loop_answers_at_once_on_a_port_of_ours() -> None:
    async def is_prompt() -> bool:
        found: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        def met(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            one = writer.get_extra_info("socket")
            found.set_result(bool(one.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))
            writer.close()

        listening = listening_port(0)
        async with await asyncio.start_server(met, sock=listening):
            _, writer = await asyncio.open_connection(*listening.getsockname())
            prompt = await found
            writer.close()
            await writer.wait_closed()
        return prompt

    assert asyncio.run(is_prompt())


def test_a_port_that_is_taken_is_an_error() -> None:
    with listening_port(0) as one, pytest.raises(OSError, match="in use"):
        listening_port(one.getsockname()[1])
