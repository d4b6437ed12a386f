"""Terminals that understand the commands they run."""
