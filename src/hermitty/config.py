"""Every setting, in one typed place: its type, its default, what it does and what it may be.

A setting is an annotated field of a group; its dotted name is `group.field`. `hermitty.runtime.settings` knows where
values come from: files, environment, arguments.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from types import UnionType
from typing import Annotated, Any, Self, get_args, get_origin, get_type_hints

from hermitty.errors import InvalidSettings
from hermitty.model import MAX_CELLS

KB = 1024
MB = 1024 * KB
GB = 1024 * MB

# What somebody else's repository may ask of a wait: long enough for a build, and it ends.
_PATIENCE = (0, 3600)
# Numbers from here on fit neither a clock nor a database.
_TOO_LARGE = 2**62


@dataclass(frozen=True, slots=True)
class Doc:
    """What a setting does, and the values it may have.

    `workspace` says whether the file of a workspace may set it: never (False), as everybody else (True), or within a
    range. It is never for what chooses programs, weakens a limit or hides what was done.
    """

    text: str
    least: float | None = None
    most: float | None = None
    workspace: bool | tuple[float, float] = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TerminalSettings:
    """How terminals are started and read."""

    shell: Annotated[str | None, Doc("which shell; none: `$SHELL` if hermitty speaks it, else bash, else sh")] = None
    login_shell: Annotated[bool, Doc("bash reads the login files instead of `.bashrc`")] = False
    cols: Annotated[int, Doc("columns of a new terminal", least=1, most=MAX_CELLS, workspace=(20, 1000))] = 120
    rows: Annotated[int, Doc("rows of a new terminal", least=1, most=MAX_CELLS, workspace=(5, 1000))] = 30
    env: Annotated[dict[str, str], Doc("variables added to every terminal's environment")] = field(default_factory=dict)

    shell_integration_disabled: Annotated[
        bool, Doc("`run` uses the pipe provider, terminals the sentinel: no shell integration")
    ] = False
    shell_integration_timeout_s: Annotated[
        float, Doc("how long to wait for the shell integration before the fallback is used", least=0)
    ] = 5.0
    command_delay_s: Annotated[float, Doc("bash sleeps that long before each prompt", least=0, most=60)] = 0.0
    keep_history_clean: Annotated[bool, Doc("agents' commands stay out of the shell's own history")] = True
    zsh_clear_eol_mark: Annotated[
        bool, Doc("zsh prints no mark for a missing final newline (`PROMPT_EOL_MARK` is empty)")
    ] = True
    zsh_oh_my: Annotated[bool, Doc("tell Oh My Zsh that the terminal has shell integration")] = False
    zsh_p10k: Annotated[bool, Doc("tell Powerlevel10k that the terminal has shell integration")] = False
    zdotdir: Annotated[
        bool, Doc("start zsh with a private `ZDOTDIR`, restored before your files are read; false: no integration")
    ] = True
    powershell_counter: Annotated[bool, Doc("append a counter to each PowerShell command")] = False

    output_line_limit: Annotated[int, Doc("most lines of `text`; 0 is no limit", least=0, workspace=(50, 5_000))] = 500
    output_character_limit: Annotated[
        int, Doc("most characters of `text`; 0 is no limit", least=0, workspace=(1_000, 200_000))
    ] = 50_000
    compress_progress_bar: Annotated[
        bool, Doc("a line drawn again and again shows its last state in `text`; false: every state", workspace=True)
    ] = True
    capture_head_bytes: Annotated[
        int, Doc("raw output kept from the start of a command, to make `text` of", least=0, most=GB)
    ] = 700 * KB
    capture_tail_bytes: Annotated[
        int, Doc("raw output kept from the end of a command, to make `text` of", least=0, most=GB)
    ] = 300 * KB
    log_bytes: Annotated[int, Doc("raw bytes of a terminal kept by offset", least=1, most=4 * GB)] = 512 * KB
    event_interval_s: Annotated[float, Doc("at most one output event in this time", least=0, most=60)] = 0.1


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How long callers wait, and when a command is stopped."""

    wait_s: Annotated[
        float | None,
        Doc("how long `run` waits before the command goes on in the background", least=0, workspace=_PATIENCE),
    ] = 60.0
    kill_after_s: Annotated[float | None, Doc("when a command is killed", least=0)] = None
    kill_exempt: Annotated[tuple[str, ...], Doc("commands that start with one of these are never killed by time")] = ()
    interrupt_grace_s: Annotated[
        float, Doc("how long a command that is killed may take after SIGINT", least=0, most=3600)
    ] = 0.5
    terminate_grace_s: Annotated[
        float, Doc("how long a command that is killed may take after SIGTERM", least=0, most=3600)
    ] = 0.5

    def exempts(self, line: str) -> bool:
        """Tell whether a command is never killed by time."""
        return bool(self.kill_exempt) and line.lstrip().startswith(self.kill_exempt)


