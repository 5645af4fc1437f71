"""Starts the program many times from one process that has imported it: a start costs a fork instead of its imports.

Run as a program in the workspace, with a socket as its only argument. Each request is a line of JSON with the arguments
and the changed environment, and carries the three standard streams; the answer is the exit code.
"""

import gc
import importlib
import json
import os
import pkgutil
import runpy
import socket
import sys

_HEAVY = ("promptuary.testing", "promptuary.integrations", "promptuary.gateways", "promptuary.chat.")


def import_everything() -> None:
    """Import what the program may need, whatever its modules are called."""
    import promptuary

    def import_below(path: list[str], prefix: str) -> None:
        for found in pkgutil.iter_modules(path, prefix):
            if found.name.startswith(_HEAVY) or found.name.endswith("__main__"):
                continue
            try:
                module = importlib.import_module(found.name)
            except ImportError:
                continue
            if found.ispkg:
                import_below(list(module.__path__), f"{found.name}.")

    import_below(list(promptuary.__path__), "promptuary.")


def serve(listener: socket.socket) -> dict[str, object] | None:
    """Answer requests until there are no more; in the child that is to be the program, return the request."""
    while True:
        data, streams, _, _ = socket.recv_fds(listener, 1 << 20, 3)
        if not data:
            return None
        request: dict[str, object] = json.loads(data)
        child = os.fork()
        if not child:
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
                os.close(stream)
            listener.close()
            return request
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(child, 0)
        listener.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def main() -> None:
    listener = socket.socket(fileno=int(sys.argv[1]))
    import_everything()
    gc.freeze()
    listener.sendall(b"ready\n")
    request = serve(listener)
    if request is not None:
        os.environ.update(request["changed"])  # type: ignore[call-overload]
        sys.argv = ["promptuary", *request["arguments"]]  # type: ignore[misc]
        runpy.run_module("promptuary", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
