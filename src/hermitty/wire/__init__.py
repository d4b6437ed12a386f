"""Every format that crosses a process boundary. Pure."""
