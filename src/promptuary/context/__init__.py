"""Assembles the prompt of a turn: allocates the budget, orders the parts, renders them, and writes the receipt."""
