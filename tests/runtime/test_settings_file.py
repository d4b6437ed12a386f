"""Settings from files, environment and arguments: values, lines, origins, and what is said when something is wrong."""

import os
import tomllib
from pathlib import Path

import hypothesis
import hypothesis.strategies as st
import pytest

from hermitty.config import Settings, all_settings
from hermitty.errors import InvalidSettings
from hermitty.runtime.settings.file import FileText, read_file, values_of
from hermitty.runtime.settings.layers import DEFAULT, LoadedSettings, Origin, merge
from hermitty.runtime.settings.markdown import with_tables
from hermitty.runtime.settings.positions import key_lines
from hermitty.runtime.settings.source import SettingsSource
from hermitty.runtime.settings.text import parse_text, variables

DOCS = Path(__file__).resolve().parents[2] / "docs" / "settings.md"


COLUMNS = "it must be a whole number from 1 to 4096"
FORBIDDEN = "cannot be set by the file of a workspace; set it in your own"
WITHIN = "in the file of a workspace it must be from"


def user(text: str) -> LoadedSettings:
    return merge(user=FileText(Path("/c.toml"), text.encode()))


def workspace(text: str | bytes) -> LoadedSettings:
    return merge(workspace=FileText(Path("/p/.hermitty.toml"), text if isinstance(text, bytes) else text.encode()))


# Lines.


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[terminal]\ncols = 100\n", 2),
        ("terminal.cols = 100", 1),
        ("# a\n\n terminal . 'cols' = 100", 3),
        ('["terminal"]\n"c\\u006fls" = 100', 2),
        ("terminal = { rows = 3, cols = 100 }", 1),
        ('[run]\nkill_exempt = [\n  "[terminal]",\n  "cols = 1", # cols = 2\n]\n[terminal]\r\ncols = 100', 7),
        ('[terminal]\nshell = """\ncols = 1\n"""\ncols = 100', 5),
        ("[terminal]\nshell = '''\ncols = 1''''\ncols = 100", 4),
        ('[terminal]\nshell = "\\"\\\\"\ncols = 100', 3),
        ("\ufeff[terminal]\ncols = 100", 2),
        ("[terminal] # cols = 1\n\n\ncols\t=\t100", 4),
        ("[other]\ncols = 1\n[terminal.env]\ncols = '2'\n[terminal]\ncols = 100", 6),
    ],
)
def test_a_value_knows_its_line_however_it_is_written(text: str, line: int) -> None:
    assert user(text).origins["terminal.cols"] == Origin("file", "/c.toml", line)


VALUES = (
    "1",
    "1979-05-27 07:32:00",
    '"# [x] = \\""',
    "'[a]'",
    '"""a\n[x]\nb = 1\\""""""',
    "'''\n#''\n'''''",
    "[1, # ]\n 2, ['}'],\n]",
    '{ a = 1, "b.c" = [ { d = "}" } ] }',
    "[]",
    "{}",
)


@hypothesis.given(
    st.lists(st.tuples(st.sampled_from(["pair", "table", "tables", "comment", "blank"]), st.sampled_from(VALUES)))
)
def test_lines_are_right_in_any_document(statements: list[tuple[str, str]]) -> None:
    text, table = "", ""
    expected = {}
    for number, (kind, value) in enumerate(statements):
        line = text.count("\n") + 1
        if kind == "pair":
            text += f"k{number} = {value}\n"
            expected[tuple(filter(None, (*table.split("."), f"k{number}")))] = line
        elif kind == "table":
            table = f"t{number}.u"
            text += f"[ t{number} . u ] # {value!r}\n"
            expected[f"t{number}", "u"] = line
        elif kind == "tables":
            table = f"l{number}"
            text += f"[[l{number}]]\n"
        else:
            text += "\n" if kind == "blank" else f"# {value!r}\n"
    tomllib.loads(text)
    found = {path: line for path, line in key_lines(text).items() if len(path) <= 1 + path[0].startswith("t") * 2}
    within_lists = {path for path in expected if path[0].startswith("l")}
    assert {path: line for path, line in found.items() if path in expected or path[-1].startswith("k")} == {
        path: line for path, line in expected.items() if path not in within_lists
    }


@hypothesis.given(st.text(alphabet="ab.=[]{}'\"#\n \\,1"))
def test_looking_for_lines_never_fails(text: str) -> None:
    assert all(1 <= line <= text.count("\n") + 1 for line in key_lines(text).values())


