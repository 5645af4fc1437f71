"""Commands about threads: ``thread``, ``context``, ``adopt``, and ``expand`` in a thread."""
