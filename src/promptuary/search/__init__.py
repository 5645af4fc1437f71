"""The file index as a service: folders are cut into chunks, kept in step with the disk, and searched."""
