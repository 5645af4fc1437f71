"""Commands about the file index: ``index``, ``search``, ``watch``, and ``model`` for what it embeds with."""