@dataclass(frozen=True, slots=True)
class ReuseSettings:
    """Which terminal a command gets, and how many there are."""

    max_switches: Annotated[
        int,
        Doc("how often a terminal may change its directory for another command before a new one is opened", least=0),
    ] = 5
    terminals_per_workspace: Annotated[
        int, Doc("most terminals of a workspace; who asks for one more waits", least=1, most=4096)
    ] = 32
    spares: Annotated[int, Doc("most warm terminals kept ready for the next caller", least=0, most=64)] = 5
    spare_delay_s: Annotated[
        float, Doc("how long after a terminal was given back a warm one is opened", least=0, most=3600)
    ] = 1.0
    steal: Annotated[bool, Doc("idle terminals of another session may be taken")] = False
    reset_env: Annotated[bool, Doc("a change of directory restores the environment the terminal had before")] = False
    idle_close_s: Annotated[float | None, Doc("released terminals are closed after this time", least=0)] = 1800.0


@dataclass(frozen=True, slots=True)
class OutputSettings:
    """What is kept of commands' output, and how much of it is shown."""

    artifact_max_bytes: Annotated[
        int, Doc("most raw output of one command kept on disk; what comes after that is counted and dropped", least=0)
    ] = GB
    artifact_total_bytes: Annotated[int, Doc("most disk space of all artifacts; the oldest go first", least=0)] = 4 * GB
    artifact_page_bytes: Annotated[
        int, Doc("how much of an artifact is read at once", least=1, most=16 * MB, workspace=(1 * KB, 1 * MB))
    ] = 40 * KB
    context_records: Annotated[
        int, Doc("how many of the last pieces of output are kept as context", least=0, most=10_000, workspace=(0, 1000))
    ] = 40
    report_terminals: Annotated[
        int, Doc("most terminals listed in a session's report", least=1, most=4096, workspace=(1, 100))
    ] = 20
    report_characters: Annotated[
        int, Doc("most characters of new output of each terminal in a report", least=0, workspace=(100, 50_000))
    ] = 5_000


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """When a session's terminals count as calm enough to report on them."""

    hot_s: Annotated[float, Doc("a terminal is hot this long after output", least=0, most=3600, workspace=(0, 60))] = (
        2.0
    )
    hot_compiler_s: Annotated[
        float, Doc("a terminal is hot this long after output of a compiler", least=0, most=3600, workspace=(0, 60))
    ] = 15.0
    cooling_after_edit_s: Annotated[
        float, Doc("a report after an edited file first waits this long", least=0, most=60, workspace=(0, 10))
    ] = 0.3
    cooling_step_s: Annotated[
        float, Doc("how often a report looks whether terminals are still hot", least=0.01, most=60, workspace=(0.05, 5))
    ] = 0.1
    cooling_limit_s: Annotated[
        float, Doc("a report waits for hot terminals at most this long", least=0, most=3600, workspace=(0, 60))
    ] = 5.0


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """How long the tools that agents call wait."""

    wait_temporary_s: Annotated[
        float, Doc("wait of a command in a temporary terminal", least=0, workspace=_PATIENCE)
    ] = 60.0
    wait_persistent_s: Annotated[
        float, Doc("wait of a command in a persistent terminal", least=0, workspace=_PATIENCE)
    ] = 30.0
    wait_interactive_s: Annotated[
        float, Doc("wait of a command whose prompts are answered", least=0, workspace=_PATIENCE)
    ] = 120.0
    silence_note_s: Annotated[
        float,
        Doc(
            "a command without output for this long is reported as silent; it is not stopped",
            least=0,
            workspace=_PATIENCE,
        ),
    ] = 300.0


