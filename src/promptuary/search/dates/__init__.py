"""Dates as people write them; what a question says about time: days, an order, an event."""
