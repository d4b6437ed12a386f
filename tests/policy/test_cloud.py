"""Clients of services act with the user's account: all but their version is asked about."""

import pytest

from hermitty.policy.effects import Effect, Level

from .judging import is_allowed, is_asked, is_asked_at, lines

LOW, MEDIUM, HIGH, CRITICAL = Level.LOW, Level.MEDIUM, Level.HIGH, Level.CRITICAL

SAFE = lines("""
    gh --version
    gh --help
    gh help
    aws --version
    gcloud --version
    gcloud version
    az --version
    heroku --version
    vercel --version
    firebase --version
    glab --version
""")

HOSTILE = lines("""
    gh
    gh pr list
    gh $x
    gh api $x
    gh --version pr list
    aws s3 ls
    aws $x
    aws --version s3 ls
    gcloud projects list
    az vm list
    heroku logs
    vercel
    netlify deploy
    fly deploy
    doctl compute droplet list
    wrangler publish
    hf download x
""")

LEVELS = [
    ("gh pr list", LOW, Effect.NETWORK),
    ("gh pr view 1", LOW, Effect.NETWORK),
    ("gh issue list --limit 5", LOW, Effect.NETWORK),
    ("gh run view --log", LOW, Effect.NETWORK),
    ("gh pr create --fill", MEDIUM, Effect.NETWORK),
    ("gh pr merge 1", MEDIUM, Effect.NETWORK),
    ("gh pr checkout 1", MEDIUM, Effect.WRITE),
    ("gh pr close 1", HIGH, Effect.DELETE),
    ("gh repo delete x", CRITICAL, Effect.DELETE),
    ("gh auth token", HIGH, Effect.CREDENTIALS),
    ("gh auth login", HIGH, Effect.CREDENTIALS),
    ("gh secret set X", HIGH, Effect.CREDENTIALS),
    ("gh api repos/x/y", LOW, Effect.NETWORK),
    ("gh api -X POST repos/x/y", MEDIUM, Effect.NETWORK),
    ("gh api repos/x/y -f a=b", MEDIUM, Effect.NETWORK),
    ("gh api repos/x/y -XDELETE", HIGH, Effect.DELETE),
    ("gh api --method DELETE repos/x/y", HIGH, Effect.DELETE),
    ("gh api --method=DELETE repos/x/y", HIGH, Effect.DELETE),
    ("gh api graphql", MEDIUM, Effect.NETWORK),
    ("gh alias set x y", HIGH, Effect.EXEC),
    ("gh extension install x", HIGH, Effect.EXEC),
    ("gh release delete v1", HIGH, Effect.DELETE),
    ("aws s3 ls", LOW, Effect.NETWORK),
    ("aws ec2 describe-instances", LOW, Effect.NETWORK),
    ("aws ec2 terminate-instances --instance-ids x", HIGH, Effect.DELETE),
    ("aws ec2 run-instances", MEDIUM, Effect.NETWORK),
    ("aws s3 cp x s3://y", MEDIUM, Effect.NETWORK),
    ("aws s3 rm s3://x/y", HIGH, Effect.DELETE),
    ("aws s3 rm --recursive s3://x", CRITICAL, Effect.DELETE),
    ("aws s3 rb --force s3://x", CRITICAL, Effect.DELETE),
    ("aws s3 sync . s3://x --delete", CRITICAL, Effect.DELETE),
    ("aws secretsmanager get-secret-value --secret-id x", HIGH, Effect.CREDENTIALS),
    ("aws ecr get-login-password", HIGH, Effect.CREDENTIALS),
    ("aws configure get aws_secret_access_key", HIGH, Effect.CREDENTIALS),
    ("gcloud projects list", LOW, Effect.NETWORK),
    ("gcloud auth print-access-token", HIGH, Effect.CREDENTIALS),
    ("gcloud compute instances delete x", HIGH, Effect.DELETE),
    ("gcloud app deploy", MEDIUM, Effect.NETWORK),
    ("az account get-access-token", HIGH, Effect.CREDENTIALS),
    ("az group delete -n x", HIGH, Effect.DELETE),
    ("heroku logs --tail", LOW, Effect.NETWORK),
    ("heroku apps:destroy x", HIGH, Effect.DELETE),
    ("vercel deploy --prod", MEDIUM, Effect.NETWORK),
    ("vercel env pull", HIGH, Effect.CREDENTIALS),
]


@pytest.mark.parametrize("line", SAFE)
def test_the_version_is_free(line: str) -> None:
    assert is_allowed(line)


@pytest.mark.parametrize("line", HOSTILE)
def test_all_else_is_asked_about(line: str) -> None:
    assert is_asked(line)


@pytest.mark.parametrize(("line", "level", "effect"), LEVELS)
def test_a_call_has_its_level(line: str, level: Level, effect: Effect) -> None:
    assert is_asked_at(line, level, effect)
