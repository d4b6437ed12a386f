"""What each shell needs and says. Pure: plans and parsers, nothing that waits."""
