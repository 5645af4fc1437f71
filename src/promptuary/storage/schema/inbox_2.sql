-- When a part was first sent, and whether it was sent again without knowing whether it had arrived.
ALTER TABLE sent ADD COLUMN since TEXT NOT NULL DEFAULT '';
ALTER TABLE sent ADD COLUMN repeated INTEGER NOT NULL DEFAULT 0;
