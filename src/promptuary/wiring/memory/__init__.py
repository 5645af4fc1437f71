"""Composes durable memory: notes, recall, writeback, forgetting and checks."""
