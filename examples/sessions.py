"""Two tasks share a runtime: terminals are reused, long output is searched, and a report tells what is new."""

import asyncio
import tempfile

import hermitty


async def main() -> None:
    with tempfile.TemporaryDirectory() as project:
        async with hermitty.open() as rt:
            await rt.run("mkdir -p src/pkg && cd src", session="fix", cwd=project)
            where = await rt.run("pwd", session="fix")  # goes on where the session is
            print("the session is in", where.text.strip())

            await rt.run("touch pkg/new.py", session="fix", cwd=f"{project}/src")
            print(len(rt.terminals()), "terminal so far")

            long = await rt.run("seq 1 100000", session="fix")
            assert long.artifact is not None
            found = await rt.search_artifact(long.artifact, "^9999[0-9]$")
            print(f"{long.total_bytes} bytes are on disk;", len(found.matches), "lines match")

            await rt.run("echo listening; sleep 1000", session="serve", cwd=project, wait_s=0.2)
            await rt.run("echo done", session="serve", cwd=project)
            print(await rt.report("serve", reader="a second reader"))
            await rt.end("serve")


asyncio.run(main())
