"""What programs in a sandbox must not see, unless somebody lists it: names only, no look at a disk."""

import re

from hermitty.sandbox.spec import Confinement, Mode

# Below the home directory: keys, tokens, wallets, browsers, mail. Both kinds of names: directories and files.
SECRETS_OF_HOME = (
    *(".ssh", ".aws", ".gnupg", ".azure", ".kube", ".docker", ".password-store", ".netrc", "_netrc", ".pgpass"),
    *(".config/gcloud", ".config/gh", ".config/hub", ".config/op", ".config/rclone", ".config/sops", ".config/doctl"),
    *(".config/hermitty", ".local/state/hermitty", ".config/containers", ".config/helm", ".config/fly", ".fly"),
    *(".npmrc", ".pypirc", ".git-credentials", ".config/git/credentials", ".my.cnf", ".mylogin.cnf", ".dockercfg"),
    *(".vault-token", ".s3cfg", ".boto", ".smbcredentials", ".terraform.d", ".terraformrc", ".cargo/credentials"),
    *(".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml", ".m2/settings-security.xml"),
    *(".gradle/gradle.properties", ".composer/auth.json", ".config/pip/pip.conf", ".subversion/auth"),
    *(".codex", ".claude", ".claude.json", ".gemini", ".config/github-copilot", ".cursor", ".aider.conf.yml"),
    *(".mozilla", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge"),
    *(".config/vivaldi", ".config/opera", ".thunderbird", ".local/share/keyrings", ".local/share/kwalletd"),
    *("snap/firefox", "snap/chromium", ".var/app", ".bitcoin", ".ethereum", ".electrum", ".config/Signal"),
    *(".config/Slack", ".config/discord", ".local/share/TelegramDesktop", ".config/1Password", ".config/Bitwarden"),
    *(".bash_history", ".zsh_history", ".python_history", ".node_repl_history", ".psql_history", ".mysql_history"),
    *(".sqlite_history", ".rediscli_history", ".local/share/fish/fish_history"),
    *(".local/share/hermitty", "Library/Keychains", "Library/Cookies"),
    # Sockets of agents and container engines, which do for others what these may not.
    *(".1password", ".colima", ".lima", ".rd", ".orbstack", ".minikube", ".local/share/containers"),
)

# Of the system. Who is not root cannot read most of them anyway; a sandbox of root's shell must not either.
SECRETS_OF_SYSTEM = (
    *("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d"),
    *("/etc/ssl/private", "/etc/security/opasswd", "/etc/krb5.keytab", "/etc/kubernetes", "/etc/wireguard"),
    *("/etc/openvpn", "/etc/letsencrypt", "/etc/NetworkManager/system-connections", "/etc/mysql/debian.cnf"),
    *("/root", "/var/lib/docker", "/var/lib/containers", "/var/lib/kubelet", "/var/lib/sss/secrets"),
    *("/var/snap/lxd/common/lxd/unix.socket", "/var/lib/lxd/unix.socket", "/var/lib/incus/unix.socket"),
)

# Replaced by empty ones: others' files, and sockets through which other programs would do what the sandbox forbids.
PRIVATE_PLACES = ("/tmp", "/run")
# Parts of these that programs need.
NEEDED_OF_RUN = ("/run/current-system", "/run/opengl-driver", "/run/wrappers")
NAME_SERVICE = ("/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf")

# Of /proc: what changes the kernel. Only root could, and inside not even he. bubblewrap itself seals /proc/irq,
# /proc/bus and /proc/sysrq-trigger where they can be written; of /proc/sys it looks at the directory alone.
KERNEL_SETTINGS = ("/proc/sys", "/proc/acpi", "/proc/scsi")

# What a strict sandbox can read without being told.
STRICT_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
STRICT_ETC = (
    *("/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts", "/etc/localtime", "/etc/ld.so.cache"),
    *("/etc/alternatives", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/pki", "/etc/profile", "/etc/profile.d"),
    *("/etc/bash.bashrc", "/etc/bashrc", "/etc/zsh", "/etc/zshrc", "/etc/zshenv", "/etc/fish", "/etc/inputrc"),
    *("/etc/terminfo", "/etc/gitconfig", "/etc/fonts"),
)
# Each mount costs a tenth of a millisecond or two; these are needed with a network only.
STRICT_NETWORK = ("/etc/resolv.conf", "/etc/host.conf", "/etc/services", "/etc/protocols")

# Directories that are nobody's workspace: to write there is to change the system, or every program of the user.
NO_WORKSPACE = (
    *("/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/opt", "/proc", "/root", "/run"),
    *("/sbin", "/srv", "/sys", "/tmp", "/usr", "/usr/bin", "/usr/lib", "/usr/local", "/usr/local/bin", "/var"),
    *("/var/lib", "/var/log", "/var/tmp", "/mnt", "/media", "/Users", "/dev/shm"),
)
# Neither these nor anything below them.
NEVER_WRITABLE = ("/proc", "/sys", "/dev", "/etc", "/boot", "/usr", "/bin", "/sbin", "/lib", "/lib64")

# In a repository: what git runs by itself, without anybody deciding to run it. Modules and worktrees have their own.
GIT_PROTECTED = ("hooks", "config", "modules", "worktrees")
GIT_ALWAYS = ("hooks", "config")  # also where they are not there yet
# In a workspace: what other programs of ours go by.
WORKSPACE_PROTECTED = (".hermitty.toml",)

# Variables that reach out of a sandbox, or hold what opens our own server.
ENVIRONMENT_DROPPED = (
    *("SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS"),
    *("DOCKER_HOST", "CONTAINER_HOST", "XAUTHORITY", "WAYLAND_DISPLAY", "DISPLAY", "KRB5CCNAME", "XDG_RUNTIME_DIR"),
    *("HERMITTY_TOKEN", "HERMITTY_URL", "HERMITTY_STATE_DIR", "HERMITTY_CONFIG", "NOTIFY_SOCKET", "LISTEN_FDS"),
)
# What such a variable is usually called. Whoever needs one inside sets it for the terminal.
SECRET_VARIABLE = re.compile(
    r"(?:^|_)TOKENS?(?:_|$)|SECRET|PASSW(?:OR)?D|PASSPHRASE|CREDENTIAL|(?:API|ACCESS|PRIVATE|SIGNING)_?KEY|^MYSQL_PWD$",
    re.IGNORECASE,
)
# The only ones that a strict sandbox takes over from the host.
ENVIRONMENT_STRICT = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "COLORTERM", "TERM_PROGRAM", "TZ"),
    *("PAGER", "GIT_PAGER", "VTE_VERSION", "NO_COLOR", "CLICOLOR", "FORCE_COLOR"),
)


def confined_environment(base: dict[str, str], order: Confinement | None) -> dict[str, str]:
    """Return what programs get of the host's variables: all of them without a sandbox."""
    if order is None:
        return base
    if order.mode is Mode.STRICT:
        return {name: text for name, text in base.items() if name in ENVIRONMENT_STRICT or name.startswith("LC_")}
    return {
        name: text
        for name, text in base.items()
        if name not in ENVIRONMENT_DROPPED and not SECRET_VARIABLE.search(name)
    }
