"""The Agent Client Protocol: terminals for agents that ask their client for them, and a client that runs agents.

plain_stream, tail     output as text that only grows, and the end of it within a limit
terminals              the five methods `terminal/*` over a runtime: put `AcpTerminals` into any client
frames, connection     messages within bounds, over a connection that an agent cannot trip up
strict, faults         what is refused before anything is done, and how errors are told
agent_process          the process of an agent, and its end
updates, displays      what an agent tells, as a state
permissions, files     what an agent asks for, judged by our policy
audience               what is offered to agents, and who hears of them
client                 all of it: `running_agent`
reporting              the other side: for those who write agents
"""
