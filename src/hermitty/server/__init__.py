"""The server: HTTP, events and attached viewers, in front of one runtime."""
