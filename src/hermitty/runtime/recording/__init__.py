"""Recordings of terminals: asciicasts in bounded files, and playing them."""
