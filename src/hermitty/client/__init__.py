"""The client of a server: the same runtime, terminals and commands, whose real ones live in another process."""
