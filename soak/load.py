"""The soak itself: workers with dice, somebody who kills servers, somebody who looks at memory, and a quiet end."""

import asyncio
import contextlib
import itertools
import time
import traceback
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

import hermitty
from hermitty.client.runtime import RemoteRuntime
from hermitty.errors import HermittyError, SandboxUnavailable, ServerUnavailable
from soak import census
from soak.judge import Held, Remains, Sample, Series, series_of
from soak.ledger import Ledger
from soak.plan import Plan
from soak.scenarios.table import SCENARIOS, Scenario, choose
from soak.scripts import write_scripts
from soak.server import TOKEN, Server
from soak.world import PLACES, Booked, Hand

# A client that finds no server tries for so long; servers are away for seconds.
_RETRY_S = 240.0
# A client comes and goes.
_SCENARIOS_PER_CLIENT = 8
_QUIET_S = 90.0
_LOOK_S = 0.1


@dataclass(frozen=True, slots=True)
class Looked:
    """What a server was seen to have at a moment, and how many commands had ended in it."""

    memory: census.Memory
    commands: int


@dataclass(slots=True)
class Soaked:
    """What a soak has found. Memory is in bytes, a series for each process."""

    start: Held
    ledger: Ledger
    end: Held | None = None
    remains: Remains = field(default_factory=Remains)
    server_memory: dict[int, list[Looked]] = field(default_factory=dict)
    host_memory: list[census.Memory] = field(default_factory=list)
    kills: int = 0
    longest_outage_s: float = 0.0

    def series(self, known_commands: int) -> dict[str, Series]:
        """Return what is judged: memory without files, of the host and of the server that lived longest."""
        longest = max(self.server_memory.values(), key=len, default=[])
        samples = [Sample(each.memory.anonymous, each.commands) for each in longest]
        return {
            "server_memory": series_of(samples, known_commands),
            "host_memory": Series(tuple(each.anonymous for each in self.host_memory)),
        }


