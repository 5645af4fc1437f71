-- Version 5: what a flipped bit on the disk would change goes unnoticed by SQLite; checksums notice it.
-- Rows of earlier versions have none: they are read as they are.

-- Of everything in the row that never changes, its text included.
ALTER TABLE item ADD COLUMN checksum INTEGER;

ALTER TABLE turn ADD COLUMN checksum INTEGER;

-- Of which items are in the history, and which of them are pinned.
ALTER TABLE thread ADD COLUMN history INTEGER;
