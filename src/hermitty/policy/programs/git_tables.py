"""Options of git's sub-commands that read.

Whether a value may be a word of its own (`:`) or must be attached (`?`) matters: git opens the file of `--output` when
it comes to that word, even if it refuses the line in the end.
"""

import re

from hermitty.policy.effects import Effect, Level
from hermitty.policy.options import Grammar

GLOBAL = (
    "-v,--version -h,--help -P,--no-pager -p,--paginate --html-path --man-path --info-path --no-replace-objects "
    "--no-lazy-fetch --no-optional-locks --no-advice --literal-pathspecs --glob-pathspecs --noglob-pathspecs "
    "--icase-pathspecs --list-cmds? -C: -c: --git-dir: --work-tree: --exec-path? --config-env:exec --namespace:ask "
    "--super-prefix:ask --attr-source:ask --bare^ask"
)

# Settings with which git runs no other program and writes nowhere else: with others it may.
HARMLESS_SETTING = re.compile(
    r"color\.[\w.-]+|column\.\w+|advice\.\w+|log\.(?!showsignature$)\w+|status\.\w+|grep\.(?:linenumber|column|patterntype|fullname|threads)"
    r"|diff\.(?:algorithm|context|interhunkcontext|renames|renamelimit|mnemonicprefix|noprefix|colormoved(?:ws)?|statgraphwidth"
    r"|wserrorhighlight|indentheuristic|submodule|ignoresubmodules|relative|suppressblankempty|wordregex|dirstat)"
    r"|core\.(?:quotepath|abbrev|autocrlf|eol|filemode|ignorecase|precomposeunicode|safecrlf|whitespace|commentchar|symlinks)"
    r"|blame\.(?:showemail|date|showroot|coloring|blankboundary)|i18n\.\w+|format\.pretty|user\.(?:name|email)|pull\.(?:ff|rebase)"
    r"|init\.defaultbranch|merge\.(?:conflictstyle|ff|stat|renames)|rebase\.(?:autosquash|autostash|stat)|push\.default"
    r"|push\.autosetupremote|fetch\.prune|branch\.\w+\.rebase|rerere\.enabled|commit\.verbose|tag\.sort|branch\.sort"
    r"|versionsort\.\w+|help\.autocorrect",
    re.IGNORECASE,
)
PAGER_SETTING = re.compile(r"core\.pager|pager\.[\w-]+", re.IGNORECASE)

