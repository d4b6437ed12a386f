# hermitty's shell integration for fish 3.4 and later, read by `fish --init-command` after the user's config.fish.
#
# It tells where commands start and end, with which code, where the shell is and what it exports. Every report is an
# OSC 633 sequence that carries a nonce. Reports go to /dev/tty; nothing is exported, so that programs do not get it.
# fish keeps the status of the last command around event handlers, so the user's own hooks and prompt still see it.

if not set -q __hermitty_nonce
    set -gu __hermitty_nonce '@NONCE@'
    set -gu __hermitty_dir @DIR@
    set -gu __hermitty_space '@SPACE@'
    set -gu __hermitty_line ''
    set -gu __hermitty_submitted
    set -gu __hermitty_reported
    set -gu __hermitty_wrapper 0

    function __hermitty_tell
        # Prints markers: each argument is the body of one.
        builtin printf '\e]633;%s;'$__hermitty_nonce'\a' $argv >/dev/tty
    end

    function __hermitty_escape
        # Prints the escaped form of its argument, which may hold any byte but NUL.
        if not builtin string match -qr '[\\\\;\x01-\x1f]' -- $argv[1]
            builtin printf %s $argv[1]
            return
        end
        set -l parts (builtin string split -- \n $argv[1])
        set parts (builtin string replace -a -- \\ \\\\ $parts)
        set parts (builtin string replace -a -- ';' '\\x3b' $parts)
        if builtin string match -qr '[\x01-\x1f]' -- $parts
            for code in 0{1,2,3,4,5,6,7,8,9,b,c,d,e,f} 1{0,1,2,3,4,5,6,7,8,9,a,b,c,d,e,f}
                set parts (builtin string replace -a -- (builtin printf "\\x$code") "\\x$code" $parts)
            end
        end
        builtin string join -- '\\x0a' $parts
    end

    function __hermitty_preexec --on-event fish_preexec
        set -l line $argv[1]
        set -q __hermitty_submitted[1]; and set line $__hermitty_line
        set -g __hermitty_submitted
        if test (builtin string length -- "$line") -le 4096
            __hermitty_tell "E;"(__hermitty_escape "$line") C
        else
            __hermitty_tell C
        end
    end

    function __hermitty_postexec --on-event fish_postexec
        __hermitty_report_end ";$status"
        set -g __hermitty_reported 1
    end

    function __hermitty_report_end
        for __hermitty_name in (set -xn)
            # Quoted, a list is joined in the way programs get it: with colons for paths, else with spaces.
            builtin printf '%s=%s\0' $__hermitty_name "$$__hermitty_name"
        end >$__hermitty_dir/env
        __hermitty_tell "P;Cwd="(__hermitty_escape "$PWD") "D$argv[1]"
    end

    function __hermitty_cancel --on-event fish_cancel
        # Ctrl-C at the prompt draws the prompt again without the event below.
        __hermitty_report_end ''
    end

    function __hermitty_at_prompt --on-event fish_prompt
        set -l code $status
        # After an empty line nothing was executed, and no code is told.
        set -q __hermitty_reported[1]; or __hermitty_report_end ''
        set -g __hermitty_reported
        set -g __hermitty_line ''
        __hermitty_wrap_prompt
        # Again at every prompt: somebody may have reset all bindings or switched to another set.
        for mode in default insert (builtin bind -L)
            builtin bind -M $mode \x1es __hermitty_submit
        end
        __hermitty_tell "A;$code"
    end

    function __hermitty_wrap_prompt
        # Others wrap the prompt too (a virtual environment copies it and puts it back later), so a copy of our wrapper
        # may be inside of theirs: each wrapper calls a copy of its own, and only the newest marks the end.
        set -l details (builtin functions -Dv fish_prompt)
        test "$details[5]" = "hermitty's wrapper $__hermitty_wrapper"; and return
        set -g __hermitty_wrapper (math $__hermitty_wrapper + 1)
        set -l user_prompt __hermitty_prompt_$__hermitty_wrapper
        if builtin functions -q fish_prompt
            builtin functions -c fish_prompt $user_prompt
        else
            # What fish draws where there is no such function.
            function $user_prompt
                builtin printf '%s> ' (builtin pwd)
            end
        end
        set -l number $__hermitty_wrapper
        function fish_prompt -V number -V user_prompt --description "hermitty's wrapper $__hermitty_wrapper"
            # The user's own comes first: it wants to see $status and $pipestatus.
            $user_prompt
            test $number = $__hermitty_wrapper; and builtin printf '\e]633;B;%s\a' $__hermitty_nonce
        end
    end

    function __hermitty_submit
        # A key of the line editor: takes the line from its file, so that no key binding, completion or abbreviation
        # ever sees it.
        __hermitty_tell P\;Line=taken
        builtin read -gz __hermitty_line <$__hermitty_dir/line
        or set -g __hermitty_line ''
        set -g __hermitty_submitted 1
        if test (builtin string length -- "$__hermitty_line") -gt 4096
            or builtin string match -qr '[\x01-\x08\x0b-\x1f\x7f]' -- "$__hermitty_line"
            # The line editor would take too long to draw it, or not draw it at all.
            builtin commandline -r -- $__hermitty_space'eval $__hermitty_line'
        else
            builtin commandline -r -- "$__hermitty_space$__hermitty_line"
            if not builtin commandline --is-valid; and builtin string match -qr '\S' -- "$__hermitty_line"
                # It would wait for the rest or be refused; inside eval it is an error with a status.
                builtin commandline -r -- "$__hermitty_space""eval "(builtin string escape -- "$__hermitty_line")
            end
        end
        # Abbreviations are expanded where the cursor is.
        builtin commandline -C 0
        builtin commandline -f execute
    end

    __hermitty_wrap_prompt
end
