"""The Model Context Protocol: terminals as tools and resources, for both eras of the protocol.

terminals   what the tools need from whoever owns terminals; values only
local       the same over a runtime of this process
flights     commands on their way: calls that wait, and commands that calls left behind
texts       what a model reads
schemas     what a program reads
tools       the tools: names, descriptions, arguments, annotations
approvals   questions about commands, answered in a form of the client
rights      what whoever calls may do
resources   terminals as resources, and who is told that they changed
server      all of it on one MCP server
stdio, app, bridge, http    the ways to it
"""
