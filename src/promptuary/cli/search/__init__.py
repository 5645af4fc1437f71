"""Commands about the file index: ``index``, ``search``, ``watch``, and ``model`` for its embedding models."""
