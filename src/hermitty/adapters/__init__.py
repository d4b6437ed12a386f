"""Doors for other programs' protocols and frameworks. Each is an extra, and nothing here is imported by the rest."""
