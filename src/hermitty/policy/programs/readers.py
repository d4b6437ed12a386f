"""Programs that read files and print, with the options that make some of them write or run something."""

import re
from collections.abc import Sequence

from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge
from hermitty.policy.effects import Finding
from hermitty.policy.findings import unclear
from hermitty.policy.options import Grammar
from hermitty.policy.programs.tables import Program, named, with_numbers

HELP = "--help --version "

_LS = (
    "-1ABCDFGHLNQRSUXZabcdfghiklmnopqrstuvxy@eOPW --all --almost-all --author --block-size: --classify? --color? "
    "--context --dereference --dereference-command-line --dereference-command-line-symlink-to-dir --directory --dired "
    "--escape --file-type --format: --full-time --group-directories-first --hide-control-chars --hide: "
    "--human-readable --hyperlink? -I,--ignore: --ignore-backups --indicator-style: --inode --kibibytes --literal "
    "--no-group --numeric-uid-gid --quote-name --quoting-style: --recursive --reverse --show-control-chars --si --size "
    "--sort: -T,--tabsize: --time: --time-style: -w,--width: --zero"
)
_HEAD = "-qvzf --quiet --silent --verbose --zero-terminated -c,--bytes: -n,--lines: "
_SUM = (
    "-bctwzrspqU01 --binary --check --ignore-missing --quiet --status --strict --tag --text --warn --zero -l,--length: "
    "-a,--algorithm: --untagged --debug --sysv"
)
_DIFF = (
    "-BEHNPTZabcdeilnpqrstuvwy -C,--context? -D,--ifdef: -F,--show-function-line: -I,--ignore-matching-lines: "
    "-L,--label: -S,--starting-file: -U: --unified? -W,--width: -X,--exclude-from:read -x,--exclude: --brief --color? "
    "--ed --expand-tabs --from-file:read --to-file:read --horizon-lines: --ignore-all-space --ignore-blank-lines "
    "--ignore-case --ignore-file-name-case --ignore-space-change --ignore-tab-expansion --ignore-trailing-space "
    "--initial-tab --left-column --line-format: --old-line-format: --new-line-format: --unchanged-line-format: "
    "--old-group-format: --new-group-format: --unchanged-group-format: --changed-group-format: --minimal --new-file "
    "--no-dereference --no-ignore-file-name-case --normal --paginate --palette: --rcs --recursive "
    "--report-identical-files --show-c-function --side-by-side --speed-large-files --strip-trailing-cr "
    "--suppress-blank-empty --suppress-common-lines --tabsize: --text --unidirectional-new-file"
)
# `-m` reads a file of rules of its own, which has been a way to make `file` write.
_FILE = (
    "-0bcdDEhiIklLNnprsSvzZ --brief --apple --extension --mime --mime-type --mime-encoding --keep-going --dereference "
    "--no-dereference --no-buffer --no-pad --preserve-date --print0 --raw --special-files --uncompress "
    "--uncompress-noreport --no-sandbox --debug --list --checking-printout -e,--exclude: --exclude-quiet: "
    "-F,--separator: -f,--files-from:read -P,--parameter: -C,--compile^change -m,--magic-file:exec"
)
# `-R` calls tree again with `-o 00Tree.html`.
_TREE = (
    "-ACDFGJNQSUXadfghilnpqrstuvxcE0 -H: -I: -L: -P: -T: --charset: --device --dirsfirst --filelimit: --filesfirst "
    "--fromfile --fromtabfile --gitfile:read --gitignore --hintro:read --houtro:read --ignore-case --info "
    "--infofile:read --inodes --matchdirs --metafirst --nolinks --noreport --prune --si --sort: --timefmt: --du "
    "--hyperlink --scheme: --authority: --opt-toggle --compress: -o,--output:write -R^change"
)
_SORT = (
    "-bdfgiMhnRrVcCmsuz --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort "
    "--ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort --random-source:read "
    "--reverse --sort: --version-sort --batch-size: --check? --debug --files0-from:read -k,--key: --merge "
    "-S,--buffer-size: -t,--field-separator: --parallel: --stable --unique --zero-terminated -o,--output:write "
    "-T,--temporary-directory:write --compress-program:exec"
)
_PR = (
    "-acdfFJmrtTv --across --double-space --form-feed --join-lines --merge --no-file-warnings --omit-header "
    "--omit-pagination --show-control-chars --show-nonprinting -D,--date-format: -h,--header: -l,--length: "
    "-N,--first-line-number: -o,--indent: -w,--width: -W,--page-width: -e,--expand-tabs? -i,--output-tabs? "
    "-n,--number-lines? -s,--separator? -S,--sep-string? --columns: --pages:"
)
_COLUMN = (
    "-JLVehtxdmK -c,--output-width: -l,--table-columns-limit: -E,--table-noextreme: -H,--table-hide: "
    "-N,--table-columns: -O,--table-order: -R,--table-right: -T,--table-truncate: -W,--table-wrap: -i,--tree-id: "
    "-o,--output-separator: -p,--tree-parent: -r,--tree: -s,--separator: -n,--table-name: -C,--table-column: "
    "--fillrows --json --keep-empty-lines --table --table-noheadings --table-header-repeat --table-maxout"
)
_READELF = (
    "-aAcdeghIlnrsStuVWXDLTvH -p,--string-dump: -R,--relocated-dump: -x,--hex-dump: -w,--debug-dump? -z,--decompress "
    "--all --file-header --program-headers --segments --section-headers --sections --headers --symbols --syms "
    "--dyn-syms --notes --relocs --dynamic --version-info --arch-specific --histogram --wide --demangle? --unwind"
)
_OBJDUMP = (
    "-aCdDfFghlprRsStTvVwxzZ -b,--target: -j,--section: -m,--architecture: -M,--disassembler-options: --disassemble? "
    "--disassemble-all --start-address: --stop-address: --all-headers --archive-headers --demangle? --full-contents "
    "--file-headers --private-headers --section-headers --headers --source --syms --dynamic-syms --reloc "
    "--dynamic-reloc --no-show-raw-insn --line-numbers --no-addresses --prefix: --insn-width: --show-raw-insn --wide "
    "-W,--dwarf?"
)
_DU = (
    "-0abcDHhkLlmPSsxAginr -B,--block-size: -d,--max-depth: -t,--threshold: -X,--exclude-from:read -I: --all "
    "--apparent-size --bytes --count-links --dereference --dereference-args --exclude: --files0-from:read "
    "--human-readable --inodes --no-dereference --null --one-file-system --separate-dirs --si --summarize --time? "
    "--time-style: --total"
)
_ZCAT = (
    "-cdfhklLnNqrtvV --stdout --to-stdout --force --keep --list --quiet --test --verbose --decompress --no-name --name"
)
_TREE_GRAMMAR = Grammar(HELP + _TREE, "name*")
# Every letter with a value takes a word of its own; only a number may be attached, to `-L`.
_TREE_INSIDE = re.compile(r"-(?!-)[^HILPTo]*(?:L(?!\d+$)|[HIPTo]).+", re.DOTALL)


