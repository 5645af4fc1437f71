"""Completion: what the ``@`` and ``#`` menus offer for the word that is being typed."""
