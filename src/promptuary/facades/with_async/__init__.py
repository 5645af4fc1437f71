"""The parts of ``engine.Promptuary``: a noun each. What blocks runs in a thread."""
