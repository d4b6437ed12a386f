"""bash: the line goes in as a bracketed paste, so that tabs and newlines are text and not keys."""

import re

from hermitty.model import Quality
from hermitty.shell.dialect import (
    KEY_ENVIRONMENT,
    KEY_KILL_LINE,
    KEY_PASTE,
    KEY_SUBMIT,
    KEY_TELL_LINE,
    LINE_FILE,
    ShellOptions,
    Startup,
    Submission,
    script,
)
from hermitty.shell.quoting import parse_exports, quote_posix

# Longer lines take the line editor too long to draw; they go through a file.
_TYPED_LIMIT = 4096
# Bytes that the terminal or the line editor would act upon, even inside a paste.
_NOT_TYPABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Bash:
    """bash 4.4 and later."""

    name = "bash"
    quality = Quality.RICH
    is_posix = True
    prelude = None
    farewell = "exit\n"

    def startup(self, nonce: str, directory: str, env: dict[str, str], options: ShellOptions) -> Startup:
        values = {
            "NONCE": nonce,
            "DIR": quote_posix(directory),
            "LOGIN": "1" if options.login else "",
            "CLEAN_HISTORY": "1" if options.keep_history_clean else "",
        }
        extra: dict[str, str] = {}
        if options.command_delay_s > 0:
            extra["PROMPT_COMMAND"] = f"sleep {options.command_delay_s:g}"
        return Startup(
            args=("--init-file", f"{directory}/init.bash", "-i"),
            env=extra,
            files={"init.bash": script("integration.bash", values)},
            secret_files=("init.bash",),
        )

    def submit(self, line: str, directory: str, options: ShellOptions) -> Submission:
        files: dict[str, bytes] = {}
        if len(line) > _TYPED_LIMIT or _NOT_TYPABLE.search(line):
            files[LINE_FILE] = line.encode("utf-8", "surrogateescape")
            line = f'eval "$(<{quote_posix(f"{directory}/{LINE_FILE}")})"'
        elif "\n" in line:
            # Without eval, bash would read the lines one by one: an open quote in the last one would hang after the
            # others have run, and Ctrl-C would end one line instead of the whole.
            line = f"eval {quote_posix(line)}"
        return Submission(
            keys=self._typed(line, options),
            clear=KEY_KILL_LINE,
            files=files,
            accept=KEY_SUBMIT,
            tell=KEY_TELL_LINE,
            told=line,
        )

    def recover(self, directory: str, options: ShellOptions) -> Submission | None:
        return Submission(keys=self._typed("__hermitty_recover", options), clear=KEY_KILL_LINE, accept=KEY_SUBMIT)

    def quote(self, word: str) -> str:
        return quote_posix(word)

    def change_directory(self, path: str) -> str:
        # `cd -- -` would go back, and a name without a slash may be found in CDPATH.
        plain = path if path.startswith("/") else f"./{path}"
        return f"builtin cd -- {quote_posix(plain)}"

    def one_shot(self, line: str) -> tuple[str, ...]:
        return ("-c", line)

    def parse_environment(self, dump: bytes) -> dict[str, str]:
        # The line editor exports its own state to what a key runs.
        return {name: value for name, value in parse_exports(dump).items() if not name.startswith("READLINE_")}

    def dump_environment(self, directory: str) -> str | bytes | None:
        return KEY_ENVIRONMENT

    def _typed(self, line: str, options: ShellOptions) -> bytes:
        # A leading space keeps the line out of the history (HISTCONTROL=ignorespace).
        space = b" " if options.keep_history_clean else b""
        text = line.encode("utf-8", "surrogateescape")
        return KEY_PASTE + space + text + b"\x1b[201~"
