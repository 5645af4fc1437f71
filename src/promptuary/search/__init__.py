"""The file index as a service: splits files into chunks, follows changes on disk, and answers searches."""