# Files that are wrong.


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (b"[terminal]\ncols = \n", "/c.toml:2:8: not valid TOML: Invalid value"),
        (b"a = 1\na = 2\n", "/c.toml:2:6: not valid TOML: Cannot overwrite a value"),
        (b"a = [1,\n", "/c.toml:2:1: not valid TOML: Invalid value before the end of the file"),
        (b"[terminal]\n# \xc3\xa4\xff", "/c.toml:2:4: not valid TOML: a byte that is not UTF-8"),
        (b"a = " + b"9" * 5000, "/c.toml: not valid TOML: Exceeds the limit"),
        (b"a = " + b"[" * 100_000, "/c.toml: not valid TOML: "),
    ],
)
def test_a_file_that_is_not_toml_is_named_with_line_and_column(text: bytes, place: str) -> None:
    with pytest.raises(InvalidSettings) as caught:
        values_of(FileText(Path("/c.toml"), text))
    assert str(caught.value).startswith(place)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[terminal]\n\ncols = 0", f"/c.toml:3: setting terminal.cols is 0; {COLUMNS}"),
        ("run.wait_s = 'long'", "/c.toml:1: setting run.wait_s is 'long'; it must be a number, 0 or more, or none"),
        ("[terminal.cols]\nx = 1", f"/c.toml:1: setting terminal.cols is {{'x': 1}}; {COLUMNS}"),
        ("[terminal]\nenv.A = 1", "/c.toml: setting terminal.env is not valid; it must be a table of"),
        ("[run]\nkill_exempt = [1]", "/c.toml:2: setting run.kill_exempt is (1,); it must be a list of texts"),
        ("[terminal]\ncols = 'none'", f"/c.toml:2: setting terminal.cols is 'none'; {COLUMNS}"),
    ],
)
def test_a_bad_value_is_named_with_file_line_setting_and_what_is_allowed(text: str, message: str) -> None:
    with pytest.raises(InvalidSettings) as caught:
        user(text)
    assert str(caught.value).startswith(message)


def test_unknown_names_are_warnings_with_the_nearest_name_and_the_rest_counts() -> None:
    loaded = user('[terminal]\ncolz = 1\nrows = 50\n[termnal]\ncols = 2\n["a.b"]\nc = 1\n[empty]\n')
    assert loaded.settings == Settings().with_values({"terminal.rows": 50})
    assert loaded.warnings == (
        "/c.toml:2: there is no setting 'terminal.colz'; did you mean terminal.cols?",
        "/c.toml:5: there is no setting 'termnal.cols'; did you mean terminal.cols?",
        "/c.toml:7: there is no setting \"'a.b'.c\"",
    )


def test_a_file_is_plain_and_of_a_sensible_size(tmp_path: Path) -> None:
    target = tmp_path / "real.toml"
    target.write_text("terminal.cols = 3")
    (tmp_path / "link.toml").symlink_to(target)
    os.mkfifo(tmp_path / "fifo.toml")
    (tmp_path / "large.toml").write_bytes(b"#" * (1024 * 1024 + 1))
    assert read_file(tmp_path / "none.toml") is read_file(target / "below.toml") is None
    assert read_file(Path(os.devnull)) == FileText(Path(os.devnull), b"")
    assert read_file(tmp_path / "link.toml") == FileText(tmp_path / "link.toml", b"terminal.cols = 3")
    with pytest.raises(InvalidSettings, match="links are not followed"):
        read_file(tmp_path / "link.toml", follow_links=False)
    for name in ("fifo.toml", ".", "large.toml"):
        with pytest.raises(InvalidSettings, match="cannot be read"):
            read_file(tmp_path / name)


# Layers.


