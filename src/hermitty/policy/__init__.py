"""May this command run? Pure: parse, judge effects, apply rules."""
