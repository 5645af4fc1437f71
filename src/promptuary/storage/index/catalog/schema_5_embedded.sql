-- Version 5: chunks may be embedded in any order.

-- Chunks above `embedded` in meta that need no vector any more; all chunks up to that number need none.
CREATE TABLE embedded (
    chunk INTEGER PRIMARY KEY
);

-- `vectors` in meta: whether any chunk was given a vector. Until now each up to `embedded` was.
INSERT INTO meta (name, value) SELECT 'vectors', value FROM meta WHERE name = 'embedded';
