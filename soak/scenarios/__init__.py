"""What workers do, one thing a coroutine. Each leaves the server as it found it."""
