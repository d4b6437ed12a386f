"""Every setting, in one typed place."""

from dataclasses import dataclass, field, fields

from hermitty.errors import InvalidSettings


@dataclass(frozen=True, slots=True)
class TerminalSettings:
    """How terminals are started and read."""

    shell: str | None = None  # None: the user's own ($SHELL) if hermitty speaks it, else bash, else sh
    login_shell: bool = False
    cols: int = 120
    rows: int = 30
    env: dict[str, str] = field(default_factory=dict)

    shell_integration_disabled: bool = False
    shell_integration_timeout_s: float = 5.0
    command_delay_s: float = 0.0
    keep_history_clean: bool = True
    zsh_clear_eol_mark: bool = True
    zsh_oh_my: bool = False
    zsh_p10k: bool = False
    zdotdir: bool = True
    powershell_counter: bool = False

    output_line_limit: int = 500
    output_character_limit: int = 50_000
    compress_progress_bar: bool = True
    capture_head_bytes: int = 700 * 1024
    capture_tail_bytes: int = 300 * 1024
    log_bytes: int = 1024 * 1024
    event_interval_s: float = 0.1


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How long callers wait, and when a command is stopped."""

    wait_s: float | None = 60.0
    kill_after_s: float | None = None
    kill_exempt: tuple[str, ...] = ()  # commands that start with one of these are never killed by time
    interrupt_grace_s: float = 0.5
    terminate_grace_s: float = 0.5


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings. Frozen: a change makes a new object, which new terminals then use."""

    terminal: TerminalSettings = field(default_factory=TerminalSettings)
    run: RunSettings = field(default_factory=RunSettings)

    def __post_init__(self) -> None:
        for group in (self.terminal, self.run):
            for item in fields(group):
                value = getattr(group, item.name)
                if isinstance(value, int | float) and not isinstance(value, bool) and value < 0:
                    raise InvalidSettings(f"setting {item.name} must not be negative, but is {value!r}")