_DIFF = (
    "-pusRabwWzD --patch --no-patch --raw --patch-with-raw --patch-with-stat --indent-heuristic "
    "--no-indent-heuristic --minimal --patience --histogram --compact-summary --numstat --shortstat -X,--dirstat? "
    "--cumulative --dirstat-by-file? --summary --name-only --name-status --submodule? --color? --no-color "
    "--color-moved? --no-color-moved --color-moved-ws: --no-color-moved-ws --word-diff? --word-diff-regex: "
    "--color-words? --no-renames --rename-empty --no-rename-empty --check --ws-error-highlight: --full-index --binary "
    "--abbrev? --no-abbrev -B,--break-rewrites? -M,--find-renames? -C,--find-copies? --find-copies-harder "
    "--irreversible-delete -l: --diff-filter: -S: -G: --find-object: --pickaxe-all --pickaxe-regex -O:read --skip-to: "
    "--rotate-to: --relative? --no-relative --text --ignore-cr-at-eol --ignore-space-at-eol --ignore-space-change "
    "--ignore-all-space --ignore-blank-lines -I,--ignore-matching-lines: --inter-hunk-context: --function-context "
    "--exit-code --quiet --no-ext-diff --no-textconv --ignore-submodules? --src-prefix: --dst-prefix: --no-prefix "
    "--default-prefix --line-prefix: --ita-invisible-in-index --ita-visible-in-index -U,--unified? --stat? "
    "--stat-width: --stat-name-width: --stat-count: --stat-graph-width: --output-indicator-new: "
    "--output-indicator-old: --output-indicator-context: --anchored: --diff-algorithm: --output:write --ext-diff^exec "
    "--textconv^exec "
)
_REVISIONS = (
    "-n,--max-count: --skip: --since,--after: --until,--before: --since-as-filter: --max-age: --min-age: --author: "
    "--committer: --grep-reflog: --grep: --all-match --invert-grep -iEFPcmtgr --regexp-ignore-case --basic-regexp "
    "--extended-regexp --fixed-strings --perl-regexp --remove-empty --merges --no-merges --min-parents? --max-parents? "
    "--no-min-parents --no-max-parents --first-parent --exclude-first-parent-only --not --all --branches? --tags? "
    "--remotes? --glob: --exclude: --exclude-hidden: --reflog --alternate-refs --single-worktree --ignore-missing "
    "--bisect --cherry-mark --cherry-pick --left-only --right-only --cherry --walk-reflogs --merge --boundary "
    "--simplify-by-decoration --show-pulls --full-history --dense --sparse --simplify-merges --ancestry-path? "
    "--date-order --author-date-order --topo-order --reverse --no-walk? --do-walk --pretty? --format? --abbrev-commit "
    "--no-abbrev-commit --oneline --encoding: --expand-tabs? --no-expand-tabs --notes? --no-notes --show-notes? "
    "--relative-date --date: --parents --children --left-right --graph --no-graph --show-linear-break? --follow --cc "
    "--combined-all-paths --diff-merges: --no-diff-merges --dd --remerge-diff --full-diff --log-size "
    "--show-signature^exec "
)
_LOG = (
    "-q -L: --source --use-mailmap --mailmap --no-use-mailmap --no-mailmap --decorate? --no-decorate --decorate-refs: "
    "--decorate-refs-exclude: --clear-decorations "
)
_REFS = (
    "--contains: --no-contains: --merged: --no-merged: --points-at: --sort: --format: --color? --no-color --column? "
    "--no-column --abbrev? --no-abbrev -i,--ignore-case --omit-empty "
)

