"""Programs that search in files: grep and its kin."""

from collections.abc import Sequence
from dataclasses import dataclass

from hermitty.policy import places
from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge, Surroundings
from hermitty.policy.effects import Finding
from hermitty.policy.options import Grammar, Parsed
from hermitty.policy.programs.tables import NUMBER, Handler, Program, named

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
    "--word-regexp --passthrough --nobreak --break --after? --before? --context? --depth: "
    "-G,--file-search-regex: -g: --ignore: --ignore-dir: -m,--max-count: -p,--path-to-ignore:read -W,--width: "
    "--workers: --python --js --cc --cpp --java --go --rust --ruby --ts --html --css --json --yaml --markdown --shell "
    "--pager:exec -z,--search-zip^exec"
)
_ACK = (
    "--help --version -1HLQRafcghilnorsvwx --after-context? --before-context? --context? -m,--max-count: "
    "-t,--type: -T: --color --nocolor --column --count --files-with-matches --files-without-matches --follow --group "
    "--nogroup --heading --noheading --break --nobreak --ignore-case --smart-case --ignore-dir: --ignore-file: "
    "--invert-match --literal --match: --no-filename --noenv --print0 --recurse --sort-files --with-filename "
    "--word-regexp --python --js --perl --java --ruby --pager:exec --output:exec --ackrc:exec --files-from:read"
)


@dataclass(frozen=True)
class _Search(Grammar):
    """A search in files; without a path it is one of the current directory, or of the input."""

    recursive: tuple[str, ...] = ()  # options without which it is one of the input

    def findings(self, parsed: Parsed, name: str, here: Surroundings) -> list[Finding]:
        """Judge parsed arguments by their roles, and the directory that none of them names."""
        found = super().findings(parsed, name, here)
        has_pattern = not parsed.has(*self.first_unless)
        if len(parsed.operands) > has_pattern:
            return found
        if self.recursive:
            is_searched = parsed.has(*self.recursive)
        else:
            # It depends on the input: a question is only worth it where there is nothing but secrets.
            is_searched = here.cwd is not None and places.is_secret(here.cwd, here)
        return found + places.read(Arg.literal("."), here) if is_searched else found


def _with_context(options: str, first_unless: tuple[str, ...]) -> Handler:
    """Make the judge of a program whose `-A`, `-B` and `-C` take the next word only if it is a number."""
    taking, leaving = (
        _Search(f"{options} -A{arity} -B{arity} -C{arity}", "plain read*", first_unless=first_unless) for arity in ":?"
    )

    def judge_search(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
        parsed = taking.parse(args, name)
        if all(NUMBER.fullmatch(value.text or "") for value in parsed.values("-A", "-B", "-C")):
            return taking.findings(parsed, name, judge.here)
        return leaving.judge(name, args, judge.here)

    return judge_search


_GREP_SEARCH = _Search(
    _GREP,
    "plain read*",
    numbers=True,
    first_unless=("-e", "-f"),
    recursive=("-r", "-R", "--recursive", "--dereference-recursive"),
)

PROGRAMS: dict[str, Program] = {
    **named("grep egrep fgrep ggrep", _GREP_SEARCH),
    **named("zgrep zegrep zfgrep bzgrep xzgrep lzgrep zstdgrep", _GREP_SEARCH),
    "rg": _Search(_RG, "plain read*", first_unless=("-e", "-f", "--files", "--type-list")),
    "ag": _with_context(_AG, ("-g",)),
    **named("ack ack-grep", _with_context(_ACK, ("-f", "--match"))),
}
