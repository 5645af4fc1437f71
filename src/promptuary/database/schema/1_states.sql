-- The states of layers, of an owner or of everybody. Not in `content`: a state changes at every turn, and its past is of
-- no use.
CREATE TABLE state (
    tenant INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    layer TEXT NOT NULL,
    scope TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    packed INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (tenant, owner, layer, scope, name)
);