LOG = Grammar(_DIFF + _REVISIONS + _LOG, "read*", numbers=True)
DIFF = Grammar(
    _DIFF + "--cached --staged --merge-base --no-index --base --ours --theirs --cc -cmt", "read*", numbers=True
)
STASH_SHOW = Grammar(_DIFF + "--include-untracked --only-untracked --no-include-untracked", "plain", numbers=True)
DIFF_TREE = Grammar(
    _DIFF + "-rtmcv --root --no-commit-id --always --cc --stdin --pretty? --format? --cached --merge-base "
    "--combined-all-paths",
    "read*",
)
RANGE_DIFF = Grammar(
    _DIFF + "--creation-factor: --no-dual-color --dual-color --left-only --right-only --notes? --no-notes", "plain*"
)
# Here `-n` and `--committer` are flags.
SHORTLOG = Grammar(
    _DIFF + _REVISIONS + "-s,--summary -n,--numbered -e,--email -c,--committer -w? --group:", "read*", numbers=True
)
REV_LIST = Grammar(
    _DIFF
    + _REVISIONS
    + "--count --objects --objects-edge --use-bitmap-index --disk-usage? --timestamp --header --no-object-names "
    "--bisect-vars --bisect-all --filter? --no-filter --commit-header --no-commit-header",
    "plain*",
    numbers=True,
)
# `-b` and `-l` are other options than those of diff, and so is `-L`; all are flags or take the next word.
BLAME = Grammar(
    "-bcfnptlsewCM --incremental --root --show-stats --progress --no-progress --score-debug --show-name --show-number "
    "--porcelain --line-porcelain --show-email --ignore-rev: --ignore-revs-file:read --color-lines --color-by-age "
    "--minimal -S:read --contents:read -C? -M? -L: --abbrev? --date: --since,--after: --until,--before: --encoding: "
    "--first-parent --reverse --no-merges --diff-algorithm: --output:write --output-indicator-new: --ext-diff^exec "
    "--textconv^exec --no-textconv",
    "read*",
)
GREP = Grammar(
    "-viwaIrEGFPnhHlLzocpWq --cached --no-index --untracked --exclude-standard --no-exclude-standard "
    "--recurse-submodules --no-recurse-submodules --invert-match --ignore-case --word-regexp --text --recursive "
    "--no-recursive --max-depth: --extended-regexp --basic-regexp --fixed-strings --perl-regexp --line-number --column "
    "--full-name --files-with-matches --name-only --files-without-match --null --only-matching --count --color? "
    "--no-color --break --heading -C,--context: -B,--before-context: -A,--after-context: --threads: --show-function "
    "--function-context -f:read -e: --and --or --not --quiet --all-match -m,--max-count: --no-textconv --textconv^exec "
    "-O,--open-files-in-pager?exec --ext-grep^exec",
    "plain read*",
    numbers=True,
    first_unless=("-e", "-f"),
)
STATUS = Grammar(
    "-sbvz --short --branch --show-stash --no-show-stash --porcelain? --long --verbose -u,--untracked-files? "
    "--ignore-submodules? --ignored? --column? --no-column --ahead-behind --no-ahead-behind --renames --no-renames "
    "-M,--find-renames? --null",
    "name*",
)
LS_FILES = Grammar(
    "-cdmoiskuztvf --cached --deleted --modified --others --ignored --stage --killed --unmerged --directory "
    "--no-empty-directory --empty-directory --eol --deduplicate -x,--exclude: -X,--exclude-from:read "
    "--exclude-per-directory: --exclude-standard --error-unmatch --with-tree: --full-name --recurse-submodules "
    "--abbrev? --debug --sparse --format: --resolve-undo",
    "name*",
)
LS_TREE = Grammar(
    "-drtlz --long --name-only --name-status --object-only --full-name --full-tree --abbrev? --format:", "name*"
)
DESCRIBE = Grammar(
    "--contains --debug --all --tags --long --first-parent --abbrev? --no-abbrev --exact-match --candidates: --match: "
    "--exclude: --always --dirty? --broken?",
    "plain*",
)
CAT_FILE = Grammar(
    "-etpsZz --batch? --batch-check? --batch-command? --batch-all-objects --buffer --follow-symlinks --unordered "
    "--allow-unknown-type --use-mailmap --no-use-mailmap --mailmap --path: --textconv^exec --filters^exec",
    "plain*",
)
FOR_EACH_REF = Grammar(_REFS + "-sp --shell --perl --python --tcl --count: --exclude: --include-root-refs", "plain*")
BRANCH = Grammar(
    _REFS
    + "-arvqDdmMcCftl --all --remotes --verbose --quiet --list --show-current -d,--delete -m,--move -c,--copy --force "
    "-u,--set-upstream-to: --unset-upstream --edit-description --track? --no-track --create-reflog --no-column "
    "--with: --without: --recurse-submodules",
    "ask*",
)
BRANCH_LISTS = ("-l", "--list", "--contains", "--no-contains", "--with", "--without", "--merged", "--no-merged")
TAG = Grammar(
    _REFS
    + "-ldvasfe -n? --list --delete --verify --annotate --sign -m,--message: -F,--file:read --edit --cleanup: --force "
    "-u,--local-user: --create-reflog --no-sign --trailer: --with: --without:",
    "ask*",
)
CONFIG = Grammar(
    "-l,--list -z,--null --get --get-all --get-regexp --get-urlmatch --get-color --get-colorbool --name-only "
    "--show-origin --show-scope --show-names --type: --no-type --bool --int --bool-or-int --bool-or-str --path "
    "--expiry-date --default: --global --system --local --worktree --includes --no-includes --fixed-value --all "
    "--regexp --value: --url: -f,--file:read --blob: --replace-all --add --unset --unset-all --rename-section "
    "--remove-section -e,--edit --append --comment:",
    "ask*",
)
CONFIG_WRITES = (
    *("--replace-all", "--add", "--unset", "--unset-all", "--rename-section", "--remove-section", "-e", "--append"),
    "--comment",
)
CONFIG_READS = ("-l", "--get", "--get-all", "--get-regexp", "--get-urlmatch", "--get-color", "--get-colorbool")
APPLY_READS = Grammar(
    "--stat --numstat --summary --check -vqz -p: -C: --directory: --include: --exclude: --verbose --quiet --index "
    "--cached -R,--reverse --recount --unidiff-zero --ignore-whitespace --whitespace: --apply^ask --index-info^ask",
    "read*",
)
CLEAN = Grammar(
    "-dfnqxXi --force --dry-run --quiet --interactive -e,--exclude:",
    "ask*",
)
RM = Grammar(
    "-rfnq --force --dry-run --cached --ignore-unmatch --quiet --sparse --pathspec-from-file:read --pathspec-file-nul",
    "ask*",
)