@dataclass(frozen=True, slots=True)
class HistorySettings:
    """What is remembered of the commands that ran."""

    enabled: Annotated[bool, Doc("commands are recorded in the state directory")] = True
    keep_days: Annotated[float | None, Doc("commands are forgotten after this many days", least=0, most=36_500)] = 365.0
    max_entries: Annotated[int | None, Doc("most commands kept; the oldest go first", least=1)] = 100_000
    mask_secrets: Annotated[bool, Doc("what looks like a password or a token in a command is stored as `***`")] = True
    ignore_space: Annotated[bool, Doc("commands that start with a space are not recorded")] = False


@dataclass(frozen=True, slots=True)
class RecordingSettings:
    """What a server records of its terminals."""

    enabled: Annotated[bool, Doc("terminals are recorded as asciicasts in the state directory")] = True
    max_bytes: Annotated[
        int, Doc("most disk space of one terminal's recording; its oldest part goes first", least=256 * KB, most=GB)
    ] = 8 * MB
    total_bytes: Annotated[
        int, Doc("most disk space of all recordings; those of terminals that ended go first", least=MB)
    ] = 256 * MB
    keep_days: Annotated[
        float | None, Doc("recordings of terminals that ended are deleted after this many days", least=0, most=36_500)
    ] = 7.0
    input: Annotated[bool, Doc("what is typed is recorded, too, except while the terminal does not echo it")] = False


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """Which commands run without a question. What destroys a system needs a typed confirmation in every mode."""

    mode: Annotated[
        str,
        Doc(
            "`normal` asks about what is not safe, `ask_always` about everything, `trust_workspace` not about changes "
            "inside of the workspace, `off` about nothing",
            choices=("ask_always", "normal", "trust_workspace", "off"),
        ),
    ] = "normal"
    auto_approve_safe: Annotated[bool, Doc("what only reads runs without a question")] = True
    confirm_dangerous: Annotated[
        bool, Doc("ask about what changes things; false: only about what is critical or cannot be analysed")
    ] = True
    question_timeout_s: Annotated[
        float | None, Doc("a question that nobody answers within this time means no", least=0, most=7 * 86_400)
    ] = 300.0


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """What confines the programs of terminals. A caller may ask for more than these say, never for less."""

    mode: Annotated[
        str,
        Doc(
            "`off`: not at all; `workspace`: the system is read-only, secrets are hidden, the workspace can be "
            "written; `strict`: only what is listed can be read, and the environment is cleared",
            choices=("off", "workspace", "strict"),
        ),
    ] = "off"
    workspaces: Annotated[
        dict[str, str], Doc("modes of the workspaces at, or below, these directories, instead of `sandbox.mode`")
    ] = field(default_factory=dict)
    network: Annotated[str, Doc("`none`: no network at all; `host`: that of the machine", choices=("none", "host"))] = (
        "none"
    )
    read_deny: Annotated[tuple[str, ...], Doc("more files and directories to hide")] = ()
    read: Annotated[
        tuple[str, ...], Doc("what can be read in `strict`, besides the system; in `workspace`, what is not hidden")
    ] = ()
    write: Annotated[tuple[str, ...], Doc("more directories that can be written")] = ()
    pids: Annotated[int | None, Doc("most processes of a terminal", least=1, most=4_194_304)] = 1024
    memory_bytes: Annotated[
        int | None, Doc("most memory of a terminal's processes together, where a control group can be had", least=MB)
    ] = None
    cpu: Annotated[
        float | None, Doc("most processors of a terminal, where a control group can be had", least=0.01, most=4096)
    ] = None
    allow_weaker: Annotated[
        bool, Doc("where bubblewrap does not work, confine as far as possible and say so; false: refuse")
    ] = False
    fewer_questions: Annotated[
        bool,
        Doc(
            "what a complete sandbox without network contains, such as tests, runs without a question in the "
            "directories of `sandbox.workspaces`"
        ),
    ] = True


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where the server listens, and what it takes. What is about connections counts from the next start on."""

    host: Annotated[str, Doc("address that the server listens on")] = "127.0.0.1"
    port: Annotated[int, Doc("port that the server listens on; 0 is any free one", least=0, most=65_535)] = 8421
    allowed_hosts: Annotated[
        tuple[str, ...], Doc("other names of the server, as browsers send them in `Host`; `*.` stands for any part")
    ] = ()
    allowed_origins: Annotated[
        tuple[str, ...], Doc("other sites whose pages may use the server, such as `https://example.org`")
    ] = ()
    body_bytes: Annotated[int, Doc("most bytes of a request's body", least=KB, most=GB)] = MB
    header_bytes: Annotated[int, Doc("most bytes of a request's headers", least=KB, most=MB)] = 16 * KB
    connections: Annotated[int, Doc("most connections at a time", least=1, most=1_000_000)] = 1024
    requests_per_s: Annotated[
        int, Doc("most requests of one token in a second, in the long run", least=1, most=1_000_000)
    ] = 1000
    failed_tries: Annotated[int, Doc("wrong tokens that one address may try in a minute", least=1, most=1_000_000)] = 10
    idle_timeout_s: Annotated[
        float, Doc("connections on which nothing is asked are closed after this time", least=1, most=86_400)
    ] = 75.0
    longest_wait_s: Annotated[
        float, Doc("longest wait for a command that a request may ask for", least=0, most=7 * 86_400)
    ] = 3600.0
    heartbeat_s: Annotated[
        float, Doc("a stream of events says at least so often that it is alive", least=0.01, most=3600)
    ] = 15.0
    login_days: Annotated[float, Doc("a browser stays logged in for so many days", least=0, most=3650)] = 30.0


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings. Frozen: a change makes a new object, which new terminals then use."""

    terminal: TerminalSettings = field(default_factory=TerminalSettings)
    run: RunSettings = field(default_factory=RunSettings)
    reuse: ReuseSettings = field(default_factory=ReuseSettings)
    output: OutputSettings = field(default_factory=OutputSettings)
    session: SessionSettings = field(default_factory=SessionSettings)
    tools: ToolSettings = field(default_factory=ToolSettings)
    history: HistorySettings = field(default_factory=HistorySettings)
    recording: RecordingSettings = field(default_factory=RecordingSettings)
    policy: PolicySettings = field(default_factory=PolicySettings)
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)
    server: ServerSettings = field(default_factory=ServerSettings)

    def __post_init__(self) -> None:
        for setting in all_settings().values():
            if problem := setting.problem_with(self.value(setting.name)):
                raise InvalidSettings(problem)

    def value(self, name: str) -> Any:
        """Return the value of a setting by its dotted name."""
        setting = find_setting(name)
        return getattr(getattr(self, setting.group), setting.field)

    def with_values(self, values: Mapping[str, object]) -> Self:
        """Return settings that differ in these values, by dotted name."""
        changes: dict[str, dict[str, Any]] = {}
        for name, value in values.items():
            setting = find_setting(name)
            changes.setdefault(setting.group, {})[setting.field] = value
        return replace(self, **{name: replace(getattr(self, name), **change) for name, change in changes.items()})


