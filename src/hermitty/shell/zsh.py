"""zsh: the line goes in through a file, and one key tells the line editor to take it from there."""

from hermitty.model import Quality
from hermitty.shell.dialect import KEY_SUBMIT, LINE_FILE, ShellOptions, Startup, Submission, script
from hermitty.shell.quoting import quote_posix


class Zsh:
    """zsh 5.3 and later."""

    name = "zsh"
    quality = Quality.RICH
    is_posix = True
    prelude = None
    farewell = None

    def startup(self, nonce: str, directory: str, env: dict[str, str], options: ShellOptions) -> Startup:
        args = ("-l", "-i") if options.login else ("-i",)
        extra: dict[str, str] = {}
        if options.zsh_clear_eol_mark:
            extra["PROMPT_EOL_MARK"] = ""
        if options.zsh_oh_my:
            extra["ITERM_SHELL_INTEGRATION_INSTALLED"] = "Yes"
        if options.zsh_p10k:
            extra["POWERLEVEL9K_TERM_SHELL_INTEGRATION"] = "true"
        if not options.zdotdir:
            return Startup(args=args, env=extra)
        values = {
            "NONCE": nonce,
            "DIR": quote_posix(directory),
            "ZDOTDIR": quote_posix(env.get("ZDOTDIR", "")),
            "ZDOTDIR_SET": "1" if "ZDOTDIR" in env else "''",
            "CLEAN_HISTORY": "1" if options.keep_history_clean else "",
        }
        return Startup(
            args=args,
            env={**extra, "ZDOTDIR": directory},
            files={".zshenv": script("integration.zsh", values)},
            secret_files=(".zshenv",),
        )

    def submit(self, line: str, directory: str, options: ShellOptions) -> Submission:
        text = line.encode("utf-8", "surrogateescape")
        return Submission(keys=KEY_SUBMIT, files={LINE_FILE: text}, is_confirmed=True, told=line)

    def recover(self, directory: str, options: ShellOptions) -> Submission | None:
        return self.submit("__hermitty_recover", directory, options)

    def quote(self, word: str) -> str:
        return quote_posix(word)

    def change_directory(self, path: str) -> str:
        # Without an option, `cd -- -` and `cd -- +1` still mean the directory stack, and a name without a slash may
        # be found in CDPATH or be the name of a variable. A path that starts with a slash or a dot is only a path.
        plain = path if path.startswith("/") else f"./{path}"
        return f"builtin cd -- {quote_posix(plain)}"

    def one_shot(self, line: str) -> tuple[str, ...]:
        return ("-c", line)

    def parse_environment(self, dump: bytes) -> dict[str, str]:
        return parse_entries(dump)

    def dump_environment(self, directory: str) -> str | bytes | None:
        return None


def parse_entries(dump: bytes) -> dict[str, str]:
    """Read entries as `env -0` prints them: name=value, each closed by NUL."""
    found: dict[str, str] = {}
    for entry in dump.split(b"\0"):
        name, equals, value = entry.partition(b"=")
        if equals:
            found[name.decode("utf-8", "surrogateescape")] = value.decode("utf-8", "surrogateescape")
    return found
