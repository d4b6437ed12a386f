"""The soak: mixed load against a real server with a durable host, for minutes, and what is wrong afterwards."""
