"""kubectl, helm and terraform: looking is free where it shows no secrets and runs no plug-ins of the project."""

import re
from collections.abc import Sequence

from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import ask
from hermitty.policy.options import Grammar, Parsed
from hermitty.policy.programs.subcommands import Asked, Tool, asked, is_help, mentions, run, worse
from hermitty.policy.programs.tables import Handler, Program, named

# A configuration can name a program that gets the password. Profiles and caches are files.
_KUBE_GLOBAL = (
    "-h,--help -n,--namespace: --context: --cluster: --request-timeout: -v: --v: --match-server-version? "
    "--warnings-as-errors? --kubeconfig:exec -s,--server:network --as:ask --as-group:ask --as-uid:ask --token:ask "
    "--user:ask --username:ask --password:ask --certificate-authority:read --client-certificate:read --client-key:read "
    "--insecure-skip-tls-verify?ask --tls-server-name:ask --cache-dir:write --profile:write --profile-output:write "
    "--vmodule: --log-flush-frequency: --disable-compression? "
)
# `go-template-file=FILE` and its like show what is in a file.
_KUBE_OUTPUT = "-o,--output: --template:ask --allow-missing-template-keys? --show-managed-fields? "
_KUBE_GET = Grammar(
    _KUBE_GLOBAL + _KUBE_OUTPUT + "-A --all-namespaces? --chunk-size: --field-selector: -f,--filename:ask "
    "--ignore-not-found? -k,--kustomize:exec -L,--label-columns: --no-headers? --output-watch-events? --raw:ask "
    "-R --recursive? -l,--selector: --server-print? --show-kind? --show-labels? --show-events? --sort-by: "
    "--subresource: -w --watch? --watch-only? --containers? --sum? --use-protocol-buffers?",
    "plain*",
)
_KUBE_LOGS = Grammar(
    _KUBE_GLOBAL + "--all-containers? --all-pods? -c,--container: -f --follow? --ignore-errors? --limit-bytes: "
    "--max-log-requests: --pod-running-timeout: --prefix? -p --previous? -l,--selector: --since: --since-time: --tail: "
    "--timestamps? --insecure-skip-tls-verify-backend?ask",
    "plain*",
)
_KUBE_INFORMS = Grammar(
    _KUBE_GLOBAL + _KUBE_OUTPUT + "--recursive? --api-version: --client? --api-group: --namespaced? --verbs: "
    "--categories: --no-headers? --sort-by: --cached? --list? -q --quiet? -A --all-namespaces? --subresource:",
    "plain*",
)
_KUBE_VIEW = Grammar(_KUBE_GLOBAL + _KUBE_OUTPUT + "--minify? --merge? --raw?ask --flatten?ask", "plain*")
_SECRET = re.compile(r"(?:.*,)?secrets?(?:[./,].*)?", re.IGNORECASE)


