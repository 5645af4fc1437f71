"""Detects changes on disk: snapshots to compare, and a watcher that reports which paths to compare."""