class Soak:
    """One run. `tell` hears about each minute."""

    def __init__(
        self,
        plan: Plan,
        directory: Path,
        *,
        scenarios: Sequence[Scenario] = SCENARIOS,
        tell: Callable[["Soak"], None] = lambda soak: None,
    ) -> None:
        self.plan = plan
        self.server = Server(directory, plan)
        self.ledger = Ledger()
        self.soaked: Soaked
        self.playing: set[str] = set()
        self._work = directory / "work"
        self._scenarios = scenarios
        self._tell = tell
        self._numbers = itertools.count(1)
        self._booked: list[Booked] = []
        self._http: aiohttp.ClientSession

    async def run(self) -> Soaked:
        """Do everything. Nothing is left afterwards, unless that is what was found."""
        self.server.prepare()
        self._work.mkdir()
        write_scripts(self._work / "scripts")
        for name in PLACES:
            (self._work / name).mkdir()
        try:
            await self.server.start()
            async with self._connected():
                await self._warm_up()
            self.soaked = Soaked(await self._quiet(), self.ledger)
            self.server.keep_spares(2)
            async with self._connected():
                await self._load()
                await self._close_all()
            self.soaked.end = await self._quiet(self.soaked.start)
            self._count_runs()
            await self._stop()
        finally:
            await self.server.close()
        self.soaked.kills, self.soaked.longest_outage_s = self.server.kills, self.server.longest_outage_s
        return self.soaked

    @contextlib.asynccontextmanager
    async def _connected(self) -> AsyncIterator[None]:
        timeout = aiohttp.ClientTimeout(total=None, sock_read=self.plan.patience_s)
        headers = {"Authorization": f"Bearer {TOKEN}"}
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(headers=headers, timeout=timeout, connector=connector) as self._http:
            yield

    # The load.

    async def _warm_up(self) -> None:
        """Do everything once, so that what is made at first use is there."""
        dice = self.plan.dice("warm-up")
        async with self._client() as rt:
            for scenario in self._scenarios:
                await self._play(scenario, "w0", rt, dice.getrandbits(64))
        await self._close_all()

    async def _load(self) -> None:
        end = time.monotonic() + self.plan.seconds
        async with asyncio.TaskGroup() as group:
            others = [group.create_task(each) for each in (self._kill(end), self._sample(), self._report())]
            workers = [group.create_task(self._work_until(end, number)) for number in range(1, self.plan.workers + 1)]
            await asyncio.wait(workers)
            for task in others:
                task.cancel()

    async def _work_until(self, end: float, number: int) -> None:
        dice = self.plan.dice(f"worker {number}")
        while time.monotonic() < end:
            async with self._client() as rt:
                for _ in range(_SCENARIOS_PER_CLIENT):
                    if time.monotonic() < end:
                        scenario = choose(dice, self._scenarios, frozenset(self.ledger.skipped))
                        await self._play(scenario, f"w{number}", rt, dice.getrandbits(64))

    async def _play(self, scenario: Scenario, worker: str, rt: RemoteRuntime, seed: int) -> None:
        hand = Hand(
            f"{worker}-{scenario.name}-{next(self._numbers)}",
            plan=self.plan,
            server=self.server,
            rt=rt,
            http=self._http,
            ledger=self.ledger,
            dice=self.plan.dice(seed),
            work=self._work,
            booked=self._booked,
        )
        self.playing.add(hand.name)
        try:
            async with asyncio.timeout(self.plan.patience_s):
                await scenario.run(hand)
        except TimeoutError as exc:
            where = "".join(traceback.format_exception(exc.__cause__ or exc, limit=-4))
            self.ledger.problem("hung", f"{hand.name} is not done after {self.plan.patience_s:g} s: {where}")
        except SandboxUnavailable as exc:
            self.ledger.skip(scenario.name, exc.message)
        except HermittyError as exc:
            self.ledger.problem("wrong_answers", f"{hand.name}: {exc.code}: {exc.message}")
        except Exception as exc:  # whatever it is, the load goes on, and it is told
            where = "".join(traceback.format_exception(exc, limit=-3))
            self.ledger.problem("crashed", f"{hand.name}: {where}")
        else:
            self.ledger.done[scenario.name] += 1
        finally:
            self.playing.discard(hand.name)

    @contextlib.asynccontextmanager
    async def _client(self) -> AsyncIterator[RemoteRuntime]:
        async with contextlib.AsyncExitStack() as stack:
            while True:
                await self.server.up.wait()
                opening = hermitty.open(url=self.server.url, token=TOKEN, retry_s=_RETRY_S, approver=_allow)
                try:
                    rt = await stack.enter_async_context(opening)
                except ServerUnavailable:
                    await asyncio.sleep(_LOOK_S)  # it was killed in this very moment
                    continue
                assert isinstance(rt, RemoteRuntime)
                yield rt
                return

    # Meanwhile.

    async def _kill(self, end: float) -> None:
        """Kill servers at moments that nobody knows, until the last one may stay."""
        dice = self.plan.dice("kills")
        last = end - self.plan.seconds * (1 - self.plan.killing_part)
        while True:
            await asyncio.sleep(self.plan.kill_every_s * dice.uniform(0.5, 1.5))
            if time.monotonic() > last:
                return
            await self.server.kill_and_start()

    async def _sample(self) -> None:
        status = await self.server.host()
        while True:
            await asyncio.sleep(self.plan.sample_s)
            pid, commands = self.server.pid, await self._commands_ended()
            found = census.memory_of(pid)
            if found is not None and commands is not None and pid == self.server.pid:
                self.soaked.server_memory.setdefault(pid, []).append(Looked(found, commands))
            if status is not None and (found := census.memory_of(status.welcome.pid)) is not None:
                self.soaked.host_memory.append(found)

    async def _commands_ended(self) -> int | None:
        """Ask the server how many commands have ended in it; None when it is just being killed."""
        if not self.server.up.is_set():
            return None
        try:
            async with self._http.get(f"{self.server.url}/api/stats") as answer:
                return int((await answer.json())["commands"]) if answer.status == 200 else None
        except (aiohttp.ClientError, OSError, ValueError):
            return None

    async def _report(self) -> None:
        while True:
            await asyncio.sleep(60)
            self._tell(self)

    # The end.

    async def _close_all(self) -> None:
        """End every session and terminal, and the warm ones too."""
        self.server.keep_spares(0)
        hand = Hand(
            f"end-{next(self._numbers)}",
            plan=self.plan,
            server=self.server,
            rt=None,  # type: ignore[arg-type]  # requests are all it takes
            http=self._http,
            ledger=self.ledger,
            dice=self.plan.dice("end"),
            work=self._work,
            booked=self._booked,
        )
        # Settings are looked at when something runs.
        await hand.ask("POST", "/api/run", {"command": "true", "cwd": str(hand.directory)})
        for session in (await hand.ask("GET", "/api/sessions")).json()["sessions"]:
            await hand.ask("POST", f"/api/sessions/{session['id']}/end")
        for terminal in (await hand.ask("GET", "/api/terminals")).json()["terminals"]:
            await hand.delete_terminal(terminal["id"])

    async def _quiet(self, start: Held | None = None) -> Held:
        """Wait until nothing goes on, and count what is held; with `start`, until it is no more than that."""
        deadline = time.monotonic() + _QUIET_S
        before: Held | None = None
        while True:
            held = await self._held()
            is_calm = held == before and held.terminals == 0 if start is None else _is_no_more(held, start)
            if is_calm or time.monotonic() > deadline:
                return held
            before = held
            await asyncio.sleep(_LOOK_S)

    async def _held(self) -> Held:
        status = await self.server.host()
        assert status is not None, self.server.log_end()
        server, host, token = self.server.pid, status.welcome.pid, status.welcome.token
        own = census.own_processes(self.server.mark, token)
        return Held(
            server_descriptors=len(census.descriptors_of(server)),
            server_threads=census.threads_of(server),
            host_descriptors=len(census.descriptors_of(host)),
            host_threads=census.threads_of(host),
            terminals=census.terminals_of(status),
            directories=census.private_directories(token),
            processes=len(own.keys() - {server, host}),
        )

    def _count_runs(self) -> None:
        for booked in self._booked:
            self.ledger.compare_runs(booked.what, booked.mark.times, is_known=booked.is_known)

    async def _stop(self) -> None:
        """End server and host, and look for what is left."""
        status = await self.server.host()
        assert status is not None
        code = await self.server.stop()
        self.ledger.expect("the server's exit code", 0, code)
        for failure in self.server.failures():
            self.ledger.problem("server_errors", failure)
        await self.server.stop_host()
        token = status.welcome.token
        deadline = time.monotonic() + _QUIET_S
        while True:
            processes = tuple(census.own_processes(self.server.mark, token).values())
            self.soaked.remains = Remains(processes, tuple(map(str, census.private_roots(token))))
            if self.soaked.remains == Remains() or time.monotonic() > deadline:
                return
            await asyncio.sleep(_LOOK_S)


async def _allow(question: object) -> hermitty.Approval:
    """Allow what clients of the library are asked about: of all that they run, only variables need it."""
    return hermitty.Approval("allow")


def _is_no_more(held: Held, start: Held) -> bool:
    return all(getattr(held, name) <= getattr(start, name) for name in Held.__slots__ if "threads" not in name)