def test_a_later_layer_wins_and_every_value_knows_where_it_comes_from() -> None:
    loaded = merge(
        user=FileText(Path("/c.toml"), b"[terminal]\nshell = 'zsh'\ncols = 1\nrows = 50\n[run]\nwait_s = 'none'\n"),
        workspace=FileText(Path("/p/.hermitty.toml"), b"terminal.cols = 100\nsession.hot_s = 3"),
        environ={"HERMITTY_TERMINAL__COLS": "101", "HERMITTY_COLS": "7", "HERMITTY_OWNER": "x", "PATH": "/bin"},
        arguments={"terminal.rows": 40},
    )
    values = {
        "terminal.shell": "zsh",
        "terminal.cols": 101,
        "terminal.rows": 40,
        "run.wait_s": None,
        "session.hot_s": 3,
    }
    assert loaded.settings == Settings().with_values(values)
    assert {name: str(origin) for name, origin in loaded.changed().items()} == {
        "terminal.shell": "file /c.toml:2",
        "terminal.cols": "environment HERMITTY_TERMINAL__COLS",
        "terminal.rows": "argument",
        "run.wait_s": "file /c.toml:6",
        "session.hot_s": "file /p/.hermitty.toml:2",
    }
    assert loaded.origins.keys() == all_settings().keys()
    assert loaded.origins["terminal.env"] == DEFAULT
    assert loaded.warnings == ()


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("terminal.cols", " 100 ", 100),
        ("run.wait_s", "2.5", 2.5),
        ("run.wait_s", "None", None),
        ("run.wait_s", "", None),
        ("terminal.shell", "/bin/bash", "/bin/bash"),
        ("terminal.zdotdir", "Off", False),
        ("terminal.zdotdir", "1", True),
        ("run.kill_exempt", "npm run, make,", ("npm run", "make")),
        ("run.kill_exempt", '["a, b"]', ("a, b")),
        ("run.kill_exempt", "", ()),
        ("terminal.env", '{"A": "1"}', {"A": "1"}),
        ("terminal.cols", "many", "many"),
        ("terminal.zdotdir", "maybe", "maybe"),
        ("terminal.env", "A=1", "A=1"),
        ("run.kill_exempt", "[1", "[1"),
    ],
)
def test_text_is_read_as_the_setting_needs_it(name: str, text: str, value: object) -> None:
    expected = (value,) if name == "run.kill_exempt" and value == "a, b" else value
    assert parse_text(all_settings()[name], text) == expected


def test_every_setting_has_a_variable_of_its_own() -> None:
    names = variables()
    assert names["terminal.cols"] == "HERMITTY_TERMINAL__COLS"
    assert len(set(names.values())) == len(all_settings())
    for name, variable in names.items():
        default = all_settings()[name].default
        text = "{}" if default == {} else ",".join(default) if isinstance(default, tuple) else str(default)
        loaded = merge(environ={variable: text})
        assert loaded.changed() == {name: Origin("environment", variable)}
        assert loaded.settings == Settings()


def test_a_bad_variable_is_named_and_an_unknown_one_is_a_warning() -> None:
    with pytest.raises(InvalidSettings) as caught:
        merge(environ={"HERMITTY_COLS": "wide"})
    assert str(caught.value) == (
        "HERMITTY_COLS: setting terminal.cols is 'wide'; it must be a whole number from 1 to 4096"
    )
    loaded = merge(environ={"HERMITTY_TERMINAL__COLZ": "1"})
    assert loaded.warnings == (
        "HERMITTY_TERMINAL__COLZ: there is no setting 'terminal.colz'; did you mean terminal.cols?",
    )


def test_a_bad_argument_is_refused() -> None:
    with pytest.raises(InvalidSettings, match=r"^setting terminal\.cols is 0"):
        merge(arguments={"terminal.cols": 0})
    with pytest.raises(InvalidSettings, match=r"^there is no setting 'terminal\.colz'"):
        merge(arguments={"terminal.colz": 0})


# The file of a workspace.


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("terminal.shell = '/p/evil'", f"setting terminal.shell {FORBIDDEN}"),
        ("terminal.env = { PATH = '/p' }", f"setting terminal.env {FORBIDDEN}"),
        ("history.enabled = false", f"setting history.enabled {FORBIDDEN}"),
        ("run.kill_exempt = ['']", "setting run.kill_exempt is ('',); it must be a list of texts"),
        ("run.wait_s = 'none'", f"setting run.wait_s is none; {WITHIN} 0 to 3600"),
        ("run.wait_s = 1e9", f"setting run.wait_s is 1000000000.0; {WITHIN} 0 to 3600"),
        ("terminal.output_line_limit = 0", f"setting terminal.output_line_limit is 0; {WITHIN} 50 to 5000"),
        ("terminal.colz = 1", "there is no setting 'terminal.colz'; did you mean terminal.cols?"),
    ],
)
def test_a_workspace_cannot_do_harm(text: str, warning: str) -> None:
    loaded = workspace(f"{text}\nterminal.cols = 99")
    assert loaded.settings == Settings().with_values({"terminal.cols": 99})
    assert loaded.warnings == (f"/p/.hermitty.toml:1: {warning}",)


def test_the_user_s_value_stays_when_the_workspace_may_not_set_it() -> None:
    loaded = merge(
        user=FileText(Path("/c.toml"), b"terminal.shell = 'zsh'"),
        workspace=FileText(Path("/w"), b"terminal.shell = 'sh'"),
    )
    assert loaded.settings.terminal.shell == "zsh"
    assert loaded.origins["terminal.shell"] == Origin("file", "/c.toml", 1)


