-- The feed of changes, for caches and pages that follow them. Old rows are dropped: who is further behind reads anew. The last
-- one stays, so `seq` counts on.
CREATE TABLE change (
    tenant INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    noun TEXT NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (tenant, seq)
) WITHOUT ROWID;
