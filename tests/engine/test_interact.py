"""Programs that ask questions, and prepared answers."""

import asyncio
from pathlib import Path

import pytest

from hermitty.engine.interact import Answer, answer_prompts, checked_answers
from hermitty.errors import IncompleteCommand, InvalidPattern, InvalidTime
from hermitty.events import CommandStarted
from hermitty.model import CommandResult, NeedsInput, State
from hermitty.runtime.api import Runtime, Terminal
from tests.support.shells import PATIENCE_S, SHELLS

NAME = "read -r -p 'Name? ' name"
GO_ON = "read -r -p 'Continue? [y/N] ' answer"
SECRET = "hunter2-geheim"


async def ask(terminal: Terminal, line: str, *answers: Answer, timeout_s: float = PATIENCE_S) -> CommandResult:
    command = await terminal.start(line)
    return await answer_prompts(command, answers, timeout_s=timeout_s)


async def test_every_prompt_is_answered_and_the_code_is_the_programs(bash: Terminal) -> None:
    result = await ask(
        bash, f"{NAME}; {GO_ON}; echo $name $answer; (exit 5)", Answer("Name", "Ann"), Answer("Continue", "y")
    )
    assert (result.state, result.exit_code, result.needs_input) == (State.DONE, 5, None)
    assert result.text == "Name? Ann\nContinue? [y/N] y\nAnn y\n"


async def test_the_order_of_answers_does_not_matter(bash: Terminal) -> None:
    result = await ask(bash, f"{NAME}; {GO_ON}; echo $name $answer", Answer("Continue", "y"), Answer("Name", "Ann"))
    assert result.text == "Name? Ann\nContinue? [y/N] y\nAnn y\n"


async def test_prompts_printed_at_once_are_answered_in_their_order(bash: Terminal) -> None:
    line = "printf 'Name? Continue? '; read -r name; read -r answer; echo $name $answer"
    result = await ask(bash, line, Answer("Continue", "y"), Answer("Name", "Ann"))
    assert (result.state, result.text.splitlines()[-1]) == (State.DONE, "Ann y")


async def test_an_answer_is_given_once(bash: Terminal) -> None:
    # The same question a second time is one that nobody answers.
    result = await ask(bash, f"{NAME}; {NAME}; echo $name", Answer("Name", "Ann"))
    assert (result.state, result.needs_input) == (State.NEEDS_INPUT, NeedsInput("Name? ", False, "kernel"))
    assert result.text == "Name? Ann\nName? "
    assert bash.current is not None
    bash.current.write("Bob\r")
    assert (await bash.current.wait(PATIENCE_S)).text == "Name? Ann\nName? Bob\nBob\n"


async def test_the_same_question_is_answered_as_often_as_there_are_answers(bash: Terminal) -> None:
    asking = "for i in 1 2 3; do read -r -p 'Name? ' name; names+=$name,; done; echo $names"
    result = await ask(bash, asking, *(Answer("Name", name) for name in ("Ann", "Bob", "Cid")))
    assert (result.state, result.text.splitlines()[-1]) == (State.DONE, "Ann,Bob,Cid,")


async def test_answers_that_are_not_needed_do_no_harm(bash: Terminal) -> None:
    result = await ask(bash, f"{NAME}; (exit 3)", Answer("Never asked", "x"), Answer("Name", "Ann"))
    assert (result.state, result.exit_code) == (State.DONE, 3)
    assert (await bash.run("echo fine", wait_s=PATIENCE_S)).text == "fine\n"


async def test_a_program_that_asks_nothing_just_ends(bash: Terminal) -> None:
    result = await ask(bash, "echo out; (exit 4)", Answer("Name", "Ann"))
    assert (result.state, result.exit_code, result.text) == (State.DONE, 4, "out\n")
    assert (await ask(bash, "echo none")).text == "none\n"


