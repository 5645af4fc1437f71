"""How well search finds what it should, on public sets: see ``bench.retrieval.__main__``."""
