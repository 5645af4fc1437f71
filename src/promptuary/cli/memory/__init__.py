"""Commands about durable memory: ``memory`` with its actions, and ``remember``."""
