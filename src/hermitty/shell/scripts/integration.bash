# hermitty's shell integration for bash 4.4 and later, read by `bash --init-file`.
#
# It tells where commands start and end, with which code, where the shell is and what it exports. Every report is an
# OSC 633 sequence that carries a nonce. Reports go to /dev/tty, so that `exec >file` does not lose them; no descriptor
# is kept open, and nothing is exported, so that programs get neither. Hooks never fail (set -e), never touch unset
# names (set -u) and print nothing themselves under `set -x` or a DEBUG trap: their output is thrown away.

[[ -n ${__hermitty_nonce-} ]] && return 0
__hermitty_nonce='@NONCE@'
__hermitty_dir=@DIR@
__hermitty_login='@LOGIN@'
__hermitty_clean_history='@CLEAN_HISTORY@'
__hermitty_number=

# Functions come before the user's files, so that no alias of theirs ends up inside.

__hermitty_escape() {
    # Writes the escaped form of $1 into __hermitty_escaped.
    __hermitty_escaped=$1
    case $1 in
    *[\\\;[:cntrl:]]*) ;;
    *) return 0 ;;
    esac
    builtin local LC_ALL=C from="$1" to= i c hex
    for ((i = 0; i < ${#from}; i++)); do
        c=${from:i:1}
        case $c in
        \\) to+='\\' ;;
        [\;[:cntrl:]]) builtin printf -v hex '\\x%02x' "'$c"; to+=$hex ;;
        *) to+=$c ;;
        esac
    done
    __hermitty_escaped=$to
}

__hermitty_report_line() {
    # Lines that a person typed are in the history; ours are not. The number of the next entry tells them apart.
    builtin local number='\!' line
    number=${number@P}
    [[ $number == "$__hermitty_number" ]] && return 0
    if [[ -n $__hermitty_number ]]; then
        line=$(HISTTIMEFORMAT='' builtin history 1)
        line=${line#"${line%%[![:space:]]*}"}
        line=${line#*[0-9]  }
        __hermitty_escape "$line"
        builtin printf '\e]633;E;%s;%s\a' "$__hermitty_escaped" "$__hermitty_nonce" >/dev/tty
    fi
    __hermitty_number=$number
}

__hermitty_before() {
    # First of all prompt commands: the status is still that of the command.
    builtin local status=$?
    builtin export -p >|"$__hermitty_dir/env" || builtin :
    __hermitty_report_line || builtin :
    __hermitty_escape "$PWD"
    builtin printf '\e]633;P;Cwd=%s;%s\a\e]633;D;%s;%s\a' \
        "$__hermitty_escaped" "$__hermitty_nonce" "$status" "$__hermitty_nonce" >/dev/tty || builtin :
    builtin return 0
}

__hermitty_after() {
    # Last of all prompt commands: the user's prompt is final. Descriptor 3 is the shell's standard error.
    __hermitty_prompts
    __hermitty_hooks
    [[ -t 3 ]] || builtin printf '\e]633;P;Prompt=lost;%s\a' "$__hermitty_nonce" >/dev/tty || builtin :
    builtin return 0
}

__hermitty_prompts() {
    builtin local n="$__hermitty_nonce"
    if [[ ${PS1-} != *"$n"* ]]; then
        PS1="\\[\\e]633;A;\$?;$n\\a\\]${PS1-}\\[\\e]633;B;$n\\a\\]"
    fi
    [[ ${PS0-} == *"$n"* ]] || PS0="${PS0-}\\e]633;C;$n\\a"
    [[ ${PS2-} == *"$n"* ]] || PS2="\\[\\e]633;F;$n\\a\\]${PS2-}"
    if [[ $__hermitty_clean_history ]]; then
        case ${HISTCONTROL-} in
        *ignorespace* | *ignoreboth*) ;;
        *) HISTCONTROL=ignorespace${HISTCONTROL:+:$HISTCONTROL} ;;
        esac
    fi
    builtin return 0
}

__hermitty_hooks() {
    # Puts our two hooks around whatever prompt commands there are now.
    builtin local before='{ __hermitty_before; } >/dev/null 2>&1'
    builtin local after='{ __hermitty_after; } 3>&2 >/dev/null 2>&1'
    local kept=() one
    if ((BASH_VERSINFO[0] > 5 || (BASH_VERSINFO[0] == 5 && BASH_VERSINFO[1] >= 1))); then
        [[ ${PROMPT_COMMAND[0]-} == "$before" && ${PROMPT_COMMAND[-1]-} == "$after" ]] && builtin return 0
        for one in "${PROMPT_COMMAND[@]-}"; do
            [[ -z $one || $one == *__hermitty_* ]] || kept+=("$one")
        done
        builtin unset PROMPT_COMMAND
        PROMPT_COMMAND=("$before" "${kept[@]}" "$after")
    else
        [[ ${PROMPT_COMMAND-} == "$before"* && ${PROMPT_COMMAND-} == *"$after" ]] && builtin return 0
        one=${PROMPT_COMMAND-}
        one=${one#"$before"}
        one=${one%"$after"}
        PROMPT_COMMAND="$before"$'\n'"$one"$'\n'"$after"
    fi
    builtin return 0
}

__hermitty_recover() {
    # Typed at the prompt when the hooks are gone: reports the last command's status, then installs them again.
    { __hermitty_before; __hermitty_prompts; __hermitty_hooks; } >/dev/null 2>&1
}

# The files a plain interactive bash would have read in our place.
if [[ $__hermitty_login ]]; then
    [[ -r /etc/profile ]] && . /etc/profile
    if [[ -r ~/.bash_profile ]]; then . ~/.bash_profile
    elif [[ -r ~/.bash_login ]]; then . ~/.bash_login
    elif [[ -r ~/.profile ]]; then . ~/.profile
    fi
elif [[ -r ~/.bashrc ]]; then
    . ~/.bashrc
fi

if ((BASH_VERSINFO[0] > 4 || (BASH_VERSINFO[0] == 4 && BASH_VERSINFO[1] >= 4))); then
    builtin set +o histexpand
    builtin bind 'set enable-bracketed-paste on' 2>/dev/null
    for __hermitty_map in emacs-standard vi-insert vi-command; do
        builtin bind -m "$__hermitty_map" '"\e[200~": bracketed-paste-begin'
        builtin bind -m "$__hermitty_map" '"\e[9990~": kill-whole-line'
        builtin bind -m "$__hermitty_map" '"\e[9991~": accept-line'
    done 2>/dev/null
    builtin unset __hermitty_map
    __hermitty_prompts
    __hermitty_hooks
else
    builtin printf '\e]633;P;Integration=none;%s\a' "$__hermitty_nonce" >/dev/tty
fi
