"""Programs for keys and certificates: what is public may be shown."""

import re
from collections.abc import Sequence

from hermitty.policy import places
from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import RUNS_INPUT
from hermitty.policy.options import Grammar
from hermitty.policy.programs.subcommands import Asked, Tool, asked
from hermitty.policy.programs.tables import Handler, Program, named

# Engines and providers are libraries; a configuration names them.
_LOADS = "-engine:exec -provider:exec -provider-path:exec -config:exec -rand:read -writerand:write "
_X509 = Grammar(
    _LOADS + "-help -in:read -inform: -noout -text -subject -issuer -dates -startdate -enddate -serial -fingerprint "
    "-hash -subject_hash -issuer_hash -email -ocsp_uri -purpose -pubkey -modulus -ext: -nameopt: -certopt: -checkend: "
    "-checkhost: -checkip: -checkemail: -sha1 -sha256 -sha384 -sha512 -md5 -alias -ocspid -out:write -outform: "
    "-passin:ask -signkey:ask -CA:ask -CAkey:ask -req^ask -nocert",
    "",
    single_dash=True,
)
_DIGEST = Grammar(
    _LOADS
    + "-help -list -c -r -hex -binary -md5 -sha1 -sha224 -sha256 -sha384 -sha512 -sha3-256 -sha3-512 -blake2b512 "
    "-out:write -sign:ask -verify:read -prverify:ask -signature:read -hmac:ask -mac:ask -macopt:ask -passin:ask",
    "read*",
    single_dash=True,
)
_RANDOM = Grammar(_LOADS + "-help -hex -base64 -out:write", "plain*", single_dash=True)
_INFORMS = Grammar(
    _LOADS + "-help -a -b -d -e -f -o -p -r -v -V -c -m -1 -s -commands "
    "-digest-commands -digest-algorithms -cipher-commands -cipher-algorithms -public-key-algorithms",
    "plain*",
    single_dash=True,
)
_CHECKS = Grammar(
    _LOADS
    + "-help -CAfile:read -CApath:read -untrusted:read -purpose: -verbose -show_chain -partial_chain -x509_strict",
    "read*",
    single_dash=True,
)
_OPENSSL: dict[str, Program] = {
    **named("version ciphers list help errstr prime", _INFORMS),
    **named("x509 crl", _X509),
    **named("dgst md5 sha1 sha224 sha256 sha384 sha512", _DIGEST),
    "rand": _RANDOM,
    "verify": _CHECKS,
    **asked("""
    s_client s_time ocsp: medium network talks to another machine
    s_server: high network lets other machines in
    genrsa genpkey gendsa ecparam dhparam: low write makes keys
    rsa ec dsa pkey pkcs8 pkcs12 pkcs7 pkeyutl rsautl storeutl passwd: medium credentials shows or converts keys
    enc req ca cms smime ts spkac: medium write makes or converts files
    speed: low process uses the machine for a while
    engine: medium exec loads libraries
    """),
}


def _only(needed: str, allowed: str, other: Asked) -> Handler:
    """Make the judge of a program that is free with one of the needed options and no others than the allowed ones."""
    needs, allows = re.compile(needed), re.compile(f"{needed}|{allowed}")

    def judge_call(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
        options = [arg.text for arg in args if arg.text is None or arg.text.startswith("-")]
        is_needed = any(text is not None and needs.fullmatch(text) for text in options)
        if is_needed and all(text is not None and allows.fullmatch(text) for text in options):
            files = [arg for arg in args if arg.text is not None and not arg.text.startswith("-")]
            return [one for arg in files for one in places.read(arg, judge.here)]
        return other(name, args, judge)

    return judge_call


_SSH_KEYGEN = _only(
    "-lf?|-F", "-f|-v|-E", Asked(Level.MEDIUM, (Effect.CREDENTIALS, Effect.WRITE), "makes or changes keys")
)
_SSH_ADD = _only("-l|-L", "-E", Asked(Level.MEDIUM, (Effect.CREDENTIALS,), "changes which keys are in use"))
_GPG = _only(
    "--version|--help|-h|-k|-K|--list-(?:public-)?keys|--list-secret-keys|--list-sigs|--fingerprint|--list-config",
    r"--with-colons|--keyid-format(?:=\w+)?|--with-fingerprint|--no-auto-check-trustdb|--batch",
    Asked(Level.MEDIUM, (Effect.CREDENTIALS,), "uses or changes keys"),
)

PROGRAMS: dict[str, Program] = {
    "openssl": Tool(
        _OPENSSL,
        "-help -version",
        alone=Asked(Level.MEDIUM, (Effect.EXEC,), RUNS_INPUT, frozenset({"-help", "--help", "-version", "--version"})),
        single_dash=True,
    ),
    "ssh-keygen": _SSH_KEYGEN,
    "ssh-add": _SSH_ADD,
    **named("gpg gpg2", _GPG),
    **asked(
        """
    ssh-keyscan: low network asks another machine for its keys
    gpg-agent gpgconf gpg-connect-agent ssh-agent: medium credentials controls who may use keys
    pass op bw lpass security secret-tool keyring age sops kinit klist keytool certbot: \
        high credentials shows or changes passwords and keys
    """,
        "--version --help",
    ),
}
