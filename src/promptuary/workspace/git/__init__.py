"""Git, started so that nothing of a hostile repository runs, and its patches under the read policy."""
