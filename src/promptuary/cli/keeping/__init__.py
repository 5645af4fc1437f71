"""All that is kept: backup, restore, purge."""
