# hermitty's shell integration for bash 4.4 and later, read by `bash --init-file`.
#
# It tells where commands start and end, with which code, where the shell is and what it exports. Every report is an
# OSC 633 sequence that carries a nonce. Reports go to the terminal, so that `exec >file` does not lose them; no descriptor
# is kept open, and nothing is exported, so that programs get neither. Hooks never fail (set -e), never touch unset
# names (set -u) and print nothing themselves under `set -x` or a DEBUG trap: their output is thrown away. Their local
# names are ours, too: nobody can make one local that the user made read-only.

[[ -n ${__hermitty_nonce-} ]] && return 0
__hermitty_nonce='@NONCE@'
__hermitty_dir=@DIR@
__hermitty_login='@LOGIN@'
__hermitty_clean_history='@CLEAN_HISTORY@'
__hermitty_number=
__hermitty_pwd=
__hermitty_cwd=
__hermitty_set=
__hermitty_unmarked=
# What stands around directory and code in the report of every command.
__hermitty_to_code=$'\e]633;D;'
__hermitty_to_end=";$__hermitty_nonce"$'\a'
# What stands in PROMPT_COMMAND: before and after the user's own, or one hook where there are none. Descriptor 3 is the
# shell's standard error, where its prompt goes.
__hermitty_first='{ __hermitty_hook "$?" first; } 3>&2 >/dev/null 2>&1 || { __hermitty_lost; } >/dev/null 2>&1'
__hermitty_last='{ __hermitty_hook "$?" last; } 3>&2 >/dev/null 2>&1 || { __hermitty_lost; } >/dev/null 2>&1'
__hermitty_only='{ __hermitty_hook "$?" only; } 3>&2 >/dev/null 2>&1 || { __hermitty_lost; } >/dev/null 2>&1'

# Functions come before the user's files, so that no alias of theirs ends up inside.

__hermitty_escape() {
    # Writes the escaped form of $1 into __hermitty_escaped.
    __hermitty_escaped=$1
    case $1 in
    *[\\\;[:cntrl:]]*) ;;
    *) return 0 ;;
    esac
    builtin local LC_ALL=C __hermitty_at __hermitty_char __hermitty_hex
    __hermitty_escaped=
    for ((__hermitty_at = 0; __hermitty_at < ${#1}; __hermitty_at++)); do
        __hermitty_char=${1:__hermitty_at:1}
        case $__hermitty_char in
        \\) __hermitty_escaped+='\\' ;;
        [\;[:cntrl:]])
            builtin printf -v __hermitty_hex '\\x%02x' "'$__hermitty_char"
            __hermitty_escaped+=$__hermitty_hex
            ;;
        *) __hermitty_escaped+=$__hermitty_char ;;
        esac
    done
}

__hermitty_report_line() {
    # Lines that a person typed are in the history; ours are not. The number of the next entry tells them apart.
    builtin local __hermitty_line
    if [[ -n $__hermitty_number ]]; then
        __hermitty_line=$(HISTTIMEFORMAT='' builtin history 1)
        __hermitty_line=${__hermitty_line#"${__hermitty_line%%[![:space:]]*}"}
        __hermitty_line=${__hermitty_line#*[0-9]  }
        __hermitty_escape "$__hermitty_line"
        builtin printf '\e]633;E;%s;%s\a' "$__hermitty_escaped" "$__hermitty_nonce" >/dev/tty
    fi
    __hermitty_number=$HISTCMD
}

__hermitty_hook() {
    # $1 is the status of the command. Every command waits for this: it is one function, and each builtin has its price.
    if [[ $2 != last ]]; then
        [[ $HISTCMD == "$__hermitty_number" ]] || __hermitty_report_line || builtin :
        if [[ $PWD != "$__hermitty_pwd" ]]; then
            __hermitty_pwd=$PWD
            __hermitty_escape "$PWD"
            __hermitty_cwd=$__hermitty_escaped
        fi
        if [[ -t 3 ]]; then
            builtin printf %s "$__hermitty_to_code$1;Cwd=$__hermitty_cwd$__hermitty_to_end" >&3
        else
            builtin printf %s "$__hermitty_to_code$1;Cwd=$__hermitty_cwd$__hermitty_to_end" >/dev/tty
        fi || builtin :
    fi
    if [[ $2 != first ]]; then
        # Last of all prompt commands: the user's prompt is final.
        [[ ${PS1-}${PS0-}${PS2-}${PROMPT_COMMAND[*]-} == "$__hermitty_set" ]] || __hermitty_wrap
        [[ -z $__hermitty_unmarked ]] || builtin printf '\e]633;B;%s\a' "$__hermitty_nonce" >/dev/tty || builtin :
        [[ -t 0 && -t 3 ]]
    fi
}

__hermitty_lost() {
    # Standard input or error is no terminal any more: nobody can type, or nobody sees the prompt. With standard error
    # closed, no hook has run, and the status is lost.
    builtin printf '\e]633;D;;%s\a\e]633;P;Prompt=lost;%s\a' "$__hermitty_nonce" "$__hermitty_nonce" >/dev/tty
}

__hermitty_is_fixed() {
    # Whether the variable named $1 is read-only: an assignment would end everything that led to it.
    builtin local -n __hermitty_variable="$1"
    [[ ${__hermitty_variable+${__hermitty_variable@a}} == *r* ]]
}

__hermitty_prompts() {
    # Wraps whatever prompts there are now.
    builtin local __hermitty_before=
    # Without a prompt command, the prompt itself tells what there is to tell, at the price of a subshell.
    ! __hermitty_is_fixed PROMPT_COMMAND ||
        __hermitty_before='$({ __hermitty_hook "$?" first; } 3>/dev/tty >/dev/null 2>&1)'
    [[ ${PS1-} == *"$__hermitty_nonce"* ]] || __hermitty_is_fixed PS1 ||
        PS1="\\[$__hermitty_before\\e]633;A;\$?;$__hermitty_nonce\\a\\]${PS1-}\\[\\e]633;B;$__hermitty_nonce\\a\\]"
    [[ ${PS0-} == *"$__hermitty_nonce"* ]] || __hermitty_is_fixed PS0 || PS0="${PS0-}\\e]633;C;$__hermitty_nonce\\a"
    [[ ${PS2-} == *"$__hermitty_nonce"* ]] || __hermitty_is_fixed PS2 ||
        PS2="\\[\\e]633;F;$__hermitty_nonce\\a\\]${PS2-}"
    [[ ${PS1-} == *"$__hermitty_nonce"* ]] && __hermitty_unmarked= || __hermitty_unmarked=1
    if [[ $__hermitty_clean_history ]] && ! __hermitty_is_fixed HISTCONTROL; then
        case ${HISTCONTROL-} in
        *ignorespace* | *ignoreboth*) ;;
        *) HISTCONTROL=ignorespace${HISTCONTROL:+:$HISTCONTROL} ;;
        esac
    fi
    builtin return 0
}

