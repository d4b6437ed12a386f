"""Files with secrets, and files that make programs run code: names only, no look at a disk."""

import re

# Directories whose files are secrets; "~" is any home directory. All in lower case: some file systems do not care.
SECRET_DIRECTORIES = (
    *("~/.ssh", "~/.aws", "~/.gnupg", "~/.azure", "~/.kube", "~/.password-store", "~/.config/gcloud", "~/.config/gh"),
    *("~/.local/state/hermitty", "~/library/application support/hermitty"),
    *("~/.config/op", "~/.config/rclone", "~/.config/sops", "~/.config/hub", "~/.config/doctl", "~/.mozilla"),
    *("~/.local/share/keyrings", "~/.config/google-chrome", "~/.config/chromium", "~/.config/bravesoftware"),
    *("~/library/keychains", "~/library/cookies", "~/.bitcoin", "~/.ethereum", "~/.electrum"),
    *("/etc/ssl/private", "/etc/sudoers.d", "/var/run/secrets", "/run/secrets", "/run/credentials", "/etc/kubernetes"),
    *("/etc/networkmanager/system-connections", "/etc/wireguard", "/etc/openvpn", "/etc/letsencrypt"),
)
# Files of these directories that are no secrets.
_PUBLIC = re.compile(r"~/\.ssh/(?:known_hosts|config|[^/]+\.pub)")

SECRET_FILES = frozenset(
    {
        *("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/security/opasswd"),
        *("/etc/krb5.keytab", "/etc/master.passwd", "/etc/ppp/chap-secrets", "/etc/mysql/debian.cnf", "/etc/rndc.key"),
        *("/proc/kcore", "/proc/kmem", "/dev/mem", "/dev/kmem", "/dev/port", "/var/lib/sss/secrets"),
        *("/proc/1/environ", "/proc/self/environ"),
    }
)
_SECRET_NAMES = re.compile(
    r"""\.env(?:rc|\.(?!example$|sample$|template$|dist$|defaults?$)[^/]*)?
    | \.netrc | _netrc | \.npmrc | \.pypirc | \.git-credentials | \.pgpass | \.my\.cnf | \.mylogin\.cnf | \.htpasswd
    | \.dockercfg | \.vault-token | \.s3cfg | \.boto | \.smbcredentials | \.vault_pass(?:\.txt)?
    | id_(?:rsa|dsa|ecdsa|ed25519|xmss|ecdsa_sk|ed25519_sk) | ssh_host_\w+_key
    | \.(?:bash|zsh|sh|mysql|psql|sqlite|python|rediscli|node_repl)_history | fish_history | consolehost_history\.txt
    | \.?credentials(?:\.(?:json|ya?ml|toml|db|xml|csv|ini|tfrc\.json))? | application_default_credentials\.json
    | service[-_]?account[^/]*\.json | client_secrets?[^/]*\.json | kubeconfig | kube[-_]config
    | \.secrets? | secrets?\.(?:json|ya?ml|toml|env|txt|ini|enc|properties|xml|auto\.tfvars|tfvars)
    | \.tokens? | (?:api[-_]?keys?|tokens?|passwords?|passwd)\.(?:txt|ini|env|csv)
    | [^/]+\.(?:pem|key|p12|pfx|jks|keystore|kdbx|kdb|ppk|agekey|keytab|ovpn|tfstate|tfvars)
    | wallet\.dat | \.?rclone\.conf | wp-config\.php | key4\.db | logins\.json
    | cookies\.(?:txt|sqlite) | login\ data""",
    re.VERBOSE,
)
# Directories and files that are secret wherever they are; `secret_patterns` compares patterns with them.
DIRECTORY_TAILS = (".ssh", ".aws", ".gnupg", ".config/gh", ".config/gcloud", ".subversion/auth")
FILE_TAILS = (
    *(".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml", ".kube/config"),
    *(".m2/settings-security.xml", ".docker/config.json", ".gradle/gradle.properties", ".composer/auth.json"),
    *(".codex/auth.json", ".config/pip/pip.conf"),
)
# Of the directories, some hold what is not secret, too.
_SECRET_TAILS = re.compile(
    rf"""(?:^|/)(?:
      {"|".join(map(re.escape, FILE_TAILS))}
    | \.ssh(?:/(?!known_hosts$|config$|[^/]+\.pub$)[^/]+)? | \.aws(?:/[^/]+)? | \.gnupg(?:/.+)?
    | \.config/gh/.+ | \.config/gcloud/.+ | \.subversion/auth/.+ )$
    | ^/proc/(?:[^/]+/)?(?:task/[^/]+/)?(?:environ|mem|auxv|kcore)$
    | ^/proc/[^/]+/(?:task/[^/]+/)?(?:root|cwd)(?:/|$)""",
    re.VERBOSE,
)

