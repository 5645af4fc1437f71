"""A host of models on loopback: repositories with a tiny model, listed and served as the public host does."""

import hashlib
import json
from collections.abc import Mapping, Sequence

from promptuary.testing.loopback import Loopback, Route, Step, answer, redirect
from tests.onnx_models import embedder_weights, tokenizer_json

COMMIT = "0123456789abcdef0123456789abcdef01234567"

FILES: Mapping[str, bytes] = {
    "onnx/model.onnx": b"the large weights, which nobody needs",
    "onnx/model_quantized.onnx": embedder_weights(),
    "tokenizer.json": tokenizer_json().encode(),
    "config.json": b'{"hidden_size": 3}',
    "promptuary.json": b'{"pooling": "last"}',
    "README.md": b"# A model\n",
}


def publish(
    server: Loopback, repository: str, files: Mapping[str, bytes] = FILES, *, commit: str = COMMIT, tag: str = "main"
) -> None:
    """Serve a repository: large files by a redirect to another path, as from a content network, and in ranges."""
    rows = [row(name, content) for name, content in files.items()]
    listing = json.dumps({"sha": commit, "siblings": rows})
    for revision in (tag, commit):
        server.routes[f"/api/models/{repository}/revision/{revision}"] = answer(listing, "application/json")
    for name, content in files.items():
        place = f"/{repository}/resolve/{commit}/{name}"
        server.routes[place] = redirect(f"/cdn{place}")
        server.routes[f"/cdn{place}"] = _ranges(server, content)


def row(name: str, content: bytes) -> dict[str, object]:
    """Return the line of a listing: git's own name for a small file, the sha256 of a large one."""
    found: dict[str, object] = {"rfilename": name, "size": len(content)}
    if name.endswith(".onnx"):
        return {**found, "blobId": "f" * 40, "lfs": {"sha256": hashlib.sha256(content).hexdigest()}}
    blob = hashlib.sha1(f"blob {len(content)}\0".encode() + content, usedforsecurity=False).hexdigest()
    return {**found, "blobId": blob}


def asked(server: Loopback) -> list[str]:
    """Return the paths that were asked for."""
    return [request.split(" ")[1] for request in server.requests]


def _ranges(server: Loopback, content: bytes) -> Route:
    def steps() -> Sequence[Step]:
        wanted = next((line for line in server.requests[-1].split("\r\n") if line.startswith("Range: ")), "")
        start = int(wanted.removeprefix("Range: bytes=").removesuffix("-") or 0)
        headers = {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"}
        return [answer(content[start:], "", status=206 if start else 200, headers=headers if start else None)]

    return steps