__hermitty_hooks() {
    # Puts our hooks around whatever prompt commands there are now.
    ! __hermitty_is_fixed PROMPT_COMMAND || builtin return 0
    builtin local __hermitty_kept __hermitty_one
    __hermitty_kept=()
    for __hermitty_one in "${PROMPT_COMMAND[@]-}"; do
        # Somebody may have put something before or after one of ours, in one line.
        __hermitty_one=${__hermitty_one//"$__hermitty_only"/:}
        __hermitty_one=${__hermitty_one//"$__hermitty_first"/:}
        __hermitty_one=${__hermitty_one//"$__hermitty_last"/:}
        [[ $__hermitty_one == *[!:\;[:space:]]* ]] && __hermitty_kept+=("$__hermitty_one")
    done
    builtin unset PROMPT_COMMAND
    if ((${#__hermitty_kept[@]} == 0)); then
        PROMPT_COMMAND=$__hermitty_only
    elif ((BASH_VERSINFO[0] > 5 || (BASH_VERSINFO[0] == 5 && BASH_VERSINFO[1] >= 1))); then
        PROMPT_COMMAND=("$__hermitty_first" "${__hermitty_kept[@]}" "$__hermitty_last")
    else
        # Before 5.1 there is one prompt command; ours stand on lines of their own around it.
        PROMPT_COMMAND="$__hermitty_first"$'\n'"${__hermitty_kept[0]}"$'\n'"$__hermitty_last"
    fi
    builtin return 0
}

__hermitty_wrap() {
    # Puts our reports into the prompts and around the prompt commands, and notes how they are then.
    __hermitty_prompts
    __hermitty_hooks
    __hermitty_set=${PS1-}${PS0-}${PS2-}${PROMPT_COMMAND[*]-}
    # What the user exports, by name or with `set -a`, must not hand the nonce to programs.
    builtin export -n PS1 PS0 PS2 __hermitty_set
}

__hermitty_recover() {
    # Typed at the prompt when the hooks are gone: reports the last command's status, then installs them again.
    { __hermitty_hook "$?" first; __hermitty_wrap; } 3>/dev/tty >/dev/null 2>&1
}

__hermitty_environment() {
    # Pressed as a key at the prompt, so that nothing is typed and nobody pays for it after every command.
    {
        builtin export -p >|"$__hermitty_dir/env"
        builtin printf '\e]633;P;Env=ready;%s\a' "$__hermitty_nonce" >/dev/tty
    } 2>/dev/null
}

__hermitty_tell_line() {
    # Pressed before the line is taken, by whoever wants to know that it is the one that was meant.
    {
        __hermitty_escape "$READLINE_LINE"
        builtin printf '\e]633;E;%s;%s\a' "$__hermitty_escaped" "$__hermitty_nonce" >/dev/tty
    } 2>/dev/null
}

__hermitty_start() {
    # After the user's files. A function, and read before them, for the same reason as the others.
    if ((BASH_VERSINFO[0] < 4 || (BASH_VERSINFO[0] == 4 && BASH_VERSINFO[1] < 4))) || __hermitty_is_fixed PS0; then
        builtin printf '\e]633;P;Integration=none;%s\a' "$__hermitty_nonce" >/dev/tty
        builtin return 0
    fi
    builtin local __hermitty_map
    builtin set +o histexpand
    builtin bind 'set enable-bracketed-paste on'
    builtin bind 'set enable-active-region off'  # what is pasted would be drawn twice, inverted and plain
    for __hermitty_map in emacs-standard vi-insert vi-command; do
        builtin bind -m "$__hermitty_map" '"\e[200~": bracketed-paste-begin'
        builtin bind -m "$__hermitty_map" '"\x1ep": bracketed-paste-begin'
        builtin bind -m "$__hermitty_map" '"\x1ek": kill-whole-line'
        builtin bind -m "$__hermitty_map" '"\x1es": accept-line'
        builtin bind -m "$__hermitty_map" -x '"\x1ee": __hermitty_environment'
        builtin bind -m "$__hermitty_map" -x '"\x1el": __hermitty_tell_line'
    done
    __hermitty_wrap
    builtin return 0
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

__hermitty_start 2>/dev/null
