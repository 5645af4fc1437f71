"""Embeddings and rerankers of a service, and the keys that services want."""
