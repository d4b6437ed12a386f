"""The use cases; the one door for everything above."""
