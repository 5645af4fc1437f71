"""Models: chat models, embedders and rerankers, all optional."""
