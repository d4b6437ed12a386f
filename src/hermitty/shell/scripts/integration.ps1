# hermitty's shell integration for PowerShell 5.1 and later, read by `pwsh -NoExit -Command` after the profiles.
#
# It tells where commands start and end, with which code, where the shell is and what its environment holds. Every
# report is an OSC 633 sequence that carries a nonce. The code is known in `prompt`, which runs first after a command;
# the line is known in PSConsoleHostReadLine, through which the host reads it.

if (Test-Path variable:global:__hermitty) { return }

if ($ExecutionContext.SessionState.LanguageMode -ne 'FullLanguage') {
    # Methods may not be called here, so nothing below would work.
    Write-Host -NoNewline "$([char]27)]633;P;Integration=none;@NONCE@$([char]7)"
    return
}

$Global:__hermitty = @{
    Nonce     = '@NONCE@'
    Directory = @DIR@
    Counter   = @COUNTER@
    Prompt    = $null
    ReadLine  = $null
    Running   = $false
    Reported  = $false
    Errors    = $null
}

function Global:__hermitty_tell([string[]] $bodies) {
    $escape = [char]27
    $bell = [char]7
    $text = ''
    foreach ($body in $bodies) { $text += "$escape]633;$body;$($Global:__hermitty.Nonce)$bell" }
    [Console]::Write($text)
}

function Global:__hermitty_escape([string] $value) {
    [regex]::Replace($value, '[\\;\x00-\x1f]', {
            param($found)
            if ($found.Value -eq '\') { '\\' } else { '\x{0:x2}' -f [int][char]$found.Value }
        })
}

function Global:__hermitty_code([bool] $ok, $code) {
    # $? tells whether the last command failed. $LASTEXITCODE belongs to the last program, which may be long past: an
    # error record that has come since the start says that a command of PowerShell itself has failed.
    if ($ok) { return 0 }
    $newest = if ($Global:Error.Count -gt 0) { $Global:Error[0] } else { $null }
    $isNew = $null -ne $newest -and -not [object]::ReferenceEquals($newest, $Global:__hermitty.Errors)
    if ($isNew -and "$($newest.FullyQualifiedErrorId)" -notlike '*ProgramExitedWithNonZeroCode*') { return 1 }
    if ($code -is [int] -and $code -ne 0) { return $code -band 0xff }
    return 1
}

function Global:__hermitty_report_end([string] $code) {
    $entries = [System.Text.StringBuilder]::new()
    foreach ($entry in [Environment]::GetEnvironmentVariables().GetEnumerator()) {
        [void]$entries.Append($entry.Key).Append('=').Append($entry.Value).Append([char]0)
    }
    try {
        [IO.File]::WriteAllText(
            [IO.Path]::Combine($Global:__hermitty.Directory, 'env'),
            $entries.ToString(),
            [System.Text.UTF8Encoding]::new($false))
    } catch {
        # Without the file the environment is unknown, and the command is over all the same.
    }
    $place = (Get-Location -PSProvider FileSystem).ProviderPath
    __hermitty_tell "P;Cwd=$(__hermitty_escape $place)", "D$code"
    $Global:__hermitty.Running = $false
    $Global:__hermitty.Reported = $true
}

function Global:__hermitty_wrap_prompt {
    if ("$function:prompt" -like '*__hermitty*') { return }
    $Global:__hermitty.Prompt = $function:prompt
    $function:Global:prompt = {
        $ok = $?
        $code = $Global:LASTEXITCODE
        if ($Global:__hermitty.Running) {
            __hermitty_report_end ";$(__hermitty_code $ok $code)"
        } else {
            # An empty line or Ctrl-C: nothing was executed.
            __hermitty_report_end ''
        }
        __hermitty_tell 'A'
        # The user's prompt may look at both.
        $Global:LASTEXITCODE = $code
        if (-not $ok) { Write-Error 'failed' -ErrorAction Ignore }
        & $Global:__hermitty.Prompt
    }
}

function Global:__hermitty_next_line([string] $line) {
    # What the host gets for a line that was read: the text of the file for our own word, else the line itself.
    if ($line.Trim() -ne '__hermitty_run') { return $line }
    $text = [IO.File]::ReadAllText([IO.Path]::Combine($Global:__hermitty.Directory, 'line'))
    $tokens = $null
    $problems = $null
    [void][System.Management.Automation.Language.Parser]::ParseInput($text, [ref]$tokens, [ref]$problems)
    if ($problems.Count -gt 0) {
        # The host would ask for the rest of an incomplete line; inside of this it is an error.
        return "Invoke-Expression '" + [System.Management.Automation.Language.CodeGeneration]::EscapeSingleQuotedStringContent($text) + "'"
    }
    if ($Global:__hermitty.Counter -gt 0) {
        # On a line of its own, as a comment: it changes no status.
        $text += "`n# $($Global:__hermitty.Counter)"
        $Global:__hermitty.Counter++
    }
    return $text
}

if (Test-Path function:PSConsoleHostReadLine) {
    $Global:__hermitty.ReadLine = $function:PSConsoleHostReadLine
} else {
    # Without PSReadLine the terminal itself edits the line.
    $Global:__hermitty.ReadLine = { [Console]::In.ReadLine() }
}

function Global:PSConsoleHostReadLine {
    # Somebody may have replaced the prompt: then its end, and the code of the last command, are told here.
    if (-not $Global:__hermitty.Reported) { __hermitty_report_end '' }
    $Global:__hermitty.Reported = $false
    __hermitty_wrap_prompt
    __hermitty_tell 'B'
    $read = & $Global:__hermitty.ReadLine
    if ($null -eq $read) { return 'exit' }
    $line = __hermitty_next_line $read
    if ($line.Trim() -ne '') {
        $Global:__hermitty.Running = $true
        $Global:__hermitty.Errors = if ($Global:Error.Count -gt 0) { $Global:Error[0] } else { $null }
        if ($line.Length -le 4096) {
            __hermitty_tell "E;$(__hermitty_escape $line)", 'C'
        } else {
            __hermitty_tell 'C'
        }
    }
    return $line
}

if (Get-Command -Name Set-PSReadLineOption -ErrorAction Ignore) {
    # Our word is not worth remembering; whatever else the user's own handler says, holds.
    $Global:__hermitty.History = (Get-PSReadLineOption).AddToHistoryHandler
    Set-PSReadLineOption -AddToHistoryHandler {
        param($line)
        if ($line.Trim() -eq '__hermitty_run') { return $false }
        if ($null -ne $Global:__hermitty.History) { return $Global:__hermitty.History.Invoke($line) }
        return $true
    }
}

__hermitty_wrap_prompt
