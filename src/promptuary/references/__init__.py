"""References in messages: found by ``scan``, fetched by ``resolve`` and ``kinds``, fitted into blocks by ``expand``."""
