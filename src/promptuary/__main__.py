"""``python -m promptuary`` is ``promptuary``."""

from promptuary.cli.main import run

if __name__ == "__main__":
    run()
