"""PowerShell: a word is typed, and the hook that reads lines for the host puts a line from a file in its place."""

import re

from hermitty.model import Quality
from hermitty.shell.dialect import LINE_FILE, ShellOptions, Startup, Submission, script
from hermitty.shell.zsh import parse_entries

# PowerShell reads the typographic single quotes like the plain one.
_SINGLE_QUOTES = re.compile("(['\u2018\u2019\u201a\u201b])")
_ABSOLUTE = re.compile(r"[A-Za-z]:[\\/]|[\\/]")
# A program's own code, which -Command would flatten to 1.
_EXIT = "if ($?) { exit 0 } elseif ($LASTEXITCODE) { exit $LASTEXITCODE } else { exit 1 }"


class Pwsh:
    """PowerShell 7, and Windows PowerShell 5.1."""

    name = "pwsh"
    quality = Quality.RICH
    is_posix = False
    prelude = None
    farewell = None

    def startup(self, nonce: str, directory: str, env: dict[str, str], options: ShellOptions) -> Startup:
        values = {
            "NONCE": nonce,
            "DIR": self.quote(directory),
            "COUNTER": "1" if options.powershell_counter else "0",
        }
        # -Login is understood only as the very first argument.
        login = ("-Login",) if options.login else ()
        return Startup(
            args=(*login, "-NoLogo", "-NoExit", "-Command", f". {self.quote(f'{directory}/init.ps1')}"),
            files={"init.ps1": script("integration.ps1", values)},
            secret_files=("init.ps1",),
        )

    def submit(self, line: str, directory: str, options: ShellOptions) -> Submission:
        return Submission(keys=b"__hermitty_run\r", files={LINE_FILE: line.encode("utf-8", "surrogateescape")})

    def recover(self, directory: str, options: ShellOptions) -> Submission | None:
        # The hook that reads lines puts a lost prompt back by itself.
        return None

    def quote(self, word: str) -> str:
        return "'" + _SINGLE_QUOTES.sub(r"\1\1", word) + "'"

    def change_directory(self, path: str) -> str:
        # Even a literal path of "-", "+" or "~" has a meaning of its own, unless a dot comes first.
        plain = path if _ABSOLUTE.match(path) else f"./{path}"
        return f"Microsoft.PowerShell.Management\\Set-Location -LiteralPath {self.quote(plain)}"

    def one_shot(self, line: str) -> tuple[str, ...]:
        return ("-NoLogo", "-NoProfile", "-NonInteractive", "-Command", f"{line}\n{_EXIT}")

    def parse_environment(self, dump: bytes) -> dict[str, str]:
        return parse_entries(dump)

    def dump_environment(self, directory: str) -> str | bytes | None:
        return None
