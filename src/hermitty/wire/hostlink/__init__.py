"""What a durable host and its users say to each other over a local socket: messages, and their form as bytes."""
