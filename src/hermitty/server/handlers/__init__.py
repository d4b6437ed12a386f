"""What the routes do: one module for each kind of thing. A handler gets a checked call and returns its answer."""