_PLAIN = Grammar("", "plain*", any_options=True)
READERS: dict[str, Grammar] = {
    **dict.fromkeys(("log", "show", "whatchanged"), LOG),
    "diff": DIFF,
    **dict.fromkeys(("diff-tree", "diff-index", "diff-files"), DIFF_TREE),
    "range-diff": RANGE_DIFF,
    "shortlog": SHORTLOG,
    "rev-list": REV_LIST,
    **dict.fromkeys(("blame", "annotate"), BLAME),
    "grep": GREP,
    "status": STATUS,
    "ls-files": LS_FILES,
    "ls-tree": LS_TREE,
    "describe": DESCRIBE,
    "cat-file": CAT_FILE,
    "for-each-ref": FOR_EACH_REF,
    "rev-parse": _PLAIN,
    "merge-base": _PLAIN,
    "name-rev": _PLAIN,
    "show-ref": Grammar(
        "-dsq --head --heads --branches --tags --verify --exists --hash? --dereference --abbrev? --quiet "
        "--exclude-existing?",
        "plain*",
    ),
    "show-branch": Grammar(
        "-ar -g,--reflog? --all --remotes --current --topo-order --date-order --sparse --more? --list --merge-base "
        "--independent --no-name --sha1-name --topics --color? --no-color",
        "plain*",
    ),
    "cherry": Grammar("-v --verbose --abbrev?", "plain*"),
    "check-ignore": Grammar("-qvzn --quiet --verbose --stdin --non-matching --no-index", "name*"),
    "check-attr": Grammar("-az --all --cached --stdin --source:", "name*"),
    "check-ref-format": _PLAIN,
    "check-mailmap": Grammar("--stdin", "plain*"),
    "count-objects": Grammar("-vH --verbose --human-readable", ""),
    "fsck": Grammar(
        "-v --unreachable --dangling --no-dangling --tags --root --cache --no-reflogs --reflogs --full --no-full "
        "--strict --verbose --progress --no-progress --name-objects --connectivity-only --lost-found^change",
        "plain*",
    ),
    "verify-pack": Grammar("-vs --verbose --stat-only --object-format:", "read*"),
    "ls-remote": Grammar(
        "-hbtq --heads --branches --tags --refs --get-url --sort: --symref --exit-code --quiet -o,--server-option: "
        "--upload-pack:exec --exec:exec",
        "plain*",
        effect="asks another machine about its branches",
        level=Level.LOW,
        kind=Effect.NETWORK,
    ),
    "patch-id": Grammar("--stable --unstable --verbatim", ""),
    "stripspace": Grammar("-sc --strip-comments --comment-lines", ""),
    "var": Grammar("-l", "plain"),
    "version": Grammar("--build-options", ""),
    # `-w` opens a browser, `-i` info.
    "help": Grammar(
        "-acgmv --all --guides --man --config --user-interfaces --developer-interfaces -w^ask -i^ask", "plain"
    ),
    "merge-tree": Grammar("--trivial-merge --write-tree^change", "change*"),
}
