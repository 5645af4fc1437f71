-- Version 10: experiences: what worked before, and what went wrong.

-- `fingerprint` is the same for experiences that are one; `topic` for preferences that contradict each other, and empty
-- for all else. `base_weight` is the strength at `last_used_at`, `weight` that at `weighed_at`. `tags` and `solution`
-- are JSON.
CREATE TABLE experience (
    number INTEGER PRIMARY KEY,
    owner INTEGER NOT NULL REFERENCES owner (id),
    experience TEXT NOT NULL,
    type TEXT NOT NULL,
    intent TEXT NOT NULL,
    solution TEXT NOT NULL,
    created_at TEXT NOT NULL,
    last_used_at TEXT NOT NULL,
    rev TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    outcome TEXT NOT NULL,
    problem TEXT NOT NULL,
    success_score REAL NOT NULL,
    base_weight REAL NOT NULL,
    weight REAL NOT NULL,
    weighed_at TEXT NOT NULL,
    half_life_days REAL NOT NULL,
    use_count INTEGER NOT NULL,
    confidence REAL NOT NULL,
    tags TEXT NOT NULL,
    thread TEXT NOT NULL,
    turn TEXT NOT NULL,
    trust TEXT NOT NULL,
    topic TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    UNIQUE (owner, experience),
    UNIQUE (owner, fingerprint)
);

CREATE INDEX experience_in_order ON experience (owner, last_used_at DESC, experience);

CREATE INDEX experience_topic ON experience (owner, topic) WHERE topic <> '';
