"""What terminal bytes mean. Pure: fed bytes, returns values; no clock, no descriptor, no event loop."""
