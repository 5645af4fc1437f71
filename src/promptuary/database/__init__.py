"""The one port to a database, at the bottom: five verbs, named queries, the ledger of schema steps, and a driver."""
