"""Values as lines, tables and JSON, for the surfaces. A module a noun: a command loads those of its own values."""
