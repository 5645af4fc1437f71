"""Embedders and rerankers that call a service, and the keys of services."""
