"""Parts of the two facades, `engine` and `blocking`, that stand in modules of their own."""
