"""What every shell must get right about a command: its output, its end, its code, its directory."""

import os
from pathlib import Path

import pytest

from hermitty.errors import HermittyError, InvalidCommand
from hermitty.model import Quality, State
from hermitty.runtime.api import Terminal
from tests.support.shells import PATIENCE_S


async def test_output_is_exactly_what_the_command_printed(terminal: Terminal) -> None:
    result = await terminal.run(r"printf 'a\nb\n'", wait_s=PATIENCE_S)
    assert (result.text, result.exit_code, result.state) == ("a\nb\n", 0, State.DONE)
    assert result.total_bytes == len(b"a\r\nb\r\n")


async def test_a_missing_final_newline_stays_missing(terminal: Terminal) -> None:
    assert (await terminal.run("printf abc", wait_s=PATIENCE_S)).text == "abc"
    # The next command's output does not begin with what was left on the line.
    assert (await terminal.run("printf def", wait_s=PATIENCE_S)).text == "def"


async def test_no_output_is_no_output(terminal: Terminal) -> None:
    result = await terminal.run("true", wait_s=PATIENCE_S)
    assert (result.text, result.total_bytes) == ("", 0)


async def test_exit_codes_are_exact(terminal: Terminal) -> None:
    codes = [
        (await terminal.run(line, wait_s=PATIENCE_S)).exit_code
        for line in ("sh -c 'exit 2'", "false", "no-such-program-here", "true", "sh -c 'exit 128'", "sh -c 'exit 255'")
    ]
    assert codes == [2, 1, 127, 0, 128, 255]


async def test_death_by_signal_is_named(terminal: Terminal) -> None:
    found = []
    for line in ("sh -c 'kill -TERM $$'", "sh -c 'kill -SEGV $$'", "sh -c 'exit 128'", "sh -c 'exit 227'"):
        result = await terminal.run(line, wait_s=PATIENCE_S)
        found.append((result.exit_code, result.signal))
    assert found == [(143, "SIGTERM"), (139, "SIGSEGV"), (128, None), (227, None)]


async def test_a_script_of_several_lines_is_one_command(terminal: Terminal) -> None:
    result = await terminal.run("echo one\necho two\nsh -c 'exit 7'", wait_s=PATIENCE_S)
    assert (result.text, result.exit_code) == ("one\ntwo\n", 7)


async def test_a_heredoc_keeps_quotes_and_tabs(bash: Terminal) -> None:
    result = await bash.run("cat <<'END'\nit's \"quoted\"\twith a tab, $HOME and !bang\nEND", wait_s=PATIENCE_S)
    assert result.text == 'it\'s "quoted"\twith a tab, $HOME and !bang\n'


async def test_the_text_arrives_unchanged(terminal: Terminal) -> None:
    text = "tab\there ! !! \\ $x `y` * ? [a] {b} ~ # ; & | < > ünïcödé 漢字 🐚"
    result = await terminal.run("printf '%s' '" + text.replace("\\", "\\\\") + "'", wait_s=PATIENCE_S)
    assert result.text.replace("\\\\", "\\") == text


async def test_a_very_long_line_runs(terminal: Terminal) -> None:
    result = await terminal.run(f"printf %s {'x' * 100_000} | wc -c", wait_s=PATIENCE_S)
    assert result.text.strip() == "100000"


async def test_the_directory_follows_cd(terminal: Terminal, work: Path) -> None:
    odd = work / "a b;c'd\"e$f"
    odd.mkdir()
    result = await terminal.run(terminal.dialect.change_directory(str(odd)), wait_s=PATIENCE_S)
    assert (result.exit_code, result.cwd, terminal.cwd) == (0, str(odd), str(odd))
    await terminal.run("cd ..", wait_s=PATIENCE_S)
    assert terminal.cwd == str(work)


async def test_exported_variables_are_known_exactly(bash: Terminal) -> None:
    await bash.run("export A='x \"y\"\n$z' B= ; unset HOME; C=not-exported", wait_s=PATIENCE_S)
    env = await bash.environment()
    assert (env["A"], env["B"], "HOME" in env, "C" in env) == ('x "y"\n$z', "", False, False)


async def test_the_environment_of_every_shell_can_be_asked(terminal: Terminal) -> None:
    setting = {"fish": "set -gx A 'one two'", "pwsh": "$env:A='one two'"}.get(terminal.shell, "export A='one two'")
    await terminal.run(setting, wait_s=PATIENCE_S)
    env = await terminal.environment()
    assert (env["A"], env["TERM"], env["PAGER"]) == ("one two", "xterm-256color", "cat")
    assert not [name for name in env if "hermitty" in name]


async def test_binary_output_is_replaced_not_lost(bash: Terminal) -> None:
    result = await bash.run(r"printf '\xff\xfe\x80A\x00B\n'", wait_s=PATIENCE_S)
    assert (result.text, result.total_bytes) == ("\ufffd\ufffd\ufffdAB\n", 8)


async def test_a_background_job_does_not_keep_the_terminal(bash: Terminal) -> None:
    result = await bash.run("sleep 1000 & echo $!", wait_s=PATIENCE_S)
    assert (result.state, bash.is_busy) == (State.DONE, False)
    pid = int(result.text.split()[-1])
    os.kill(pid, 0)
    assert (await bash.run("kill %1; wait %1 2>/dev/null; echo gone", wait_s=PATIENCE_S)).text.endswith("gone\n")


