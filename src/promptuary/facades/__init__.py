"""The parts of the two facades, ``engine`` and ``blocking``."""
