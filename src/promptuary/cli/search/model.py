"""``promptuary model``: lists, installs, tries, verifies and removes models for search."""

import argparse
import shlex
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import to_builtins

from promptuary.base.errors import PromptuaryError
from promptuary.base.table import Column
from promptuary.base.text import human_size, one_line
from promptuary.blocking import Promptuary
from promptuary.cli.common import open_workspace, print_json
from promptuary.cli.interruptible import StoppedError, run_interruptibly
from promptuary.cli.progress import ProgressLine, duration
from promptuary.cli.terminal import headed_table
from promptuary.models.named.catalogue import MINILM_SECONDS
from promptuary.models.protocols import FetchProgress, ModelInfo
from promptuary.search.trial.compare import ModelTrial

DONE, NOT_ALL = 0, 1
_KILOBYTE = 1000


def main(options: argparse.Namespace) -> int:
    """List, fetch, show or remove models."""
    if (options.action == "list") != (options.name is None):
        needs = "takes no name" if options.action == "list" else "needs a name: promptuary model list shows them"
        raise PromptuaryError(f"model {options.action} {needs}")
    for given, flag, action in (
        (options.catalogue, "--catalogue", "list"),
        (options.source, "--from", "add"),
        (options.as_reranker, "--as-reranker", "try"),
    ):
        if given and options.action != action:
            raise PromptuaryError(f"{flag} goes with promptuary model {action}")
    with open_workspace(options) as promptuary:
        match options.action:
            case "list":
                return _list(promptuary, options)
            case "add":
                return _add(promptuary, options)
            case "try":
                return _try(promptuary, options)
            case "remove":
                return _remove(promptuary, options)
        return _show(promptuary, options)


def _model_json(model: ModelInfo) -> dict[str, Any]:
    """Return the JSON object of a model, with its files if they were asked for."""
    return {**to_builtins(model), "files": [file._asdict() for file in model.files]}


def _list(promptuary: Promptuary, options: argparse.Namespace) -> int:
    models = promptuary.models.list()
    if options.json:
        print_json({"models": [_model_json(model) for model in models]})
        return DONE
    if options.catalogue:
        return _catalogue(models, quiet=options.quiet)
    rows = [
        (
            model.name,
            model.kind or "any",
            model.languages,
            model.licence,
            human_size(model.size) if model.installed else "",
            "" if not model.revision else model.revision[:12],
        )
        for model in models
    ]
    columns = [Column(name) for name in ("model", "kind", "languages", "licence", "fetched", "revision")]
    print(headed_table(columns, rows, sys.stdout))
    return DONE


def _catalogue(models: Sequence[ModelInfo], *, quiet: bool) -> int:
    """Print what is known of each model, and what was measured."""
    kinds = list(dict.fromkeys(kind for model in models for kind in model.gains))
    rows = [
        (
            model.name,
            model.kind or "any",
            model.languages,
            model.licence,
            f"{model.millions} M" if model.millions else "",
            str(model.dimensions or ""),
            model.package or model.repository,
            *(f"{model.gains[kind]:+.3f}" if kind in model.gains else "" for kind in kinds),
            f"{model.seconds:.2g} s" if model.seconds else "not measured",
        )
        for model in models
    ]
    right = {"size", "numbers", *kinds, "1,000 chunks"}
    named = ("model", "kind", "languages", "licence", "size", "numbers", "from", *kinds, "1,000 chunks")
    print(headed_table([Column(name, right=name in right) for name in named], rows, sys.stdout))
    if not quiet:
        print(
            f"{', '.join(kinds)}: nDCG@10 of the whole search, beside minilm. 1,000 chunks: seconds of one core to "
            f"embed them (minilm: {MINILM_SECONDS:.0f} s). promptuary model try NAME measures one on your own files",
            file=sys.stderr,
        )
    return DONE


def _add(promptuary: Promptuary, options: argparse.Namespace) -> int:
    source = Path(options.source).expanduser().absolute() if options.source else None
    with ProgressLine(sys.stderr, "kB", shown=not options.quiet) as line:
        try:
            line.say("looking for the model")
            model = run_interruptibly(
                lambda stop: promptuary.models.add(options.name, _until(stop, line), source=source)
            )
        except KeyboardInterrupt:
            line.close()
            if not options.quiet:
                print(f"stopped: promptuary model add {one_line(options.name)} continues from here", file=sys.stderr)
            raise
    if options.json:
        print_json(_model_json(model))
        return DONE
    at = f" at {model.revision[:12]}" if model.revision else ""
    print(f"{model.name}: {human_size(model.size)} from {one_line(model.repository)}{at}")
    kinds = ("embedder", "reranker") if not model.kind else (model.kind,)
    print("use it with " + " or ".join(f'{kind} = "{model.name}"' for kind in kinds) + " in your configuration")
    return DONE


