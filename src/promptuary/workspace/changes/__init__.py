"""What is different on disk: snapshots, and a watcher that says where to look."""
