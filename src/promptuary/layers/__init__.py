"""What stands in the window, turn after turn: one module per layer, and the runner that calls their hooks."""
