"""Puts durable memory together: the notes, what a turn has of them, what forgets and what examines."""