def _until(stop: threading.Event, line: ProgressLine) -> FetchProgress:
    show = _counting(stop, line)
    return lambda done, total: show(done // _KILOBYTE, -(-total // _KILOBYTE))


def _try(promptuary: Promptuary, options: argparse.Namespace) -> int:
    with ProgressLine(sys.stderr, "steps", shown=not options.quiet) as line:
        line.say("reading the indexed files")
        kind: Literal["reranker"] | None = "reranker" if options.as_reranker else None
        trial = run_interruptibly(
            lambda stop: promptuary.models.compare(options.name, _counting(stop, line), kind=kind)
        )
    if options.json:
        print_json({**to_builtins(trial), "switch": _switch(trial)})
        return DONE
    rows = [
        (name, f"{one.mrr:.3f}", f"{one.in_five:.0%}")
        for name, one in (
            ("words alone", trial.words),
            ("as it is now" if trial.beside else "as it is now (words alone)", trial.present),
            (f"with {one_line(trial.model)}", trial.candidate),
        )
    ]
    columns = [Column("search"), Column("MRR", right=True), Column("among the first five", right=True)]
    print(headed_table(columns, rows, sys.stdout))
    print()
    print("\n".join(_told(trial)))
    return DONE


def _told(trial: ModelTrial) -> list[str]:
    """Return what a trial says, and how to switch."""
    made = ", ".join(f"{count} from {kind}s" for kind, count in trial.questions.items())
    gain = trial.gain
    verdict = "better" if gain.is_sure else "worse" if gain.is_loss else "no sure difference"
    cost = (
        f"embedding all {trial.chunks:,} chunks would take about {duration(trial.seconds)}"
        if trial.kind == "embedder"
        else f"a question would take about {duration(trial.seconds)} longer"
    )
    return [
        f"{sum(trial.questions.values())} questions ({made}) about {trial.passages:,} passages without them",
        f"{verdict}: MRR {gain.mean:+.3f}, 95 % between {gain.low:+.3f} and {gain.high:+.3f}",
        cost,
        f"to switch: {_switch(trial)}",
    ]


def _switch(trial: ModelTrial) -> str:
    """Return the command that uses the model from now on."""
    index = " && promptuary index" if trial.kind == "embedder" else ""
    return f"promptuary config set {trial.kind} {shlex.quote(trial.model)}{index}"


def _counting(stop: threading.Event, line: ProgressLine) -> FetchProgress:
    def show(done: int, total: int) -> None:
        if stop.is_set():
            raise StoppedError
        line(done, total)

    return show


def _remove(promptuary: Promptuary, options: argparse.Namespace) -> int:
    removed = promptuary.models.remove(options.name)
    if options.json:
        print_json(_model_json(promptuary.models.show(options.name)))
    elif removed:
        print(f"removed {one_line(options.name)}; its revision stays pinned for the next promptuary model add")
    if not removed:
        print(f"promptuary: {one_line(options.name)} is not fetched", file=sys.stderr)
    return DONE if removed else NOT_ALL


def _show(promptuary: Promptuary, options: argparse.Namespace) -> int:
    model = promptuary.models.show(options.name)
    whole = all(file.state == "whole" for file in model.files)
    if options.json:
        print_json(_model_json(model))
    else:
        print("\n".join(_described(model)))
        if model.files:
            rows = [(file.path, f"{file.size:,}", file.sha256[:16], file.state) for file in model.files]
            print()
            columns = (Column("file"), Column("bytes", right=True), Column("sha256"), Column("state"))
            print(headed_table(columns, rows, sys.stdout))
    return DONE if model.installed and whole else NOT_ALL


def _described(model: ModelInfo) -> list[str]:
    facts = {
        "model": model.name,
        "kind": model.kind or "any",
        "repository": model.repository,
        "revision": model.revision or ("" if model.installed else "not fetched yet"),
        "languages": model.languages,
        "licence": model.licence,
        "package": model.package,
        "folder": model.folder if model.installed else "not fetched",
    }
    return [f"{name}: {one_line(value)}" for name, value in facts.items() if value]
