"""Start a server, wait for its first line, go on, stop it: python examples/background.py"""

import asyncio

import hermitty


async def main() -> None:
    async with hermitty.open() as rt:
        terminal = await rt.open_terminal(shell="bash")
        server = await terminal.start("python3 -u -m http.server 0 --bind 127.0.0.1")
        found = await server.wait_for(r"port (\d+)", timeout_s=30)
        print("serving on port", found[1] if found else "?")
        print((await server.kill()).state)
        print("the terminal is still there:", (await terminal.run("echo yes")).text, end="")


if __name__ == "__main__":
    asyncio.run(main())
