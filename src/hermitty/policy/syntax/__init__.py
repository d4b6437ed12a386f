"""The tree of a command line, whatever shell it is for.

Every node has `start` and `end`, offsets into the line. Nodes are values; nothing here knows how they were read.
"""