# Writing to these makes programs run something later.
_CODE_TAILS = re.compile(
    r"""(?:^|/)(?:
      \.(?:bash|zsh)(?:rc|_profile|env|_login|_logout|_aliases) | \.z(?:profile|login|logout) | \.profile | \.login
    | \.(?:k|c|tc)shrc | \.inputrc | \.x(?:initrc|profile|session) | \.vimrc | \.exrc | \.emacs | \.gitconfig
    | \.gitmodules | \.tmux\.conf | \.screenrc | \.gdbinit | \.lldbinit | \.psqlrc | \.sqliterc | \.pythonrc | \.npmrc
    | \.yarnrc | \.curlrc | \.wgetrc | \.envrc | \.mailcap | \.forward | \.rhosts | \.rprofile | \.irbrc | \.pryrc
    | \.ghci | \.lesskey | \.ackrc | \.mcp\.json | \.husky/.+ | \.ssh/.+ | \.local/bin/.+ | \.vim/.+ | \.emacs\.d/.+
    | [^/]*\.git/(?:hooks(?:/.*)?|config|info/attributes|objects/info/alternates)
    | \.config/(?:fish|autostart|systemd|git|environment\.d|nvim|kitty|zsh|powershell|hermitty)(?:/.*)?
    | \.local/state/hermitty(?:/.*)? | \.hermitty\.toml
    | \.vscode/(?:settings|tasks|launch)\.json | \.idea/.+ | library/launch(?:agents|daemons)/.+ | \.claude/.+
    | (?:microsoft\.(?:powershell|vscode)_)?profile\.ps1 )$
    | ^/(?:etc|var/spool)/(?:at|cron[^/]*|anacrontab|profile|profile\.d|bash\.bashrc|zsh|ld\.so\.[^/]*|sudoers[^/]*
      |pam\.d|init\.d|rc\.local|systemd|environment|passwd|shadow|group|gshadow|ssh|hosts\.(?:allow|deny)|fstab
      |crypttab|apt|udev|modprobe\.d|modules)(?:/.*)?$
    | ^/(?:lib|usr/lib|run)/(?:systemd|udev)/.+""",
    re.VERBOSE,
)
_HOMES = re.compile(r"^(?:~[^/]*|/root|/home/[^/]+|/users/[^/]+|/var/root)(?=/|$)")

# Directories with secrets somewhere below them.
HOLDERS = frozenset(
    {"/", "~", "/home", "/users", "/root", "~/.config", "/etc", "/etc/ssl", "/etc/ssh", "/run", "/proc", "/var"}
)

# Names that a pattern may stand for.
EXAMPLES = (
    *(".env", ".env.local", ".netrc", ".npmrc", ".pgpass", ".git-credentials", ".ssh", ".aws", ".gnupg", ".kube"),
    *("id_rsa", "id_ed25519", "id_ecdsa", "id_dsa", "credentials", "credentials.json", "secrets.yml", "secrets.json"),
    *("shadow", "gshadow", "sudoers", "environ", "server.key", "server.pem", "kubeconfig", ".bash_history"),
    *(".zsh_history", ".docker", "private", "secrets", "config.json", "config", "auth.json"),
)


def seen_from_home(path: str, home: str | None) -> str:
    """Write the home directory, and any that looks like one, as "~"; all in lower case."""
    if home and home != "/" and (path == home or path.startswith(home + "/")):
        return "~" + path[len(home) :].lower()
    return _HOMES.sub("~", path.lower().replace("\\", "/"), count=1)


def is_secret(path: str, home: str | None) -> bool:
    """Tell whether a normalised path names a file, or a directory of files, with secrets."""
    seen = seen_from_home(path, home)
    if _PUBLIC.fullmatch(seen):
        return False
    if any(seen == directory or seen.startswith(directory + "/") for directory in SECRET_DIRECTORIES):
        return True
    name = seen.rpartition("/")[2]
    return seen in SECRET_FILES or bool(_SECRET_NAMES.fullmatch(name) or _SECRET_TAILS.search(seen))


def holds_secrets(path: str, home: str | None) -> bool:
    """Tell whether a directory is known to have secrets somewhere below it: `/`, `/etc`, a home directory."""
    return seen_from_home(path, home) in HOLDERS


def makes_code_run(path: str) -> bool:
    """Tell whether writing to a normalised path makes some program run what was written."""
    return _CODE_TAILS.search(path.lower().replace("\\", "/")) is not None
