"""What is stored, as a whole: backup, restore, purge, adoption, examination."""
