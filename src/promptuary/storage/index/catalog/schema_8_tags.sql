-- Version 8: the tags of files, each between two line feeds.

ALTER TABLE file ADD COLUMN tags TEXT NOT NULL DEFAULT '';
