"""What a reader should see of a command's output. Pure."""
