"""The guards around every test see what a test leaves behind, and nothing else."""

import sys
from pathlib import Path

import pytest

pytest_plugins = ("pytester",)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the guards look into /proc")

TESTS = """
    import asyncio, contextlib, os, subprocess
    import pytest
    from hypothesis import given, strategies

    kept = []

    @pytest.fixture
    async def ticking():
        task = asyncio.create_task(asyncio.sleep(60))
        yield task
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    @pytest.fixture(scope="module")
    def shared():
        with subprocess.Popen(["sleep", "60"], stdout=subprocess.PIPE) as child:
            yield child
            child.kill()

    def test_clean():
        subprocess.run(["true"], check=True)

    async def test_clean_async(ticking, tmp_path, capfd):
        process = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
        await process.communicate(b"x")
        await asyncio.to_thread(os.getpid)

    def test_clean_shared(shared):
        assert shared.poll() is None

    @given(strategies.binary())
    def test_clean_property(data):
        assert bytes(data) == data

    @given(strategies.binary())
    async def test_clean_async_property(data):
        await asyncio.sleep(0)

    def test_clean_with_a_loop_of_its_own():
        asyncio.run(asyncio.sleep(0))

    def test_leaks_a_descriptor():
        kept.append(os.open("/dev/null", os.O_RDONLY))

    def test_leaks_a_child():
        kept.append(os.posix_spawnp("sleep", ["sleep", "61"], os.environ))

    def test_leaks_a_zombie():
        pid = os.posix_spawnp("true", ["true"], os.environ)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)

    async def test_leaks_a_task():
        kept.append(asyncio.create_task(asyncio.sleep(60), name="forgotten"))
"""

SETTINGS = """
    [pytest]
    asyncio_mode = auto
    asyncio_default_fixture_loop_scope = function
    filterwarnings = error
"""


def test_every_leak_is_named_and_the_clean_tests_pass(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(Path(__file__).with_name("conftest.py").read_text(encoding="utf-8"))
    pytester.makepyfile(TESTS)
    pytester.makeini(SETTINGS)

    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-rE")

    result.assert_outcomes(passed=10, errors=4)
    result.stdout.fnmatch_lines_random(
        [
            "*ERROR at teardown of test_leaks_a_descriptor*",
            "  descriptor *: /dev/null",
            "*ERROR at teardown of test_leaks_a_child*",
            "  child process *: sleep*",
            "*ERROR at teardown of test_leaks_a_zombie*",
            "  child process *: true, ended but never waited for",
            "*ERROR at teardown of test_leaks_a_task*",
            "  asyncio task <Task pending name='forgotten'*",
        ]
    )
