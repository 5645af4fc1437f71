"""The errors of the package are one tree, and it is drawn as it is."""

import importlib
import pkgutil
import re

import promptuary
from promptuary.base import errors
from promptuary.base.errors import Code, PromptuaryError, SourceError


def subclasses(of: type[Exception]) -> list[type[Exception]]:
    return [one for child in of.__subclasses__() for one in (child, *subclasses(child))]


def drawn() -> dict[str, str]:
    """Return the drawn errors, each with the one that it hangs on."""
    found: dict[str, str] = {}
    above: dict[int, str] = {}
    for line in (errors.__doc__ or "").splitlines():
        if match := re.match(r"    ((?:[│ ] {3})*)(?:[├└]── )?(\w+Error)  ", line):
            depth = len(match[1]) // 4 + ("──" in line)
            above[depth] = match[2]
            found[match[2]] = above[depth - 1] if depth else ""
    return found


def test_every_error_of_the_package_is_defined_and_drawn_in_one_module() -> None:
    for module in pkgutil.walk_packages(promptuary.__path__, "promptuary."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    ours = [one for one in subclasses(PromptuaryError) if one.__module__.startswith("promptuary.")]

    assert {one.__module__ for one in ours} == {errors.__name__}
    assert drawn() == {"PromptuaryError": ""} | {one.__name__: one.__bases__[0].__name__ for one in ours}


def test_a_source_error_has_a_code_and_a_reason() -> None:
    error = SourceError(Code.NOT_FOUND, "there is no a.py")

    assert (error.code, error.reason, error.code.status) == (Code.NOT_FOUND, "there is no a.py", "missing")
    assert str(error) == "NOT_FOUND: there is no a.py"
