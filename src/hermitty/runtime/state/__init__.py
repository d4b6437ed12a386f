"""What outlives a server, in small: facts in the SQLite file of the state directory."""
