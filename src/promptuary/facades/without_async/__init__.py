"""The parts of ``blocking.Promptuary``: the same nouns as ``with_async``, and how calls run without ``async``."""
