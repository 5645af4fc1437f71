-- Who may do what only one may do at a time. `token` counts up with every holder: what a holder writes after it was
-- overtaken is refused. While a lock file says who holds it, the row only counts.
CREATE TABLE lease (
    tenant INTEGER NOT NULL,
    name TEXT NOT NULL,
    token INTEGER NOT NULL,
    PRIMARY KEY (tenant, name)
) WITHOUT ROWID;
