"""The parts of ``engine.Promptuary``, one per noun. Blocking work runs in threads."""
