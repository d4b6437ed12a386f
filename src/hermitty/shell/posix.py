"""POSIX shells without hooks (dash, busybox ash, ksh): the line is read from a file, the prompt tells its end."""

from hermitty.model import Quality
from hermitty.shell.dialect import ENV_FILE, LINE_FILE, ShellOptions, Startup, Submission, script
from hermitty.shell.quoting import parse_exports, quote_posix


class Posix:
    """Any shell that reads $ENV and expands its prompt, as POSIX demands of interactive shells."""

    name = "sh"
    quality = Quality.BASIC
    is_posix = True
    prelude = None
    farewell = None

    def startup(self, nonce: str, directory: str, env: dict[str, str], options: ShellOptions) -> Startup:
        own = env.get("ENV", "")
        values = {
            "NONCE": nonce,
            "DIR": quote_posix(directory),
            "ENV_SET": "1" if own else "",
            "ENV": quote_posix(own),
            # The shell would expand parameters in the value, as it does between double quotes.
            "ENV_EXPANDED": own.replace('"', '\\"'),
        }
        return Startup(
            args=("-l", "-i") if options.login else ("-i",),
            env={"ENV": f"{directory}/init.sh"},
            files={"init.sh": script("integration.sh", values)},
            secret_files=("init.sh",),
        )

    def submit(self, line: str, directory: str, options: ShellOptions) -> Submission:
        text = line.encode("utf-8", "surrogateescape") + b"\n"
        # Under `set -x` the second one is read: its first line prints the marker, and is traced before that.
        return Submission(keys=b"__hermitty_run\n", files={LINE_FILE: text, "traced": b'__hermitty_c "$?"\n' + text})

    def recover(self, directory: str, options: ShellOptions) -> Submission | None:
        return Submission(keys=b"__hermitty_recover\n")

    def quote(self, word: str) -> str:
        return quote_posix(word)

    def change_directory(self, path: str) -> str:
        # A relative name without a dot may be found in CDPATH; `command` passes by functions of that name.
        plain = path if path.startswith("/") else f"./{path}"
        return f"command cd {quote_posix(plain)}"

    def one_shot(self, line: str) -> tuple[str, ...]:
        return ("-c", line)

    def parse_environment(self, dump: bytes) -> dict[str, str]:
        return parse_exports(dump)

    def dump_environment(self, directory: str) -> str | bytes | None:
        return f"command export -p >|{quote_posix(f'{directory}/{ENV_FILE}')}"
