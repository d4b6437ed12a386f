"""Programs that search in files: grep and its kin."""

from hermitty.policy.options import Grammar
from hermitty.policy.programs.tables import Program, named

_GREP = (
    "--help --version -EFGPaVbcHhILlnoqRrsTUuvwxyzZi -A,--after-context: -B,--before-context: -C,--context: "
    "-D,--devices: -d,--directories: -e,--regexp: -f,--file:read -m,--max-count: --basic-regexp --binary "
    "--binary-files: --byte-offset --color? --colour? --count --dereference-recursive --exclude-dir: "
    "--exclude-from:read --exclude: --extended-regexp --files-with-matches --files-without-match --fixed-strings "
    "--group-separator: --ignore-case --include: --include-dir: --initial-tab --invert-match --label: --line-buffered "
    "--line-number --line-regexp --no-filename --no-group-separator --no-ignore-case --no-messages --null --null-data "
    "--only-matching --perl-regexp --quiet --recursive --silent --text --with-filename --word-regexp "
    "--unix-byte-offsets"
)
# `-z` hands compressed files to other programs.
_RG = (
    "--help --version -.0FHILNPSUVabchilnopqsuvwxK -A,--after-context: -B,--before-context: -C,--context: "
    "-E,--encoding: -M,--max-columns: -T,--type-not: -d,--max-depth: --maxdepth: -e,--regexp: -f,--file:read "
    "-g,--glob: --iglob: -j,--threads: -m,--max-count: -r,--replace: -t,--type: --color: --colors: "
    "--context-separator: --engine: --field-context-separator: --field-match-separator: --ignore-file:read "
    "--max-filesize: --path-separator: --regex-size-limit: --dfa-size-limit: --sort: --sortr: --type-add: "
    "--type-clear: --hyperlink-format: --generate: --auto-hybrid-regex --binary --block-buffered --byte-offset "
    "--case-sensitive --column --count --count-matches --crlf --debug --trace --files --files-with-matches "
    "--files-without-match --fixed-strings --follow --heading --hidden --glob-case-insensitive --ignore-case "
    "--ignore-file-case-insensitive --include-zero --invert-match --json --line-buffered --line-number --line-regexp "
    "--max-columns-preview --mmap --multiline --multiline-dotall --no-config --no-filename --no-heading --no-ignore "
    "--no-ignore-dot --no-ignore-exclude --no-ignore-files --no-ignore-global --no-ignore-messages --no-ignore-parent "
    "--no-ignore-vcs --no-line-number --no-messages --no-mmap --no-require-git --no-unicode --no-hidden --no-column "
    "--null --null-data --one-file-system --only-matching --passthru --passthrough --pcre2 --pcre2-version --pretty "
    "--print0 --quiet --smart-case --stats --stop-on-nonmatch --text --trim --type-list --unrestricted --vimgrep "
    "--with-filename --word-regexp --pre-glob: --pre:exec --hostname-bin:exec -z,--search-zip^exec"
)
_AG = (
    "--help --version -0DFHLQRSUaclinrsutvwxf --ackmate --all-text --all-types --ascii --case-sensitive --color "
    "--nocolor --column --count --debug --filename --files-with-matches --files-without-matches --fixed-strings "
    "--follow --group --nogroup --heading --noheading --hidden --ignore-case --invert-match --line-numbers --literal "
    "--no-numbers --nonumbers --null --numbers --only-matching --print-all-files --print-long-lines --recurse "
    "--norecurse --search-files --silent --skip-vcs-ignores --smart-case --stats --unrestricted --vimgrep "
    "--word-regexp --passthrough --nobreak --break -A,--after: -B,--before: -C,--context: --depth: "
    "-G,--file-search-regex: -g: --ignore: --ignore-dir: -m,--max-count: -p,--path-to-ignore:read -W,--width: "
    "--workers: --python --js --cc --cpp --java --go --rust --ruby --ts --html --css --json --yaml --markdown --shell "
    "--pager:exec -z,--search-zip^exec"
)
_ACK = (
    "--help --version -1HLQRafchilnorsvwx -A,--after-context: -B,--before-context: -C,--context? -m,--max-count: "
    "-t,--type: -T: --color --nocolor --column --count --files-with-matches --files-without-matches --follow --group "
    "--nogroup --heading --noheading --break --nobreak --ignore-case --smart-case --ignore-dir: --ignore-file: "
    "--invert-match --literal --match: --no-filename --noenv --print0 --recurse --sort-files --with-filename "
    "--word-regexp --python --js --perl --java --ruby -g: --pager:exec --output:exec --ackrc:exec --files-from:read"
)

_GREP_GRAMMAR = Grammar(_GREP, "plain read*", numbers=True, first_unless=("-e", "-f"))

PROGRAMS: dict[str, Program] = {
    **named("grep egrep fgrep ggrep", _GREP_GRAMMAR),
    **named("zgrep zegrep zfgrep bzgrep xzgrep lzgrep zstdgrep", _GREP_GRAMMAR),
    "rg": Grammar(_RG, "plain read*", first_unless=("-e", "-f", "--files", "--type-list"), numbers=False),
    "ag": Grammar(_AG, "plain read*", first_unless=("-g",)),
    **named("ack ack-grep", Grammar(_ACK, "plain read*", first_unless=("-f", "-g", "--match"))),
}
