"""Variables of the environment or of a shell that make programs run code, or do something else than they say."""

import re

_RUNS = "programs run, load or obey what is in it"
_HARMLESS = re.compile(
    r"GIT_(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL|DATE)|GIT_(?:TERMINAL_PROMPT|OPTIONAL_LOCKS|FLUSH)"
    r"|PYTHON(?:UNBUFFERED|DONTWRITEBYTECODE|IOENCODING|UTF8|HASHSEED|FAULTHANDLER|NODEBUGRANGES)"
    r"|NODE_ENV|NODE_NO_WARNINGS|CARGO_TERM_COLOR|BASH_SILENCE_DEPRECATION_WARNING|LESSCHARSET|MANWIDTH|GREP_COLORS?"
    r"|PERL_BADLANG|CARGO_INCREMENTAL"
)
# Values with which a variable of a pager does no harm.
_PAGERS = re.compile(r"(?:GIT_|MAN|BAT_|SYSTEMD_|DELTA_|AWS_|GH_)?PAGER")
_FAMILIES = re.compile(
    r"(?:LD|DYLD|GIT|BASH|PERL|RUBY|GEM|BUNDLE|NODE|NPM|npm|JAVA|JDK|MAVEN|GRADLE|CARGO|RUSTC|SSH|SUDO|TAR|RIPGREP|FZF|BAT"
    r"|DOCKER|KUBE|MAKE|GH|GROFF|XDG|GCONV|MALLOC|GLIBC|COREPACK|YARN|PIP|UV|POETRY|CONDA|R|LUA|PHP|DOTNET|MSBUILD|COR"
    r"|CORECLR|VIM|NVIM|GDB|QT|GTK|GIO|ELECTRON|ZSH|fish|_JAVA|SYSTEMD|HG|SVN|CVS|RSYNC|BORG|TF|ANSIBLE|AWS|GOOGLE|PG"
    r"|MYSQL|PROMPT)_\w*|(?:LESS|PYTHON|PERL5|RUBY|AWK|ZDOT|TERMINFO)\w*|\w*_functions|\w*SAN_OPTIONS"
    r"|MAN(?:PATH|PAGER|OPT|ROFFOPT|ROFFSEQ|LESS|SECT)?|HIST(?:FILE|IGNORE|TIMEFORMAT)"
    r"|GO(?:FLAGS|PATH|ROOT|BIN|PROXY|TOOLCHAIN|ENV|SUMDB|NOSUMDB|PRIVATE|DEBUG|TMPDIR|CACHE|WORK|VCS|INSECURE|EXPERIMENT)"
)
_NAMES = frozenset(
    {
        *(
            "PATH",
            "IFS",
            "ENV",
            "SHELL",
            "SHELLOPTS",
            "BASHOPTS",
            "CDPATH",
            "FPATH",
            "HOME",
            "PWD",
            "OLDPWD",
            "PS0",
            "PS1",
        ),
        *(
            "PS2",
            "PS3",
            "PS4",
            "RPS1",
            "RPROMPT",
            "TMOUT",
            "EXECIGNORE",
            "GLOBIGNORE",
            "FCEDIT",
            "histchars",
            "INPUTRC",
        ),
        *(
            "EDITOR",
            "VISUAL",
            "BROWSER",
            "PAGER",
            "TMPDIR",
            "TEMP",
            "TMP",
            "LOCPATH",
            "NLSPATH",
            "HOSTALIASES",
            "TERMCAP",
        ),
        *(
            "RES_OPTIONS",
            "RESOLV_HOST_CONF",
            "LOCALDOMAIN",
            "POSIXLY_CORRECT",
            "CC",
            "CXX",
            "CPP",
            "LD",
            "AR",
            "CFLAGS",
        ),
        *("CXXFLAGS", "LDFLAGS", "RUSTFLAGS", "RUSTDOCFLAGS", "MAKEFLAGS", "MFLAGS", "GREP_OPTIONS", "GZIP", "BZIP2"),
        *("XZ_OPT", "XZ_DEFAULTS", "ZIPOPT", "UNZIP", "UNZIPOPT", "ZSTD_CLEVEL", "DIFF_OPTIONS", "SOURCE_DATE_FILE"),
        *(
            "OPENSSL_CONF",
            "OPENSSL_ENGINES",
            "SSLKEYLOGFILE",
            "KUBECONFIG",
            "EMACSLOADPATH",
            "PROMPT",
            "MAIL",
            "MAILPATH",
        ),
        *(
            "command_not_found_handle",
            "WINEPREFIX",
            "NETRC",
            "CURL_HOME",
            "WGETRC",
            "ACKRC",
            "ACK_PAGER",
            "ACK_OPTIONS",
        ),
        # Arithmetic trusts these to be numbers.
        *("RANDOM", "SECONDS", "LINENO", "UID", "EUID", "PPID"),
        *("TREE_COLORS_FILE", "JQ_LIBRARY_PATH", "PSModulePath", "CLASSPATH", "DEBUGINFOD_URLS", "GETCONF_DIR"),
        *(
            "MORE",
            "TROFF",
            "RUSTC",
            "PATHEXT",
            "COMSPEC",
            "TZDIR",
            "GMON_OUT_PREFIX",
            "GCOV_PREFIX",
            "LLVM_PROFILE_FILE",
            "RSH",
        ),
    }
)
# Arrays of zsh that are tied to variables above.
_ZSH = frozenset({"path", "fpath", "cdpath", "manpath", "module_path", "aliases", "functions", "commands", "NULLCMD"})
_ZSH |= {"PROMPT", "READNULLCMD", "galiases", "saliases", "dis_functions", "options", "nameddirs", "userdirs"}


def dangerous_variable(name: str, value: str | None = None, shell: str = "bash") -> str | None:
    """Tell why setting a variable is dangerous; None if it is not. A value of None is not known."""
    if _HARMLESS.fullmatch(name):
        return None
    if _PAGERS.fullmatch(name) and value in ("", "cat"):
        return None
    if name in _NAMES or _FAMILIES.fullmatch(name) or (shell == "zsh" and name in _ZSH):
        return f"{name} is set, and {_RUNS}"
    return None
