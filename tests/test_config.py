"""Settings describe themselves, check themselves, and are changed by dotted names."""

import math

import pytest

from hermitty.config import (
    ReuseSettings,
    RunSettings,
    Settings,
    TerminalSettings,
    all_settings,
    find_setting,
)
from hermitty.errors import InvalidSettings

# What somebody else's repository must never decide: programs and their environment, limits, other people's terminals,
# memory and disk, and whether there is a record.
NOT_FOR_WORKSPACES = {
    *("terminal.shell", "terminal.login_shell", "terminal.env", "terminal.shell_integration_disabled"),
    *("terminal.zdotdir", "terminal.log_bytes", "terminal.capture_head_bytes", "terminal.capture_tail_bytes"),
    *("run.kill_after_s", "run.kill_exempt", "run.interrupt_grace_s", "run.terminate_grace_s"),
    *("output.artifact_max_bytes", "output.artifact_total_bytes"),
}


def test_every_setting_says_what_it_does_and_accepts_its_default() -> None:
    settings = all_settings()
    assert [name for name, setting in settings.items() if not setting.doc.text or setting.doc.text.endswith(".")] == []
    assert [name for name, setting in settings.items() if setting.problem_with(setting.default)] == []
    assert Settings() == Settings().with_values({name: setting.default for name, setting in settings.items()})


def test_the_settings_of_the_specification_have_their_defaults() -> None:
    settings = Settings()
    expected = {
        "terminal.shell_integration_disabled": False,
        "terminal.shell_integration_timeout_s": 5.0,
        "terminal.command_delay_s": 0.0,
        "terminal.output_line_limit": 500,
        "terminal.output_character_limit": 50_000,
        "terminal.powershell_counter": False,
        "terminal.zsh_clear_eol_mark": True,
        "terminal.zsh_oh_my": False,
        "terminal.zsh_p10k": False,
        "terminal.zdotdir": True,
        "terminal.compress_progress_bar": True,
        "reuse.max_switches": 5,
        "reuse.terminals_per_workspace": 32,
        "reuse.spares": 5,
        "reuse.steal": False,
        "output.context_records": 40,
        "session.hot_s": 2.0,
        "session.hot_compiler_s": 15.0,
        "session.cooling_after_edit_s": 0.3,
        "session.cooling_step_s": 0.1,
        "session.cooling_limit_s": 5.0,
        "tools.wait_temporary_s": 60.0,
        "tools.wait_persistent_s": 30.0,
        "tools.silence_note_s": 300.0,
    }
    assert {name: settings.value(name) for name in expected} == expected


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("terminal.cols", 0, "setting terminal.cols is 0; it must be a whole number from 1 to 4096"),
        ("terminal.cols", 4097, "setting terminal.cols is 4097; it must be a whole number from 1 to 4096"),
        ("terminal.cols", 80.5, "setting terminal.cols is 80.5; it must be a whole number from 1 to 4096"),
        ("terminal.cols", True, "setting terminal.cols is true; it must be a whole number from 1 to 4096"),
        ("terminal.cols", None, "setting terminal.cols is none; it must be a whole number from 1 to 4096"),
        ("terminal.cols", 2**64, "setting terminal.cols is too large; it must be a whole number from 1 to 4096"),
        ("terminal.shell", "", "setting terminal.shell is ''; it must be a text, or none"),
        ("terminal.zdotdir", 1, "setting terminal.zdotdir is 1; it must be true or false"),
        ("run.wait_s", -0.1, "setting run.wait_s is -0.1; it must be a number, 0 or more, or none"),
        ("run.wait_s", math.nan, "setting run.wait_s is nan; it must be a number, 0 or more, or none"),
        ("run.wait_s", math.inf, "setting run.wait_s is inf; it must be a number, 0 or more, or none"),
        ("run.wait_s", "60", "setting run.wait_s is '60'; it must be a number, 0 or more, or none"),
        ("run.kill_exempt", "npm", "setting run.kill_exempt is 'npm'; it must be a list of texts"),
        ("run.kill_exempt", ("npm", 1), "setting run.kill_exempt is ('npm', 1); it must be a list of texts"),
        (
            "session.hot_s",
            3601.0,
            "setting session.hot_s is 3601.0; it must be a number from 0 to 3600",
        ),
    ],
)
def test_a_value_that_cannot_be_is_named_with_what_is_allowed(name: str, value: object, message: str) -> None:
    with pytest.raises(InvalidSettings) as caught:
        Settings().with_values({name: value})
    assert str(caught.value) == message


@pytest.mark.parametrize("env", [{"A": 1}, {"": "x"}, {"A=B": "x"}, {"A": "hunter2\0"}, {1: "x"}, "A=hunter2"])
def test_variables_are_checked_and_their_values_not_told(env: object) -> None:
    with pytest.raises(InvalidSettings) as caught:
        Settings().with_values({"terminal.env": env})
    assert str(caught.value) == "setting terminal.env is not valid; it must be a table of variables and their texts"


def test_a_long_value_is_cut_in_the_message() -> None:
    problem = find_setting("terminal.zdotdir").problem_with("x" * 10_000)
    assert problem is not None
    assert len(problem) < 200


def test_groups_are_checked_when_settings_are_made_of_them() -> None:
    with pytest.raises(InvalidSettings, match=r"terminal\.rows"):
        Settings(terminal=TerminalSettings(rows=-1))


def test_values_are_replaced_by_dotted_names_and_nothing_else_changes() -> None:
    before = Settings(run=RunSettings(wait_s=1.0))
    after = before.with_values(
        {"terminal.cols": 80, "terminal.rows": 24, "reuse.steal": True, "run.kill_after_s": None}
    )
    assert after == Settings(
        terminal=TerminalSettings(cols=80, rows=24), run=RunSettings(wait_s=1.0), reuse=ReuseSettings(steal=True)
    )
    assert before == Settings(run=RunSettings(wait_s=1.0))


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("terminal.colz", "terminal.cols"),
        ("terminal.outputLineLimit", "terminal.output_line_limit"),
        ("cols", "terminal.cols"),
        ("run.steal", "reuse.steal"),
        ("zzz.qqq", None),
        ("", None),
    ],
)
def test_an_unknown_name_is_refused_with_the_one_that_may_be_meant(name: str, near: str | None) -> None:
    with pytest.raises(InvalidSettings) as caught:
        Settings().value(name)
    hint = f"; did you mean {near}?" if near else ""
    assert str(caught.value) == f"there is no setting {name!r}{hint}"


def test_a_workspace_decides_nothing_that_could_do_harm() -> None:
    open_to_workspaces = {name for name, setting in all_settings().items() if setting.doc.workspace is not False}
    assert open_to_workspaces
    assert open_to_workspaces & NOT_FOR_WORKSPACES == set()
    assert {name for name in open_to_workspaces if name.startswith(("history.", "reuse."))} == set()


def test_what_a_workspace_may_set_has_an_end() -> None:
    for name, setting in all_settings().items():
        if setting.kind in (int, float) and setting.doc.workspace is not False:
            assert setting.doc.workspace is not True, f"{name} needs limits"
            assert setting.problem_in_workspace(setting.default) is None
            assert setting.problem_in_workspace(10**9) is not None
        if setting.optional:
            assert setting.problem_in_workspace(None) is not None
