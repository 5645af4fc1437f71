"""Assembles the prompt of a turn: shares the budget, orders the parts, renders them, makes the receipt."""
