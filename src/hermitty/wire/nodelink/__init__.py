"""What the gateway of a cluster and the agent of a node say to each other."""
