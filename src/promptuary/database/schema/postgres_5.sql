-- The language of the text of a chunk, empty if it does not say. An index that was made before is made anew.
ALTER TABLE index_chunk ADD COLUMN language TEXT NOT NULL DEFAULT '';
