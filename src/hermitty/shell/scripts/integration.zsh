# hermitty's shell integration for zsh 5.3 and later: the .zshenv of a private ZDOTDIR.
#
# It gives the user's own ZDOTDIR back before anything else is read, so zsh itself reads the other startup files from
# where they are. The hooks below wait for the first prompt, which comes after all of them.
#
# Reports are OSC 633 sequences that carry a nonce. They go to /dev/tty, so that `exec >file` does not lose them; no
# descriptor is kept open and nothing is exported, so that programs get neither. Hooks run with zsh's own options
# whatever the user has set, and inside a block whose standard error is thrown away: that hides `set -x` as well.

if [[ -n @ZDOTDIR_SET@ ]]; then
    ZDOTDIR=@ZDOTDIR@
else
    builtin unset ZDOTDIR
fi

if [[ -z ${__hermitty_nonce-} && -o interactive ]]; then
    # -H: `set` and `typeset` do not show the values. +x: allexport does not reach them.
    typeset -gH +x __hermitty_nonce='@NONCE@' __hermitty_dir=@DIR@ __hermitty_clean_history='@CLEAN_HISTORY@'
    typeset -gH +x __hermitty_line= __hermitty_submitted= __hermitty_reported= __hermitty_eol=
    typeset -gH +x __hermitty_wrapped_ps1= __hermitty_ps1= __hermitty_wrapped_ps2= __hermitty_ps2=

    __hermitty_tell() {
        # Prints markers: each argument is the body of one.
        local one
        local -a all
        for one; do all+=($'\e]633;'"$one;$__hermitty_nonce"$'\a'); done
        builtin print -rn -- "${(j::)all}" >|/dev/tty
    }

    __hermitty_escape() {
        # Sets REPLY to the escaped form of $1, byte by byte.
        builtin setopt localoptions extendedglob nomultibyte
        REPLY=$1
        [[ $1 == *[\\\;$'\x01'-$'\x1f']* || $1 == *$'\0'* ]] || builtin return 0
        REPLY=${REPLY//\\/\\\\}
        REPLY=${REPLY//;/\\x3b}
        REPLY=${REPLY//(#m)[$'\0'-$'\x1f']/\\x${(l:2::0:)$(( [##16] #MATCH ))}}
    }

    __hermitty_report_end() {
        # What the hooks know when a command is over; $1 is its status. Local names are ours: they must not hide an
        # exported variable of the user.
        local REPLY __hermitty_name
        {
            for __hermitty_name in ${(k)parameters[(R)*export*]}; do
                builtin print -rNn -- "$__hermitty_name=${(P)__hermitty_name}"
                builtin print -n '\0'
            done
        } >|"$__hermitty_dir/env"
        __hermitty_escape "$PWD"
        __hermitty_tell "P;Cwd=$REPLY" "D;$1"
        # What zsh does for PROMPT_SP, which it would do before this hook and so inside of the output: the mark, then
        # spaces up to the right margin, so that the prompt gets a line of its own.
        if [[ -n $__hermitty_eol && -o promptcr ]]; then
            local mark=${(%)${PROMPT_EOL_MARK-%B%S%#%s%b}} plain
            plain=${mark//$'\e'\[[0-9;]#m/}
            builtin print -rn -- "$mark${(l:COLUMNS - ${(m)#plain}:)}"$'\r'"${(l:${(m)#plain}:)}"$'\r' >|/dev/tty
        fi
        builtin return 0
    }

    __hermitty_arrange() {
        # Puts our hooks around whatever hooks there are now. `precmd` itself runs before precmd_functions.
        if [[ ${functions[precmd]-} != *__hermitty_precmd* ]]; then
            if (( $+functions[precmd] )); then
                functions[__hermitty_user_precmd]=$functions[precmd]
            elif (( $+functions[__hermitty_user_precmd] )); then
                builtin unfunction __hermitty_user_precmd
            fi
            functions[precmd]='{ __hermitty_precmd $? } >/dev/null 2>&1'
        fi
        local -a first wanted
        first=(__hermitty_before)
        (( $+functions[__hermitty_user_precmd] )) && first+=(__hermitty_user_precmd)
        wanted=($first ${precmd_functions:#__hermitty_*} __hermitty_after)
        [[ "$precmd_functions" == "$wanted" ]] || { typeset -ga precmd_functions; precmd_functions=($wanted) }
        wanted=(${preexec_functions:#__hermitty_*} __hermitty_preexec)
        [[ "$preexec_functions" == "$wanted" ]] || { typeset -ga preexec_functions; preexec_functions=($wanted) }
        builtin return 0
    }

    __hermitty_wrap_prompts() {
        local n=$__hermitty_nonce
        if [[ ${(t)PS1} == *readonly* ]]; then
            __hermitty_tell P\;Prompt=lost
        elif [[ ${PS1-} != *"$n"* ]]; then
            __hermitty_ps1=${PS1-}
            PS1=$'%{\e]633;A;%?;'$n$'\a%}'"$__hermitty_ps1"$'%{\e]633;B;'$n$'\a%}'
            __hermitty_wrapped_ps1=$PS1
        fi
        if [[ ${PS2-} != *"$n"* && ${(t)PS2} != *readonly* ]]; then
            __hermitty_ps2=${PS2-}
            PS2=$'%{\e]633;F;'$n$'\a%}'"$__hermitty_ps2"
            __hermitty_wrapped_ps2=$PS2
        fi
        builtin return 0
    }

    __hermitty_bind() {
        # At every prompt: `bindkey -d` or a new main keymap would lose the keys.
        local map
        builtin zle -N __hermitty_submit
        for map in emacs viins vicmd main; do
            builtin bindkey -M $map $'\x1es' __hermitty_submit
        done
        builtin return 0
    }

    __hermitty_precmd() {
        local __hermitty_status=$1
        [[ -z ${2-} ]] || builtin return 0
        {
            builtin emulate -L zsh
            builtin setopt noerrexit noerrreturn noxtrace
            __hermitty_reported=1
            __hermitty_report_end $__hermitty_status
            __hermitty_arrange
        } always {
            (( TRY_BLOCK_ERROR = 0 ))
        }
        builtin return 0
    }

    __hermitty_before() {
        # First in precmd_functions: only of use when somebody has replaced `precmd`.
        { __hermitty_precmd $? $__hermitty_reported } >/dev/null 2>&1
    }

    __hermitty_after() {
        # Last of all hooks: the user's prompt is final. Options set here stay, so this part has no emulation.
        {
            if [[ -o promptsp ]]; then
                builtin unsetopt promptsp
                __hermitty_at_prompt 1
            else
                __hermitty_at_prompt
            fi
            [[ -z $__hermitty_clean_history ]] || builtin setopt histignorespace
        } >/dev/null 2>&1
    }

    __hermitty_at_prompt() {
        builtin emulate -L zsh
        builtin setopt noerrexit noerrreturn noxtrace
        (( $+functions[zsh-newuser-install] )) && builtin unfunction zsh-newuser-install
        __hermitty_line= __hermitty_reported=
        [[ -z ${1-} ]] || __hermitty_eol=1
        __hermitty_wrap_prompts
        __hermitty_bind
        [[ ${precmd_functions[-1]-} == __hermitty_after ]] || __hermitty_arrange
        builtin return 0
    }

    __hermitty_preexec() {
        # Last of all hooks before the command. While it runs, the prompts are the user's own: a command that prints
        # or saves them gets no markers.
        {
            builtin emulate -L zsh
            builtin setopt noerrexit noerrreturn noxtrace
            local REPLY line=${1:-${3-}}
            [[ -z $__hermitty_submitted ]] || line=$__hermitty_line
            __hermitty_submitted=
            [[ ${PS1-} != "$__hermitty_wrapped_ps1" ]] || PS1=$__hermitty_ps1
            [[ ${PS2-} != "$__hermitty_wrapped_ps2" ]] || PS2=$__hermitty_ps2
            if (( $#line <= 4096 )); then
                __hermitty_escape "$line"
                __hermitty_tell "E;$REPLY" C
            else
                __hermitty_tell C
            fi
        } >/dev/null 2>&1
    }

    __hermitty_submit() {
        # A key of the line editor: takes the line from its file, so that no key binding, completion, paste filter or
        # history expansion ever sees it.
        {
            builtin emulate -L zsh
            builtin setopt extendedglob noerrexit noerrreturn noxtrace
            local space=${__hermitty_clean_history:+ } plain=1 one
            __hermitty_tell P\;Line=taken
            __hermitty_line="$(<$__hermitty_dir/line)"
            __hermitty_submitted=1
            __hermitty_arrange
            if (( $#__hermitty_line > 4096 )); then
                # The line editor would take too long to draw it.
                BUFFER=$space'eval "$__hermitty_line"'
            else
                # What the shell would not read from the keyboard as it reads it from a file: history expansion and
                # comments, several lines, an operator or a backslash at the end.
                for one in ${(s::)${histchars:-'!^#'}} $'\n' '!' '#'; do
                    [[ $__hermitty_line != *"$one"* ]] || plain=
                done
                [[ ${__hermitty_line%%[[:space:]]#} != *(\\|\&\&|\||\|\&) ]] || plain=
                # Defining a function is a way to parse without executing. A line that is not complete would wait for
                # the rest; inside eval it is an error. The braces catch an open here-document, which may end with a
                # function.
                functions[__hermitty_parsed]=$__hermitty_line
                functions[__hermitty_braced]="{"$'\n'"$__hermitty_line"$'\n'"}"
                (( $+functions[__hermitty_parsed] && $+functions[__hermitty_braced] )) || plain=
                unfunction __hermitty_parsed __hermitty_braced
                if [[ -n $plain ]]; then
                    BUFFER=$space$__hermitty_line
                else
                    BUFFER=${space}"eval -- ${(qq)__hermitty_line}"
                fi
            fi
            CURSOR=$#BUFFER
            region_highlight=()
            PREDISPLAY= POSTDISPLAY=
        } >/dev/null 2>&1
        builtin zle .accept-line
    }

    __hermitty_recover() {
        # Submitted when the hooks are gone: the key itself has put them back.
        builtin return $?
    }

    zsh-newuser-install() {
        # Instead of the dialogue for people without startup files: nobody is there to answer it.
        builtin return 0
    }

    { builtin emulate zsh -c __hermitty_arrange } >/dev/null 2>&1
    # A last resort for startup files that replace all hooks: runs once, before the first prompt and after its hooks.
    { builtin sched +0 __hermitty_first_prompt } 2>/dev/null
    __hermitty_first_prompt() {
        builtin unfunction __hermitty_first_prompt
        [[ -o zle ]] || __hermitty_tell P\;Integration=none
        if [[ ${PS1-} != *"$__hermitty_nonce"* ]]; then
            __hermitty_precmd 0
            __hermitty_after
        fi
    } >/dev/null 2>&1
fi

if [[ -r ${ZDOTDIR-$HOME}/.zshenv ]]; then
    builtin source "${ZDOTDIR-$HOME}/.zshenv"
fi