def _tree(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _TREE_GRAMMAR.parse(args, name)
    found = _TREE_GRAMMAR.findings(parsed, name, judge.here)
    words = [given.word for given in parsed.options if given.value is not None]
    return found + [
        unclear(f"{word.shown} is not a known option of {name}", at=word)
        for word in words
        if _TREE_INSIDE.fullmatch(word.text if word.text is not None else word.prefix + "$")
    ]


_PLAIN = Grammar("", "plain*", any_options=True)

PROGRAMS: dict[str, Program] = {
    **named("echo true false expr factor sleep yes uuidgen printf cal ncal", _PLAIN),
    **named("ls dir vdir gls", Grammar(HELP + _LS, "name*")),
    **named(
        "exa eza lsd",
        Grammar("-L,--level: -I,--ignore-glob: -s,--sort: -t,--time: --time-style:", "name*", any_options=True),
    ),
    "cat": Grammar(
        HELP + "-AETbensltuv --number --number-nonblank --show-all --show-ends --show-nonprinting --show-tabs "
        "--squeeze-blank"
    ),
    "head": Grammar(HELP + _HEAD, numbers=True),
    "tail": Grammar(
        HELP + _HEAD + "-Fr --follow? --retry --max-unchanged-stats: --pid: -s,--sleep-interval: -b:",
        numbers=True,
        plus=True,
    ),
    "wc": Grammar(
        HELP + "-Lclmw --bytes --chars --lines --words --max-line-length --files0-from:read --total: --debug"
    ),
    "nl": Grammar(
        HELP + "-b,--body-numbering: -d,--section-delimiter: -f,--footer-numbering: -h,--header-numbering: "
        "-i,--line-increment: -l,--join-blank-lines: -n,--number-format: -p,--no-renumber -s,--number-separator: "
        "-v,--starting-line-number: -w,--number-width:"
    ),
    "od": Grammar(
        HELP
        + "-abcdDfFhHiIlLoOsvxXeB -A,--address-radix: -j,--skip-bytes: -N,--read-bytes: -S,--strings? -t,--format: "
        "-w,--width? --endian: --output-duplicates --traditional"
    ),
    "cut": Grammar(
        HELP + "-nsz -b,--bytes: -c,--characters: -d,--delimiter: -f,--fields: --complement --only-delimited "
        "--output-delimiter: --zero-terminated"
    ),
    "paste": Grammar(HELP + "-sz -d,--delimiters: --serial --zero-terminated"),
    "join": Grammar(
        HELP
        + "-iz -1: -2: -a: -e: -j: -o: -t: -v: --check-order --header --ignore-case --nocheck-order --zero-terminated"
    ),
    "comm": Grammar(HELP + "-123iz --check-order --nocheck-order --output-delimiter: --total --zero-terminated"),
    "tac": Grammar(HELP + "-br -s,--separator: --before --regex"),
    "rev": Grammar(HELP + "-hV0 --zero"),
    "tr": Grammar(HELP + "-Ccdstu --complement --delete --squeeze-repeats --truncate-set1", "plain*"),
    "fold": Grammar(HELP + "-bs -w,--width: --bytes --spaces", numbers=True),
    "fmt": Grammar(
        HELP + "-cstunm -g,--goal: -p,--prefix: -w,--width: --crown-margin --split-only --tagged-paragraph "
        "--uniform-spacing",
        numbers=True,
    ),
    **named("expand unexpand", Grammar(HELP + "-ia -t,--tabs: --initial --all --first-only", numbers=True)),
    "pr": Grammar(HELP + _PR, numbers=True, plus=True),
    "sort": Grammar(HELP + _SORT),
    "uniq": Grammar(
        HELP
        + "-Dcdiuz -f,--skip-fields: -s,--skip-chars: -w,--check-chars: --all-repeated? --count --group? --ignore-case "
        "--repeated --unique --zero-terminated",
        "read write",
        numbers=True,
    ),
    "shuf": Grammar(
        HELP + "-erz -i,--input-range: -n,--head-count: --echo --random-source:read --repeat --zero-terminated "
        "-o,--output:write",
    ),
    "seq": Grammar("-f,--format: -s,--separator: -t,--terminator:", "plain*", any_options=True),
    "numfmt": Grammar(
        HELP + "-z -d,--delimiter: --debug --field: --format: --from: --from-unit: --grouping --header? --invalid: "
        "--padding: --round: --suffix: --to: --to-unit: --zero-terminated",
        "plain*",
    ),
    **named(
        "cksum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum sum shasum md5",
        Grammar(HELP + _SUM, numbers=True),
    ),
    **named(
        "b3sum xxhsum xxh64sum xxh128sum", Grammar(HELP + "-cqw --check --quiet --no-names --raw --tag -l,--length:")
    ),
    **named(
        "base64 base32 basenc",
        with_numbers(
            Grammar(
                HELP
                + "-diD -w,--wrap: -b: --decode --ignore-garbage --base64 --base64url --base32 --base32hex --base16 "
                "--base2msbf --base2lsbf --z85 -o,--output:write",
            ),
            "-w",
            "-b",
        ),
    ),
    "look": Grammar(HELP + "-adfbhV -t: --alphanum --alternative --ignore-case --terminate:", "plain read"),
    "column": Grammar(HELP + _COLUMN),
    **named("col colrm colcrt ul tsort", Grammar(HELP + "-bfhpx -l: -i -t:", "read*", numbers=True)),
    **named(
        "hexdump hd",
        Grammar(HELP + "-CVbcdhovxX -e: -f:read -n,--length: -s,--skip: -L,--color? --canonical --no-squeezing"),
    ),
    "hexyl": Grammar(HELP + "-Cvp -n,--length: -s,--skip: -c: --color: --border: --no-squeezing --plain"),
    "strings": Grammar(
        HELP
        + "-adfowvVh -e,--encoding: -n,--bytes: -t,--radix: -T,--target: -s,--output-separator: -U,--unicode: --all "
        "--data --print-file-name --include-all-whitespace",
        numbers=True,
    ),
    "size": Grammar(HELP + "-ABGdoxtV --format: --radix: --common --totals --target:"),
    "readelf": Grammar(HELP + _READELF),
    "objdump": Grammar(HELP + _OBJDUMP),
    "c++filt": _PLAIN,
    "du": Grammar(HELP + _DU, "name*"),
    "df": Grammar(
        HELP
        + "-aHhiklPTvmgIYbcn -B,--block-size: -t,--type: -x,--exclude-type: --all --human-readable --inodes --local "
        "--no-sync --output? --portability --print-type --si --sync --total",
        "name*",
    ),
    **named("stat gstat", Grammar("-c,--format: --printf: --cached:", "name*", any_options=True)),
    **named(
        "readlink realpath greadlink grealpath",
        Grammar(
            HELP
            + "-LPefmnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet --silent "
            "--verbose --zero --logical --no-symlinks --physical --relative-base: --relative-to: --strip",
            "name*",
        ),
    ),
    "basename": Grammar(HELP + "-az -s,--suffix: --multiple --zero", "plain*"),
    **named("dirname pathchk", Grammar(HELP + "-zPp --zero --portability", "plain*")),
    "namei": Grammar(HELP + "-hlmnovVx --long --modes --mountpoints --nosymlinks --owners --vertical", "name*"),
    "file": Grammar(HELP + _FILE),
    "tree": _tree,
    **named("diff colordiff gdiff zdiff zcmp", Grammar(HELP + _DIFF, numbers=True)),
    "diff3": Grammar(
        HELP
        + "-3AETXaeimx -L,--label: --easy-only --ed --initial-tab --merge --overlap-only --show-all --show-overlap "
        "--strip-trailing-cr --text --diff-program:exec"
    ),
    "sdiff": Grammar(
        HELP + "-BEHWZabdilst -I: -w,--width: --left-column --suppress-common-lines --text --minimal -o,--output:write "
        "--diff-program:exec"
    ),
    "cmp": Grammar(
        HELP + "-blsvxzh -i,--ignore-initial: -n,--bytes: --print-bytes --quiet --silent --verbose", "read read plain*"
    ),
    **named("zcat gzcat bzcat xzcat lzcat", Grammar(HELP + _ZCAT)),
    "zstdcat": Grammar(HELP + _ZCAT + " -o:write --rm^change --output-dir-flat:write --output-dir-mirror:write"),
    "iconv": Grammar(
        HELP + "-clsV -f,--from-code: -t,--to-code: --list --silent --verbose --byte-subst: --unicode-subst: "
        "-o,--output:write"
    ),
    "bc": Grammar(
        HELP
        + "-hilqsvwcPRxz --interactive --mathlib --quiet --standard --warn -e,--expression: -f,--file:read -S,--scale:"
    ),
    **named("lsattr getfacl getfattr getcap", Grammar("-n: -m: -e:", "name*", any_options=True)),
    "mountpoint": Grammar(HELP + "-dnqxhV --quiet --nofollow --fs-devno --devno", "name*"),
}
