"""The layers of the window: one module per layer, and the runner that calls their hooks."""
