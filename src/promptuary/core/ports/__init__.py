"""The interfaces that storage and models implement: one module per noun."""
