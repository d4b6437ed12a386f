"""The history of commands: who ran what, when, where, and what became of it."""