@dataclass(frozen=True, slots=True)
class Setting:
    """The description of one setting."""

    group: str
    field: str
    kind: type  # bool, int, float, str, tuple or dict
    optional: bool
    default: Any
    doc: Doc

    @property
    def name(self) -> str:
        """Return the dotted name."""
        return f"{self.group}.{self.field}"

    @property
    def allowed(self) -> str:
        """Say which values it may have."""
        if self.doc.choices:
            return f"one of {', '.join(self.doc.choices)}"
        words = _KINDS[self.kind] + _range_text(self.doc.least, self.doc.most)
        return f"{words}, or none" if self.optional else words

    def problem_with(self, value: object) -> str | None:
        """Say why it cannot have this value, or return None."""
        if (value is None and self.optional) or (
            self._is_kind(value) and _within(value, self.doc.least, self.doc.most)
        ):
            return None
        return f"setting {self.name} is {self._shown(value)}; it must be {self.allowed}"

    def problem_in_workspace(self, value: object) -> str | None:
        """Say why the file of a workspace cannot give it this value, or return None."""
        if problem := self.problem_with(value):
            return problem
        match self.doc.workspace:
            case False:
                return f"setting {self.name} cannot be set by the file of a workspace; set it in your own"
            case (least, most) if value is None or not _within(value, least, most):
                limits = _range_text(least, most)
                return f"setting {self.name} is {self._shown(value)}; in the file of a workspace it must be{limits}"
        return None

    def _shown(self, value: object) -> str:
        if self.kind is dict:
            return "not valid"  # values of variables may be secrets
        if isinstance(value, int) and abs(value) >= _TOO_LARGE:
            return "too large"  # Python refuses to write numbers of thousands of digits
        text = "none" if value is None else str(value).lower() if isinstance(value, bool) else repr(value)
        return text if len(text) <= 100 else f"{text[:100]}…"

    def _is_kind(self, value: object) -> bool:
        if self.kind is str:
            if self.doc.choices:
                return value in self.doc.choices
            return isinstance(value, str) and value != "" and "\0" not in value
        if self.kind is tuple:
            return isinstance(value, tuple) and all(isinstance(item, str) and item for item in value)
        if self.kind is dict:
            return isinstance(value, dict) and all(_is_variable(name, text) for name, text in value.items())
        if self.kind is bool or isinstance(value, bool):
            return self.kind is bool and isinstance(value, bool)
        # Not a number and infinity compare as false with everything.
        return isinstance(value, int if self.kind is int else int | float) and abs(value) < _TOO_LARGE


