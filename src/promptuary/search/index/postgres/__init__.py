"""The index in the tables of PostgreSQL, for servers that keep nothing on their disks (`index = "database"`)."""
