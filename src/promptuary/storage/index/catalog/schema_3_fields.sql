-- Version 3: what a chunk has besides its heading and its text: own words, names of its note, a date.

-- NULL: all of the text is the person's own.
ALTER TABLE chunk ADD COLUMN own TEXT DEFAULT '';

ALTER TABLE chunk ADD COLUMN names TEXT NOT NULL DEFAULT '[]';

-- NULL: the date of the file.
ALTER TABLE chunk ADD COLUMN date INTEGER;