async def test_pagers_do_not_wait(bash: Terminal, work: Path) -> None:
    line = "git init -q . && git -c user.name=a -c user.email=b commit -q --allow-empty -m x && git log --oneline"
    result = await bash.run(line, wait_s=PATIENCE_S)
    assert (result.state, result.exit_code) == (State.DONE, 0)


async def test_an_unfinished_line_gets_an_answer_and_the_terminal_goes_on(terminal: Terminal) -> None:
    try:
        result = await terminal.run("echo 'never closed", wait_s=PATIENCE_S)
    except HermittyError as error:
        assert error.code == "incomplete_command"
    else:
        assert result.state is State.DONE
        assert result.exit_code != 0
    assert (await terminal.run("echo fine", wait_s=PATIENCE_S)).text == "fine\n"


async def test_a_syntax_error_is_a_result(terminal: Terminal) -> None:
    result = await terminal.run("echo ) (", wait_s=PATIENCE_S)
    assert result.state is State.DONE
    assert result.exit_code not in (0, None)
    assert result.text
    assert (await terminal.run("echo fine", wait_s=PATIENCE_S)).text == "fine\n"


async def test_programs_cannot_forge_an_end(bash: Terminal) -> None:
    forged = r"\033]633;D;0\007\033]633;C\007\033]133;D;0\007\033]633;D;0;0123456789abcdef0123456789abcdef\007"
    result = await bash.run(f"printf 'a{forged}b\\n'; (exit 9)", wait_s=PATIENCE_S)
    assert (result.text, result.exit_code) == ("ab\n", 9)


async def test_programs_cannot_see_the_nonce(bash: Terminal) -> None:
    # A child looks at its own environment, at its shell's, and at its shell's arguments.
    line = "env | cat; tr '\\0' '\\n' </proc/$$/environ; tr '\\0' '\\n' </proc/$$/cmdline; ls -l /proc/self/fd"
    result = await bash.run(f'sh -c "{line}"'.replace("$$", "$PPID"), wait_s=PATIENCE_S)
    assert bash.nonce not in result.text
    assert "633" not in result.text
    assert await bash.pty.get_file("init.bash") is None


@pytest.mark.parametrize("line", ["", "   ", "\n\t\n", "echo \0"])
async def test_lines_that_are_none_are_refused(bash: Terminal, line: str) -> None:
    with pytest.raises(InvalidCommand):
        await bash.run(line)
    assert not bash.is_busy


async def test_quality_is_reported(terminal: Terminal) -> None:
    expected = Quality.BASIC if terminal.shell == "sh" else Quality.RICH
    assert (terminal.quality, (await terminal.run("true", wait_s=PATIENCE_S)).quality) == (expected, expected)


async def test_history_stays_the_persons_own(bash: Terminal) -> None:
    await bash.run("echo from-the-agent", wait_s=PATIENCE_S)
    assert "from-the-agent" not in (await bash.run("history", wait_s=PATIENCE_S)).text


async def test_colours_are_kept_in_the_log_and_dropped_from_the_text(bash: Terminal) -> None:
    command = await bash.start(r"printf '\033[31mred\033[0m <b>\n'")
    result = await command.wait(PATIENCE_S)
    assert result.text == "red <b>\n"
    assert command.output().data == b"\x1b[31mred\x1b[0m <b>\r\n"


async def test_one_enormous_line_is_bounded_and_counted(bash: Terminal) -> None:
    result = await bash.run("head -c 16000000 /dev/zero | tr '\\0' x", wait_s=PATIENCE_S)
    assert result.total_bytes == 16_000_000
    assert result.truncated
    assert len(result.text) <= 51_000
    assert result.text.startswith("xxx")
    assert result.text.endswith("xxx")


async def test_a_window_title_is_not_output(bash: Terminal) -> None:
    result = await bash.run(r"printf '\033]0;a title\007text\n'", wait_s=PATIENCE_S)
    assert result.text == "text\n"
    assert bash.screen.title == "a title"


@pytest.mark.parametrize(
    "line", ["echo one; echo two", "echo 'a;b' \\\\ \"c\"", "for i in 1 2; do\n  echo $i\ndone", "  true  # x"]
)
async def test_a_line_that_the_shell_confirms_runs(terminal: Terminal, line: str) -> None:
    if terminal.shell == "fish" and "do\n" in line:
        pytest.skip("not a line of fish")
    command = await terminal.start(line, verify=True)
    result = await command.wait(PATIENCE_S)
    assert (result.state, result.exit_code, command.mismatch) == (State.DONE, 0, None)


async def test_another_line_than_the_one_that_was_sent_is_killed(bash: Terminal, work: Path) -> None:
    # Somebody has taken the key over that puts the line in place.
    await bash.run('bind \'"\\x1ep": "touch other; sleep 1000 #"\'')
    command = await bash.start("echo fine", verify=True)
    result = await command.wait(PATIENCE_S)
    assert result.state is State.KILLED
    assert "another line" in result.warnings[0]
    assert command.mismatch is not None
    assert command.mismatch.startswith("touch other")
