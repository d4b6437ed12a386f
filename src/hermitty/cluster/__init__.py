"""Several machines as one host: an agent on each, placement by an engine that exists, bytes by direct connection."""
