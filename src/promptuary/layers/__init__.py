"""What stands in the window: one module a layer, and the runner that calls their hooks."""
