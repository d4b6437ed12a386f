"""Clients of services: they act with the user's account on other machines, so all but their version is asked about.

How grave a call is depends on its words: one that deletes, one that shows a token, one that only looks.
"""

import re
from collections.abc import Sequence

from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import ask, unclear
from hermitty.policy.programs.subcommands import mentions
from hermitty.policy.programs.tables import Handler, Program, named

_LOOKS = re.compile(
    r"(?:describe|list|get|head|search|lookup|check|show|view|status|info|ls|ps|logs?|tail|diff|checks|config|version|help"
    r"|batch-get|filter|query|scan|test|validate|whoami|regions|domains|releases|apps|browse|watch)(?:-[\w-]+)?"
)
_DELETES = re.compile(
    r"(?:delete|terminate|destroy|remove|rm|rb|purge|deregister|revoke|cancel|detach|disable|stop|reboot|reset|drop"
    r"|uninstall|unlink|prune|empty|archive|close|del|undeploy|flush)(?:[-:][\w-]+)?|[\w-]+:(?:destroy|remove|delete|reset)"
)
_SECRETS = re.compile(
    r"print-(?:access|identity)-token|application-default|get-secret-value|get-parameters?|get-access-token|get-session-token"
    r"|get-login-password|get-credentials|get-federation-token|assume-role(?:-[\w-]+)?|create-access-key|secrets?|ssm|keyvault"
    r"|secretsmanager|token|keys|auth|login|logout|export-credentials|config:get|env|credentials?|configure|kms|access-keys"
)
_CHANGES_WITH = ("-X", "--method", "-f", "--raw-field", "-F", "--field", "--input")


def _service(informs: str) -> Handler:
    """Make the judge of a client, with the words that only print if they are alone."""
    printing = frozenset(informs.split())

    def judge_service(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
        if len(args) == 1 and args[0].text in printing:
            return []
        words = [arg.text for arg in args]
        if any(word is None for word in words[:3]):
            return [unclear(f"what {name} does is only known when it runs")]
        verbs = [word for word in words if word is not None and not word.startswith("-")][:4]
        found = [_call(name, verbs)]
        if any(_SECRETS.fullmatch(verb) for verb in verbs):
            found.append(ask(f"{name} shows or changes passwords and tokens", Level.HIGH, Effect.CREDENTIALS))
        return found

    return judge_service


def _call(name: str, verbs: Sequence[str]) -> Finding:
    if any(_DELETES.fullmatch(verb) for verb in verbs):
        return ask(f"{name} deletes or stops something with your account", Level.HIGH, Effect.DELETE)
    if verbs and any(_LOOKS.fullmatch(verb) for verb in verbs):
        return ask(f"{name} asks another machine with your account", Level.LOW, Effect.NETWORK)
    return ask(f"{name} changes something with your account", Level.MEDIUM, Effect.NETWORK)


_SERVICE = _service("--version version --help -h help -v")


def _gh(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    """Judge gh: `gh api` reads, unless a method or fields are given; extensions and aliases are programs."""
    words = [arg.text for arg in args]
    if words and words[0] == "api":
        if any(word is not None and word.upper() in ("DELETE", "-XDELETE", "--METHOD=DELETE") for word in words):
            return [ask("deletes something with your account", Level.HIGH, Effect.DELETE)]
        if mentions(args, *_CHANGES_WITH) or any(word is None or "graphql" in word for word in words):
            return [ask("changes something with your account", Level.MEDIUM, Effect.NETWORK)]
        return [ask("asks another machine with your account", Level.LOW, Effect.NETWORK)]
    if words and words[0] in ("alias", "extension", "ext", "extensions", "codespace", "cs", "config"):
        return [ask(f"{name} {words[0]} runs programs, or changes which", Level.HIGH, Effect.EXEC)]
    found = _SERVICE(name, args, judge)
    if words[:2] in (["repo", "delete"], ["repo", "archive"]):
        found.append(ask("deletes a repository", Level.CRITICAL, Effect.DELETE))
    if words[:2] in (["pr", "checkout"], ["co"], ["repo", "clone"], ["run", "download"], ["release", "download"]):
        found.append(ask("writes files that come from another machine", Level.MEDIUM, Effect.WRITE))
    return found


def _aws(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    found = _SERVICE(name, args, judge)
    words = [arg.text for arg in args]
    if "s3" in words and mentions(args, "--recursive", "--delete", "--force") and {"rm", "rb", "sync"} & set(words):
        found.append(ask("deletes many files with your account", Level.CRITICAL, Effect.DELETE))
    if any((word or "").startswith(("file://", "fileb://")) for word in words):
        found.append(ask("sends a file to another machine", Level.MEDIUM, Effect.NETWORK))
    return found


PROGRAMS: dict[str, Program] = {
    "gh": _gh,
    "aws": _aws,
    **named(
        "gcloud gsutil bq az azcopy heroku vercel netlify fly flyctl railway render doctl linode-cli hcloud", _SERVICE
    ),
    **named("oci ibmcloud aliyun scw firebase supabase wrangler amplify eb copilot sentry-cli stripe twilio", _SERVICE),
    **named(
        "glab hub tea jira linear slack huggingface-cli hf wandb kaggle datadog-ci newrelic circleci travis", _SERVICE
    ),
}