def _without_secrets(grammar: Grammar) -> Handler:
    """Make the judge of a sub-command that shows resources."""

    def judge_show(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
        parsed = grammar.parse(args, name)
        found = grammar.findings(parsed, name, judge.here) + _templates(name, parsed)
        for arg in parsed.operands:
            if arg.text is None or _SECRET.fullmatch(arg.text):
                found.append(ask(f"{name} {arg.shown} may show secrets", Level.HIGH, Effect.CREDENTIALS, at=arg))
        return found

    return judge_show


def _informing(grammar: Grammar) -> Handler:
    """Make the judge of a sub-command that shows no resources."""

    def judge_inform(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
        parsed = grammar.parse(args, name)
        return grammar.findings(parsed, name, judge.here) + _templates(name, parsed)

    return judge_inform


def _templates(name: str, parsed: Parsed) -> list[Finding]:
    return [
        ask(f"{name} reads a template from a file", Level.LOW, Effect.CREDENTIALS, at=value)
        for value in parsed.values("-o")
        if value.text is None or "-file" in value.text
    ]


def _kube_delete(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    if is_help(args):
        return []
    found = [ask("deletes resources of a cluster", Level.HIGH, Effect.DELETE)]
    words = {(arg.text or "").partition("/")[0] for arg in args}
    whole = {"ns", "namespace", "namespaces", "node", "nodes", "no", "pv", "crd", "all"}
    if words & whole or mentions(args, "--all", "--all-namespaces", "-A"):
        found.append(ask("deletes everything of a kind", Level.CRITICAL, Effect.DELETE))
    return found


_OTHER = Asked(Level.MEDIUM, (Effect.EXEC,), "may be another program", frozenset())
_KUBE_WRITES = Asked(Level.MEDIUM, (Effect.NETWORK, Effect.WRITE), "changes a cluster")
_KUBECTL: dict[str, Program] = {
    **named("get describe", _without_secrets(_KUBE_GET)),
    "top": _without_secrets(_KUBE_GET),
    "logs": _without_secrets(_KUBE_LOGS),
    **named("explain version api-resources api-versions options help", _informing(_KUBE_INFORMS)),
    "cluster-info": Tool(
        {"dump": Asked(Level.MEDIUM, (Effect.CREDENTIALS,), "shows the whole state of a cluster")}, _KUBE_GLOBAL
    ),
    "auth": Tool(named("can-i whoami", _informing(_KUBE_INFORMS)), _KUBE_GLOBAL, other=_KUBE_WRITES),
    "rollout": Tool(
        {
            "status": Grammar(_KUBE_GLOBAL + "-w --watch? --timeout: --revision: -l,--selector:", "plain*"),
            "history": _informing(Grammar(_KUBE_GLOBAL + _KUBE_OUTPUT + "--revision: -l,--selector:", "plain*")),
        },
        _KUBE_GLOBAL,
        other=_KUBE_WRITES,
    ),
    "config": Tool(
        {
            "view": _informing(_KUBE_VIEW),
            **named("get-contexts current-context get-clusters get-users", _informing(_KUBE_INFORMS)),
        },
        _KUBE_GLOBAL,
        other=Asked(Level.MEDIUM, (Effect.WRITE,), "changes which cluster is used, and how"),
    ),
    "delete": _kube_delete,
    **asked("""
    apply create edit patch replace scale autoscale set label annotate expose certificate wait: \
        medium network,write changes a cluster
    drain cordon uncordon taint: high network,process changes where programs of a cluster run
    exec run debug attach cp: medium network,exec runs programs in a cluster, or copies files
    port-forward proxy: medium network opens a way into a cluster
    diff kustomize: low exec may run programs that the project or a variable names
    """),
}

_HELM_GLOBAL = (
    "-h,--help -n,--namespace: --kube-context: --debug --qps: --burst-limit: --kubeconfig:exec "
    "--kube-apiserver:network --kube-token:ask --kube-as-user:ask --kube-as-group:ask --kube-ca-file:read "
    "--kube-tls-server-name:ask --kube-insecure-skip-tls-verify^ask --registry-config:exec --repository-config:exec "
    "--repository-cache:write --content-cache:write "
)
_HELM_READS = Grammar(
    _HELM_GLOBAL + "-a,--all -A,--all-namespaces -d,--date --deployed --failed --pending -f,--filter: -m,--max: "
    "--offset: -o,--output: -q,--short -l,--selector: --superseded --uninstalled --uninstalling --no-headers "
    "--time-format: -r,--reverse --revision: --show-desc --show-resources --template: -r,--regexp --versions "
    "--version: --devel --max-col-width: -c,--client",
    "plain*",
)
_HELM: dict[str, Program] = {
    **named("list ls status history hist version env", _HELM_READS),
    "repo": Tool(
        {**named("list ls", _HELM_READS)},
        _HELM_GLOBAL,
        other=Asked(Level.LOW, (Effect.NETWORK,), "asks others for charts"),
    ),
    "search": Tool(
        {"repo": _HELM_READS}, _HELM_GLOBAL, other=Asked(Level.LOW, (Effect.NETWORK,), "asks others for charts")
    ),
    "plugin": Tool(
        {**named("list ls", _HELM_READS)},
        _HELM_GLOBAL,
        other=Asked(Level.HIGH, (Effect.EXEC,), "changes programs of helm"),
    ),
    **asked("""
    get: medium credentials shows values, which may be passwords
    install upgrade rollback test: medium network,write changes a cluster
    uninstall delete del un: high network,delete removes programs and data from a cluster
    template lint show dependency dep pull fetch package create verify: low network,exec gets or builds charts
    push registry login: medium network,credentials exchanges charts with others
    """),
}

_TF_GLOBAL = "-help -version -chdir:ask"
_TF_FMT = Grammar("-help -check -diff -recursive -no-color -list? -write?", "read*", single_dash=True)


def _terraform_fmt(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _TF_FMT.parse(args, name)
    found = _TF_FMT.findings(parsed, name, judge.here)
    prints = parsed.has("-check") and not parsed.has("-write")
    if not prints and not parsed.has("-help"):
        found.append(ask("changes files", Level.LOW, Effect.WRITE))
    return found


_TF_STATE = asked(
    """
    list show pull: low network,credentials shows what was built, which may include passwords
    rm mv push replace-provider: high write changes the record of what was built
""",
    "-help --help",
)
_TERRAFORM: dict[str, Program] = {
    "version": Grammar("-json -help", "", single_dash=True),
    "fmt": _terraform_fmt,
    "state": Tool(_TF_STATE, "-help", single_dash=True),
    "workspace": Tool(
        {"show": Grammar("-help", "", single_dash=True)},
        "-help",
        other=Asked(Level.MEDIUM, (Effect.NETWORK, Effect.WRITE), "changes which state is used"),
        single_dash=True,
    ),
    **asked(
        """
    destroy: critical network,delete destroys everything that was built
    apply: high network,write builds, changes and destroys what the project describes
    plan refresh test import taint untaint: medium network,exec runs plug-ins of the project, which use your accounts
    init get providers: medium network,exec gets plug-ins and modules
    validate graph console: low exec runs plug-ins of the project
    show output: low credentials shows what was built, which may include passwords
    login logout: high credentials changes your account
    force-unlock: high write lets two changes run at once
    """,
        "-help --help -h",
    ),
}
_TERRAFORM["apply"] = worse(
    _TERRAFORM["apply"], "-destroy", Level.CRITICAL, Effect.DELETE, "destroys everything that was built"
)


def _terraform(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    words = [arg.text for arg in args]
    if words and words[0] in ("-v", "-version", "--version", "-help", "--help", "-h") and len(words) == 1:
        return []
    return run(_TERRAFORM_TOOL, name, args, judge)


_TERRAFORM_TOOL = Tool(_TERRAFORM, _TF_GLOBAL, single_dash=True)

PROGRAMS: dict[str, Program] = {
    **named("kubectl oc", Tool(_KUBECTL, _KUBE_GLOBAL, other=_OTHER)),
    "helm": Tool(_HELM, _HELM_GLOBAL, other=_OTHER),
    **named("terraform tofu", _terraform),
    **asked(
        """
    pulumi cdk sam eksctl kops kind minikube k3d k3s argocd flux istioctl skaffold tilt nomad consul: \
        medium network,exec changes clusters or accounts
    vault: high network,credentials shows or changes passwords
    ansible ansible-playbook ansible-pull ansible-console: high network,exec runs programs on other machines
    ansible-vault: high credentials shows or changes passwords
    packer: medium network,exec builds images of machines
    """,
        "--version version --help -h",
    ),
    **asked("serverless sls: medium network,exec runs code of the project, and changes accounts", ""),
    "terragrunt": worse(
        Asked(Level.HIGH, (Effect.NETWORK, Effect.EXEC), "runs code of the project, and changes accounts", frozenset()),
        "destroy -destroy",
        Level.CRITICAL,
        Effect.DELETE,
        "destroys everything that was built",
    ),
}
