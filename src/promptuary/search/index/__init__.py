"""The index on disk: a catalogue (SQLite), full text (tantivy), vectors (turbovec). It can be rebuilt from files."""
