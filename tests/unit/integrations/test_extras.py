"""Without its framework, an adapter says which extra it needs."""

import subprocess
import sys

import pytest

from promptuary.base.errors import how_to_install

PROGRAM = """
import sys
sys.modules[{package!r}] = None
try:
    import promptuary.integrations.{module}
except ImportError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("pydantic_ai", "pydantic_ai", "pydantic-ai"),
        ("openai_agents", "agents", "openai-agents"),
        ("langchain", "langchain", "langchain"),
        ("langgraph_store", "langgraph", "langchain"),
        ("anthropic_memory", "anthropic", "anthropic"),
    ],
)
def test_an_adapter_names_the_extra_that_it_needs(module: str, package: str, extra: str) -> None:
    program = PROGRAM.format(module=module, package=package)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.startswith(f"This needs the extra {extra}: ")
    assert how_to_install(extra) in done.stdout
