# hermitty's shell integration for POSIX shells (dash, busybox ash, ksh and others), read through $ENV.
#
# These shells have no hooks. The start of a command is told by __hermitty_run, which reads the line from a file; its
# end is told by the prompt, which calls __hermitty_prompt. Every report is an OSC 633 sequence that carries a nonce and
# goes to /dev/tty. What could show under `set -x` is inside a block whose standard error is thrown away.

# Ours come first: a file of the user may turn allexport on.
__hermitty_nonce='@NONCE@'
__hermitty_dir=@DIR@
__hermitty_end=$(command printf '\033]633;B;%s\007' "$__hermitty_nonce")
__hermitty_more=$(command printf '\033]633;F;%s\007' "$__hermitty_nonce")

__hermitty_c() {
    # Prints the start marker and passes the status $1 on, for a line that asks for $?.
    command printf '\033]633;C;%s\007' "$__hermitty_nonce" >/dev/tty
    { case $- in *e*) ;; *) return "$1" ;; esac; } 2>/dev/null
}

__hermitty_install() {
    # Runs the line in the file. An alias, because a function would have positional parameters of its own. Under
    # `set -x` the file itself starts with the marker, so that nothing of ours is traced between it and the command.
    alias __hermitty_run='case $- in *x*) . "$__hermitty_dir/traced" ;; *) __hermitty_c "$?"; . "$__hermitty_dir/line" ;; esac; { __hermitty_wrap "$?"; } 2>/dev/null'
}

__hermitty_wrap() {
    # Puts our parts around the prompts when somebody has changed them. The nonce is not in the prompts themselves: they
    # may be exported. Passes the status $1 on.
    __hermitty_install
    case ${PS1-} in
    *__hermitty_prompt*) ;;
    *)
        set -- "$1" "${PS1-}"
        PS1='$({ __hermitty_prompt "$?"; } 3>&2 2>/dev/null || __hermitty_prompt)'"$2"'${__hermitty_end}'
        ;;
    esac
    case ${PS2-} in
    *__hermitty_more*) ;;
    *)
        set -- "$1" "${PS2-}"
        PS2='${__hermitty_more}'"$2"
        ;;
    esac
    return "$1"
}

__hermitty_prompt() {
    # Runs in a subshell while the prompt is expanded: its variables are nobody else's, and nobody has made a variable of
    # such a name read-only. $1 is the last status, and descriptor 3 is where the shell draws its prompt. With that
    # closed, neither is there, and the status is lost.
    IFS=
    set -f
    set +e +u
    __hermitty_rest=$PWD
    __hermitty_cwd=
    case $__hermitty_rest in
    *[\\\;[:cntrl:]]*)
        LC_ALL=C
        while [ -n "$__hermitty_rest" ]; do
            __hermitty_one=${__hermitty_rest%"${__hermitty_rest#?}"}
            __hermitty_rest=${__hermitty_rest#?}
            case $__hermitty_one in
            \\) __hermitty_cwd=$__hermitty_cwd'\\' ;;
            [\;[:cntrl:]]) __hermitty_cwd=$__hermitty_cwd$(command printf '\\x%02x' "'$__hermitty_one") ;;
            *) __hermitty_cwd=$__hermitty_cwd$__hermitty_one ;;
            esac
        done
        ;;
    *)
        __hermitty_cwd=$__hermitty_rest
        ;;
    esac
    __hermitty_n=$__hermitty_nonce
    command printf '\033]633;P;Cwd=%s;%s\007\033]633;D;%s;%s\007\033]633;A;%s\007' \
        "$__hermitty_cwd" "$__hermitty_n" "${1-}" "$__hermitty_n" "$__hermitty_n" >/dev/tty
    # A prompt that nobody sees has no end either.
    if [ -z "${1-}" ]; then
        command printf '\033]633;P;Prompt=lost;%s\007' "$__hermitty_n" >/dev/tty
    elif ! [ -t 3 ]; then
        command printf '\033]633;B;%s\007' "$__hermitty_n" >/dev/tty
    fi
    return 0
}

__hermitty_recover() {
    # Typed when the prompt was changed by hand.
    { __hermitty_wrap "$?"; } 2>/dev/null
}

# The user's own file, with the user's own ENV.
if [ -n "@ENV_SET@" ]; then
    ENV=@ENV@
    if [ -r "@ENV_EXPANDED@" ]; then
        . "@ENV_EXPANDED@"
    fi
else
    unset ENV
fi
__hermitty_wrap 0
