"""A server, and a program that uses its terminals from outside: python examples/remote.py"""

import asyncio
import os
import sys
import tempfile

import hermitty


async def main() -> None:
    with tempfile.TemporaryDirectory() as state:
        environment = {**os.environ, "HERMITTY_STATE_DIR": state}
        serve = (sys.executable, "-m", "hermitty.cli.main", "serve", "--port", "0")
        server = await asyncio.create_subprocess_exec(*serve, env=environment, stdout=asyncio.subprocess.PIPE)
        assert server.stdout is not None
        try:
            # The first line has the address with its token.
            url = (await server.stdout.readline()).decode().split()[-1]
            async with hermitty.open(url=url) as rt:
                result = await rt.run("echo hello from the server", session="demo", shell="bash")
                print(result.text, end="")
                print([terminal.shell for terminal in rt.terminals(session="demo")])
                await rt.end("demo")
        finally:
            server.terminate()
            await server.wait()


if __name__ == "__main__":
    asyncio.run(main())
