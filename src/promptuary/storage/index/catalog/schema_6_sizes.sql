-- Version 6: how many chunks and conversations a file has, so that a search need not count them.

ALTER TABLE file ADD COLUMN chunks INTEGER NOT NULL DEFAULT 0;

ALTER TABLE file ADD COLUMN conversations INTEGER NOT NULL DEFAULT 0;

UPDATE file SET
    chunks = (SELECT count(*) FROM chunk WHERE chunk.file = file.id),
    conversations = (SELECT count(*) FROM chunk WHERE chunk.file = file.id AND own IS NOT '');
