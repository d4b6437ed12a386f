"""Who owns the PTYs: one protocol, several owners."""
