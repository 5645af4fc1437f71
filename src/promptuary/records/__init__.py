"""Search of records that are not files: a separate index of one principal's records, updated in the background."""
