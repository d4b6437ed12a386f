"""The only code that forks, ioctls and waits for processes."""