def test_a_broken_workspace_file_stops_nobody() -> None:
    loaded = workspace(b"terminal.cols = 99\n[")
    assert loaded.settings == Settings()
    (warning,) = loaded.warnings
    assert warning.startswith("/p/.hermitty.toml:2:2: not valid TOML")


# Changes.


def rewritten(path: Path, text: str) -> None:
    """Write as editors do: a new file in the place of the old one."""
    new = path.with_name("new")
    new.write_text(text)
    new.replace(path)


@pytest.fixture
def told() -> list[str]:
    """What a source of settings said."""
    return []


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the user's file may be."""
    return tmp_path / "config.toml"


@pytest.fixture
def source(file: Path, tmp_path: Path, told: list[str]) -> SettingsSource:
    """A source without any file yet."""
    (tmp_path / "work").mkdir()
    return SettingsSource(config_file=file, workspace=tmp_path / "work", environ={}, tell=told.append)


def test_a_changed_file_counts_from_the_next_look_on(source: SettingsSource, file: Path, told: list[str]) -> None:
    first = source.current()
    assert first == Settings()
    assert source.current() is first
    for cols in (80, 81, 82):  # the same size, within one tick of the clock
        file.write_text(f"terminal.cols = {cols}")
        assert source.current().terminal.cols == cols
    rewritten(file, "terminal.cols = 83")
    assert source.current().terminal.cols == 83
    assert source.current() is source.current()
    file.unlink()
    assert source.current() == Settings()
    assert told == []


def test_an_old_file_is_not_read_again(source: SettingsSource, file: Path) -> None:
    file.write_text("terminal.cols = 80")
    os.utime(file, (1_000_000_000, 1_000_000_000))
    loaded = source.loaded()
    assert loaded.origins["terminal.cols"] == Origin("file", str(file), 1)
    assert source.loaded() is loaded


def test_the_file_of_the_workspace_counts_too(source: SettingsSource, tmp_path: Path) -> None:
    (tmp_path / "work" / ".hermitty.toml").write_text("terminal.cols = 77")
    assert source.current().terminal.cols == 77


def test_a_link_in_a_workspace_is_not_followed(
    source: SettingsSource, file: Path, tmp_path: Path, told: list[str]
) -> None:
    file.write_text("terminal.cols = 80")
    (tmp_path / "work" / ".hermitty.toml").symlink_to(file)
    assert source.loaded().origins["terminal.cols"] == Origin("file", str(file), 1)
    source.current()
    assert len(told) == 1
    assert "links are not followed" in told[0]


def test_a_file_that_breaks_leaves_the_last_good_settings_and_is_told_once(
    source: SettingsSource, file: Path, told: list[str]
) -> None:
    file.write_text("terminal.cols = 80")
    good = source.current()
    file.write_text("terminal.cols = 0")
    assert source.current() is source.current() is good
    bad = f"{file}:1: setting terminal.cols is 0; it must be a whole number from 1 to 4096"
    assert told == [f"{bad}; the settings from before stay in use"]
    file.write_text("terminal.cols = ")
    assert source.current() is source.current() is good
    assert len(told) == 2
    file.write_text("terminal.cols = 81")
    assert source.current().terminal.cols == 81
    file.write_text("terminal.cols = 0")
    source.current()
    assert told[2:] == [f"{bad}; the settings from before stay in use"]


def test_warnings_are_told_once(source: SettingsSource, file: Path, told: list[str]) -> None:
    for rows in (10, 11):
        file.write_text(f"x = 1\nterminal.rows = {rows}")
        assert source.current().terminal.rows == rows
    assert told == [f"{file}:1: there is no setting 'x'"]


def test_a_file_that_is_broken_at_the_start_is_an_error(file: Path) -> None:
    file.write_text("[")
    with pytest.raises(InvalidSettings, match=r"config\.toml:1:2: not valid TOML"):
        SettingsSource(config_file=file, environ={})


def test_a_file_named_by_the_variable_and_missing_is_told(tmp_path: Path, told: list[str]) -> None:
    source = SettingsSource(environ={"HERMITTY_CONFIG": str(tmp_path / "x.toml")}, tell=told.append)
    assert source.current() == Settings()
    assert told == [f"{tmp_path / 'x.toml'}: named by HERMITTY_CONFIG, but not there"]
    (tmp_path / "x.toml").write_text("terminal.cols = 80")
    assert source.current().terminal.cols == 80


def test_the_documentation_lists_the_settings_as_they_are() -> None:
    written = DOCS.read_text(encoding="utf-8")
    assert written == with_tables(written), "run: python -m hermitty.runtime.settings.markdown docs/settings.md"
    assert all(f"| `{name}` |" in written for name in all_settings())
