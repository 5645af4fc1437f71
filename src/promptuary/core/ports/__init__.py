"""What the program needs of storage and models, without knowing how it is done: one module a noun."""
