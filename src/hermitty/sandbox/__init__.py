"""Confining a terminal's programs: what is asked for, how it is done here, and what is really enforced."""
