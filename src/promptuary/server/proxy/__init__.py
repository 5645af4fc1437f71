"""Requests of chat clients on their way to a model service, with what is known here added."""
