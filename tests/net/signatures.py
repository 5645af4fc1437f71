"""Every public name with its signature, fields and words; run as a program. Prints lines as ``library`` does.

What a class is made with (a dataclass, a struct) does not show: only what a user may pass, read and call.
"""

import ast
import enum
import inspect
import json
import re
from collections.abc import Iterator
from functools import cached_property
from types import FunctionType
from typing import Any, get_type_hints

import promptuary
from promptuary import blocking, engine

_NOT_OURS = ("object", "Generic", "Protocol", "Struct")


def spelled(annotation: object) -> str:
    """Return an annotation without modules and quotes."""
    if annotation is inspect.Parameter.empty:
        return ""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = re.sub(r"ForwardRef\('([^']*)'[^)]*\)", r"\1", text)
    text = re.sub(r"<class '([^']*)'>", r"\1", text)
    text = re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Za-z_])", "", text)
    try:
        return ast.unparse(_Plain().visit(ast.parse(text, mode="eval")))
    except SyntaxError:
        return text


class _Plain(ast.NodeTransformer):
    """Takes quotes off names, but leaves the words of ``Literal`` alone."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id == "Literal":
            return node
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return self.visit(ast.parse(node.value, mode="eval").body) if isinstance(node.value, str) else node


def default(value: object) -> str:
    """Return a default value; what is made anew for each object is shown as such."""
    text = repr(value)
    if "factory" in text or text.startswith("<"):
        return "..."
    return "..." if value in ((), [], {}) and not isinstance(value, str | int) else text


def signature(call: Any, *, method: bool = False) -> str:
    """Return the parameters of a call, one text for each."""
    if hasattr(call, "__struct_fields__") and "__init__" not in vars(call):
        return _struct_signature(call)
    try:
        found = inspect.signature(call)
    except (TypeError, ValueError):
        return "(?)"
    parameters = list(found.parameters.values())
    if method and parameters and parameters[0].name in {"self", "cls"}:
        parameters = parameters[1:]
    shown: list[str] = []
    star = False
    for one in parameters:
        if one.kind is one.KEYWORD_ONLY and not star:
            shown.append("*")
            star = True
        star = star or one.kind is one.VAR_POSITIONAL
        prefix = "*" if one.kind is one.VAR_POSITIONAL else "**" if one.kind is one.VAR_KEYWORD else ""
        text = f"{prefix}{one.name}"
        text += f": {spelled(one.annotation)}" if one.annotation is not one.empty else ""
        shown.append(text + (f" = {default(one.default)}" if one.default is not one.empty else ""))
    back = spelled(found.return_annotation) if found.return_annotation is not found.empty else ""
    return f"({', '.join(shown)})" + (f" -> {back}" if back and not isinstance(call, type) else "")


def _struct_signature(kind: Any) -> str:
    """Return how a struct is made. Its own signature would evaluate names that only type checkers import."""
    hints, defaults = fields(kind), kind.__struct_defaults__
    shown = [f"{name}: {hints.get(name, '?')}" for name in kind.__struct_fields__]
    for place, value in enumerate(defaults, len(shown) - len(defaults)):
        shown[place] += "" if "NODEFAULT" in repr(value) else f" = {default(value)}"
    positional = len(kind.__match_args__)
    return f"({', '.join(shown if positional == len(shown) else [*shown[:positional], '*', *shown[positional:]])})"


def words(thing: Any) -> str:
    """Return a docstring, unless it was made by a machine or inherited."""
    found = thing.__dict__.get("__doc__") if isinstance(thing, type) else getattr(thing, "__doc__", None)
    text = inspect.cleandoc(found) if isinstance(found, str) else ""
    name = getattr(thing, "__name__", "")
    return "" if text.startswith(f"{name}(") else text


def fields(kind: type) -> dict[str, str]:
    """Return the annotated names of a class and of those that it is made of."""
    found: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        if one.__module__.startswith("promptuary"):
            for name, annotation in inspect.get_annotations(one).items():
                if not name.startswith("_") and not spelled(annotation).startswith("ClassVar"):
                    found[name] = spelled(annotation)
    return found


def described(name: str, thing: Any) -> Iterator[str]:
    """Yield the lines about a public name."""
    if not isinstance(thing, type):
        if isinstance(thing, FunctionType):
            yield f"def {name}{signature(thing)}"
            yield words(thing)
        else:
            yield f"{name} = {spelled(thing) if not isinstance(thing, str) else 'text'}"
        return
    bases = [
        one.__name__
        for one in thing.__mro__[1:]
        if one.__module__.startswith("promptuary") or issubclass(one, BaseException)
    ]
    yield f"class {name}({', '.join(one for one in bases if one not in _NOT_OURS)})"
    yield words(thing)
    if issubclass(thing, enum.Enum):
        yield from (f"  {one.name} = {one.value!r}" for one in thing)
        return
    own = fields(thing)
    if not issubclass(thing, dict) and not getattr(thing, "_is_protocol", False):
        made = signature(thing)
        # What ``open`` makes is not made by users.
        if not made.startswith(("(core: ", "(app: ")):
            yield f"  {name}{made}"
    yield from (f"  field {field}: {annotation}" for field, annotation in own.items())
    for member in sorted(dir(thing)):
        if member.startswith("_") or (member in own and not _is_method(thing, member)):
            continue
        yield from _member(thing, member)


def _is_method(kind: type, name: str) -> bool:
    return isinstance(inspect.getattr_static(kind, name), FunctionType | property | classmethod | staticmethod)


def _member(kind: type, name: str) -> Iterator[str]:
    found = inspect.getattr_static(kind, name)
    if isinstance(found, property | cached_property):
        call = found.fget if isinstance(found, property) else found.func
        hint = inspect.signature(call).return_annotation if call else ""
        yield f"  property {name}: {spelled(hint)}"
    elif isinstance(found, classmethod | staticmethod):
        yield f"  {type(found).__name__} {name}{signature(found.__func__, method=isinstance(found, classmethod))}"
    elif isinstance(found, FunctionType):
        prefix = "async def" if inspect.iscoroutinefunction(found) else "def"
        yield f"  {prefix} {name}{signature(found, method=True)}"
    else:
        return
    if said := words(found):
        yield "    " + said.replace("\n", "\n    ")


def _parts(opened: type) -> Iterator[tuple[str, type]]:
    """Yield the classes behind ``threads``, ``memory`` and so on of an interface, found by what it is opened with."""
    instance: Any = opened.open(".")  # type: ignore[attr-defined]
    for name in ("threads", "search", "memory", "experiences", "sessions", "models"):
        yield name, type(getattr(instance, name))


def main() -> None:
    for name in sorted(promptuary.__all__):
        _print(name, "\n".join(described(name, getattr(promptuary, name))))
    _print("all-names", "\n".join(sorted(promptuary.__all__)))
    for module in (engine, blocking):
        short = module.__name__.rpartition(".")[2]
        _print(f"{short}-Promptuary", "\n".join(described("Promptuary", module.Promptuary)))
        for name, kind in _parts(module.Promptuary):
            _print(f"{short}-{name}", "\n".join(described(kind.__name__, kind)))
    options = get_type_hints(promptuary.SettingsOptions)
    _print("settings-options", "\n".join(f"{name}: {spelled(one)}" for name, one in sorted(options.items())))


def _print(name: str, text: str) -> None:
    print(json.dumps([name, text + "\n"]))


if __name__ == "__main__":
    main()
