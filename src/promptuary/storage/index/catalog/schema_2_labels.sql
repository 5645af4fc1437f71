-- Version 2: columns are called what they are called everywhere else.

ALTER TABLE folder RENAME COLUMN owner TO label;

ALTER TABLE chunk RENAME COLUMN first TO start_line;

ALTER TABLE chunk RENAME COLUMN last TO end_line;

ALTER TABLE chunk RENAME COLUMN trail TO heading;
