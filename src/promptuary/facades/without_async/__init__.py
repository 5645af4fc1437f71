"""The parts of ``blocking.Promptuary``, the nouns of ``with_async`` again, and what a call without async is."""