async def test_a_prompt_that_never_comes_ends_by_the_time_out(bash: Terminal) -> None:
    result = await ask(bash, "echo begun; sleep 1000", Answer("Name", "Ann"), timeout_s=0.3)
    assert (result.state, result.exit_code, result.needs_input) == (State.RUNNING, None, None)
    assert bash.current is not None
    assert (await bash.current.kill()).state is State.KILLED


async def test_a_question_without_an_answer_ends_the_wait(bash: Terminal) -> None:
    result = await ask(bash, f"{NAME}; {GO_ON}; echo $answer", Answer("Name", "Ann"))
    assert (result.state, result.needs_input) == (State.NEEDS_INPUT, NeedsInput("Continue? [y/N] ", False, "kernel"))
    assert bash.current is not None
    bash.current.write("y\r")
    assert (await bash.current.wait(PATIENCE_S)).text.endswith("\ny\n")


@pytest.mark.parametrize(
    ("prompt", "asked"),
    [
        (r"^Name\?", "Name? "),
        (r"[Nn]ame( of \w+)?\?", "Your name of birth? "),
        (r"\(yes/no\)\s*$", "Overwrite (yes/no) "),
        (r"^  2\) .*\n.*choice: ", "  1) one\\n  2) two\\nYour choice: "),
        (r"密码", "密码："),
        (r"Bold\? ", "\\033[1mBo\\033[32mld\\033[0m? "),
    ],
)
async def test_a_prompt_is_a_regular_expression_over_the_text(bash: Terminal, prompt: str, asked: str) -> None:
    result = await ask(bash, f"echo first line; printf '{asked}'; read -r x; echo got $x", Answer(prompt, "it"))
    assert (result.state, result.text.splitlines()[-1]) == (State.DONE, "got it")


async def test_a_prompt_in_two_pieces_is_one(bash: Terminal, work: Path) -> None:
    line = "printf Na; sleep 0.05; printf 'me? '; read -r x; echo got $x"
    assert (await ask(bash, line, Answer(r"Name\? ", "Ann"))).text == "Name? Ann\ngot Ann\n"


async def test_a_prompt_behind_a_flood_is_found(bash: Terminal) -> None:
    result = await ask(bash, f"seq 300000; {NAME}; echo got $name", Answer(r"^Name\?", "Ann"))
    assert (result.state, result.text.splitlines()[-2:]) == (State.DONE, ["Name? Ann", "got Ann"])


async def test_what_is_typed_is_not_a_prompt(bash: Terminal) -> None:
    # The first answer reads like the second prompt: it must not get the second answer.
    line = f"{NAME}; read -r -s -p 'Password: ' word; echo; echo ${{#word}}"
    result = await ask(bash, line, Answer("Password", SECRET), Answer("Name", "Password"))
    assert result.text == f"Name? Password\nPassword: \n{len(SECRET)}\n"


async def test_an_empty_answer_is_enter(bash: Terminal) -> None:
    result = await ask(bash, f'{NAME}; echo "[$name]"; {GO_ON}; echo ok', Answer("Name", ""), Answer("Continue", ""))
    assert result.text == "Name? \n[]\nContinue? [y/N] \nok\n"


@pytest.mark.parametrize("shell", SHELLS)
async def test_programs_in_every_shell_are_answered(runtime: Runtime, work: Path, shell: str) -> None:
    terminal = await runtime.open_terminal(shell=shell, cwd=work)
    program = 'printf "Name? "; read name; echo "hello $name"; exit 6'
    result = await ask(terminal, f"sh -c '{program}'", Answer("Name", "Ann"))
    assert (result.state, result.exit_code, result.text) == (State.DONE, 6, "Name? Ann\nhello Ann\n")


# Secrets.