_KINDS: dict[type, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    tuple: "a list of texts",
    dict: "a table of variables and their texts",
}


@cache
def all_settings() -> dict[str, Setting]:
    """Describe every setting, by dotted name."""
    found: dict[str, Setting] = {}
    for group, group_class in get_type_hints(Settings).items():
        hints = get_type_hints(group_class, include_extras=True)
        defaults = group_class()
        for item in fields(group_class):
            annotation, doc = get_args(hints[item.name])
            kind, optional = annotation, False
            if isinstance(annotation, UnionType):
                kind, optional = get_args(annotation)[0], True
            default = getattr(defaults, item.name)
            setting = Setting(group, item.name, get_origin(kind) or kind, optional, default, doc)
            found[setting.name] = setting
    return found


def find_setting(name: str) -> Setting:
    """Return the description of a setting, or raise InvalidSettings with the name that may be meant."""
    setting = all_settings().get(name)
    if setting is None:
        near = nearest_name(name)
        raise InvalidSettings(f"there is no setting {name!r}" + (f"; did you mean {near}?" if near else ""))
    return setting


def nearest_name(name: str) -> str | None:
    """Return the setting that is most probably meant by a wrong name."""
    from difflib import get_close_matches

    near = get_close_matches(name, all_settings(), n=1, cutoff=0.75)
    if not near:
        # The right name in the wrong group, or without one.
        last = name.rpartition(".")[2]
        near = [known for known, setting in all_settings().items() if setting.field == last]
    return near[0] if near else None


def _range_text(least: float | None, most: float | None) -> str:
    if least is not None and most is not None:
        return f" from {least:.10g} to {most:.10g}"
    return f", {least:.10g} or more" if least is not None else ""


def _within(value: object, least: float | None, most: float | None) -> bool:
    if not isinstance(value, int | float):
        return True
    return (least is None or value >= least) and (most is None or value <= most)


def _is_variable(name: object, text: object) -> bool:
    if not (isinstance(name, str) and isinstance(text, str)):
        return False
    return name != "" and not any(mark in name for mark in "=\0") and "\0" not in text
