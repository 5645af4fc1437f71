"""Commands about stored data: backup, restore, purge and doctor."""
