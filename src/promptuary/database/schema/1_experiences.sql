-- Experiences: what worked before, and what went wrong.

-- `body` is JSON, with everything; the columns before it repeat what experiences are found and ordered by.
-- `fingerprint` is the same for experiences that are one; `topic` for preferences that contradict each other, and empty
-- for all else. `base_weight` is the strength at `last_used_at`. `tags` is JSON.
CREATE TABLE experience (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    experience TEXT NOT NULL,
    type TEXT NOT NULL,
    outcome TEXT NOT NULL,
    tags TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    topic TEXT NOT NULL,
    rev TEXT NOT NULL,
    last_used_at TEXT NOT NULL,
    base_weight DOUBLE PRECISION NOT NULL,
    half_life_days DOUBLE PRECISION NOT NULL,
    body TEXT NOT NULL,
    checksum BIGINT NOT NULL,
    PRIMARY KEY (tenant, owner, experience),
    UNIQUE (tenant, owner, fingerprint)
);

CREATE INDEX experience_in_order ON experience (tenant, owner, last_used_at DESC, experience);

CREATE INDEX experience_topic ON experience (tenant, owner, topic) WHERE topic <> '';
