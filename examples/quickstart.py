"""Run a command, keep the shell, read the facts: python examples/quickstart.py"""

import asyncio

import hermitty


async def main() -> None:
    async with hermitty.open() as rt:
        terminal = await rt.open_terminal(shell="bash")
        await terminal.run("cd /tmp && export GREETING=hello")

        result = await terminal.run('echo "$GREETING from $PWD"; false')
        print(result.text, end="")
        print("exit code", result.exit_code, "in", result.cwd, "after", f"{result.duration_s * 1000:.1f} ms")


if __name__ == "__main__":
    asyncio.run(main())
