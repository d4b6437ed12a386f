"""A program asks, somebody answers: python examples/dialogue.py"""

import asyncio

import hermitty

QUESTION = "read -p 'Delete everything? [y/N] ' answer; echo \"you said $answer\""


async def main() -> None:
    async with hermitty.open() as rt:
        # Without answers, the question is told, not guessed at.
        terminal = await rt.open_terminal(shell="bash")
        command = await terminal.start(QUESTION)
        result = await command.wait(timeout_s=10)
        print(result.state, result.needs_input)
        command.write("n\r")
        print((await command.wait()).text)

        # With answers, each is given once, and the exit code is the real one.
        result = await rt.run(QUESTION, shell="bash", answers=[hermitty.Answer(r"\[y/N\]", "y")])
        print(result.state, result.exit_code, result.text.splitlines()[-1])


if __name__ == "__main__":
    asyncio.run(main())