@pytest.mark.parametrize(
    "line",
    [
        "read -r -s -p 'Password: ' word; echo; echo ${#word}",
        "python3 -c 'import getpass; print(len(getpass.getpass()))'",
        # The prompt comes first, and the echo is switched off a while later.
        "printf 'Password: '; sleep 0.2; stty -echo; read -r word; stty echo; echo; echo ${#word}",
    ],
)
async def test_a_secret_is_in_no_result_and_no_log(runtime: Runtime, bash: Terminal, line: str) -> None:
    events: list[object] = []
    runtime.subscribe(events.append)
    answer = Answer("Password:", SECRET)
    result = await ask(bash, line, answer)
    assert (result.state, result.text.splitlines()[-1]) == (State.DONE, str(len(SECRET)))
    assert SECRET.encode() not in bash.log.read(0).data
    assert SECRET not in bash.screen.text()
    assert SECRET not in f"{result!r} {events!r} {answer!r}"


async def test_an_invalid_prompt_is_an_error_without_the_reply(runtime: Runtime, work: Path) -> None:
    with pytest.raises(InvalidPattern, match=r"'\(open'") as caught:
        await runtime.run("touch ran", cwd=work, shell="bash", answers=[Answer("(open", SECRET)])
    assert SECRET not in str(caught.value)
    assert not (work / "ran").exists()


# Through the runtime.


async def test_a_run_with_answers(runtime: Runtime, work: Path) -> None:
    result = await runtime.run(
        f"{NAME}; {GO_ON}; (exit 7)",
        cwd=work,
        shell="bash",
        wait_s=PATIENCE_S,
        answers=[Answer("Continue", "n"), Answer("Name", "Ann")],
    )
    assert (result.state, result.exit_code) == (State.DONE, 7)


async def test_cancelling_a_run_with_answers_kills_its_command(runtime: Runtime, work: Path) -> None:
    started: asyncio.Queue[CommandStarted] = asyncio.Queue()
    runtime.subscribe(lambda event: started.put_nowait(event) if isinstance(event, CommandStarted) else None)
    run = runtime.run(f"{NAME}; sleep 1000", cwd=work, shell="bash", wait_s=PATIENCE_S, answers=[Answer("Name", "Ann")])
    task = asyncio.create_task(run)
    event = await asyncio.wait_for(started.get(), PATIENCE_S)
    command = runtime.terminal(event.terminal).current
    assert command is not None
    assert await command.wait_for("Ann", PATIENCE_S)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await command.wait(PATIENCE_S)).state is State.KILLED


async def test_an_unfinished_line_is_an_error_here_too(bash: Terminal) -> None:
    with pytest.raises(IncompleteCommand):
        await ask(bash, "echo 'never closed", Answer("Name", "Ann"))
    assert (await bash.run("echo fine", wait_s=PATIENCE_S)).text == "fine\n"


async def test_a_terminal_that_dies_ends_the_dialogue(bash: Terminal) -> None:
    result = await ask(bash, f"{NAME}; kill -9 $$", Answer("Name", "Ann"))
    assert (result.state, result.exit_code) == (State.LOST, None)
    await bash.finished()


@pytest.mark.parametrize("seconds", [-1, float("nan")])
async def test_impossible_times_are_refused(bash: Terminal, seconds: float) -> None:
    command = await bash.start("true")
    with pytest.raises(InvalidTime):
        await answer_prompts(command, [], timeout_s=seconds)
    await command.wait(PATIENCE_S)


async def test_a_prompt_that_would_take_for_ever_with_backtracking_takes_no_time(bash: Terminal) -> None:
    """Whoever may run something chooses both the pattern and the text."""
    answers = [Answer("^(a+)+$", "never"), Answer("name: $", "ann")]
    command = await bash.start(f"echo {'a' * 60}!; printf 'name: '; read -r name; echo hello $name")
    result = await answer_prompts(command, answers, timeout_s=PATIENCE_S)
    assert result.text.endswith("hello ann\n")


def test_what_needs_backtracking_is_refused_by_name() -> None:
    for pattern in ("(?=a)b", r"(a)\1"):
        with pytest.raises(InvalidPattern, match="no look-around and no back-references"):
            checked_answers([Answer(pattern, "x")])
