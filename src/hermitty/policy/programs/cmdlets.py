"""Parameters of PowerShell's cmdlets, in the language of `hermitty.policy.options`; all else asks.

A name may be shortened and its case does not matter. Values joined by commas are several values of one parameter.
"""

import re

from hermitty.policy.effects import Effect, Level
from hermitty.policy.options import Grammar

# Every cmdlet has these. Those with a variable set it, and a variable can change what later commands do.
COMMON = (
    "-Verbose,-vb -Debug,-db -ErrorAction,-ea: -WarningAction,-wa: -InformationAction,-infa: -ProgressAction,-proga: "
    "-OutBuffer,-ob: -ErrorVariable,-ev:ask -WarningVariable,-wv:ask -InformationVariable,-iv:ask -OutVariable,-ov:ask "
    "-PipelineVariable,-pv:ask "
)
# Cmdlets that change something have these, too.
CHANGING = "-WhatIf,-wi -Confirm,-cf "
_INPUT = "-InputObject: "
_NARROWS = "-Filter: -Include: -Exclude: -Force -Credential:ask "
_REMOTE = "-ComputerName,-cn:network -CimSession,-Session:network -Credential:ask "


def _reads(parameters: str, operands: str = "plain*", first_unless: tuple[str, ...] = ()) -> Grammar:
    return Grammar(COMMON + parameters, operands, single_dash=True, first_unless=first_unless)


def _changes(
    parameters: str, operands: str, effect: str, level: Level = Level.LOW, kind: Effect = Effect.WRITE
) -> Grammar:
    return Grammar(COMMON + CHANGING + parameters, operands, single_dash=True, effect=effect, level=level, kind=kind)


def _path(role: str) -> str:
    return f"-Path:{role} -LiteralPath,-PSPath,-LP:{role} "


_FORMAT = _reads(
    _INPUT + "-Property: -ExcludeProperty: -AutoSize -RepeatHeader -HideTableHeaders -Wrap -GroupBy: -View: -ShowError "
    "-DisplayError -Force -Expand: -Column: -Depth:"
)
# What Get-* cmdlets for the state of the machine have in common; others of their parameters only choose.
_STATE = Grammar(COMMON + _REMOTE, "plain*", single_dash=True, any_options=True)
_TEXT = Grammar(COMMON, "plain*", single_dash=True, any_options=True)
_CSV = (
    _INPUT
    + "-Delimiter: -NoTypeInformation,-nti -IncludeTypeInformation,-iti -QuoteFields: -UseQuotes: -UseCulture -Header: "
    "-NoHeader "
)
_WRITES = "-Encoding: -NoNewline -NoClobber,-NoOverwrite -Append -AsByteStream -Stream: -PassThru " + _INPUT + _NARROWS

READERS: dict[str, Grammar] = {
    "Get-ChildItem": _reads(
        _path("name")
        + _NARROWS
        + "-Recurse,-s,-r -Depth: -Name -Attributes: -FollowSymlink -Directory,-ad,-d -File,-af "
        "-Hidden,-ah,-h -ReadOnly,-ar -System,-as",
        "name*",
    ),
    "Get-Content": _reads(
        _path("read")
        + _NARROWS
        + "-ReadCount: -TotalCount,-First,-Head: -Tail,-Last: -Delimiter: -Wait -Raw -Encoding: "
        "-AsByteStream -Stream:",
        "read*",
    ),
    "Get-Item": _reads(_path("name") + _NARROWS + "-Stream:", "name*"),
    "Get-ItemProperty": _reads(_path("name") + _NARROWS + "-Name:", "name*"),
    "Get-ItemPropertyValue": _reads(_path("name") + _NARROWS + "-Name:", "name*"),
    "Get-Location": _reads("-PSProvider: -PSDrive: -Stack -StackName:"),
    "Get-FileHash": _reads(_path("read") + "-Algorithm: -InputStream:", "read*"),
    "Get-Acl": _reads(_path("name") + _NARROWS + _INPUT + "-Audit -AllCentralAccessPolicies", "name*"),
    "Get-Process": _reads(
        _INPUT + "-Name,-ProcessName: -Id,-PID: -Module -FileVersionInfo,-FV -IncludeUserName " + _REMOTE
    ),
    "Get-Service": _reads(
        _INPUT
        + "-Name,-ServiceName: -DisplayName: -Include: -Exclude: -DependentServices,-DS -RequiredServices,-SDO "
        + _REMOTE
    ),
    "Get-Date": _reads(
        "-Date,-LastWriteTime: -Format: -UFormat: -AsUTC -Year: -Month: -Day: -Hour: -Minute: -Second: -Millisecond: "
        "-DisplayHint: -UnixTimeSeconds,-UnixTime:"
    ),
    "Get-Help": _reads(
        "-Name: -Full -Detailed -Examples -Parameter: -Category: -Component: -Functionality: -Role: -Path: "
        "-Online^network -ShowWindow^ask"
    ),
    "Get-Command": _reads(
        "-Name: -Module,-PSSnapin: -Noun: -Verb: -CommandType,-Type: -TotalCount: -Syntax -ArgumentList,-Args: -All "
        "-ListImported -ParameterName: -ParameterType: -ShowCommandInfo -UseFuzzyMatching -FullyQualifiedModule:"
    ),
    "Get-Member": _reads(_INPUT + "-Name: -MemberType,-Type: -View: -Static -Force"),
    "Select-String": _reads(
        _INPUT + _path("read") + "-Pattern: -SimpleMatch -CaseSensitive -Quiet -List -NoEmphasis -Include: -Exclude: "
        "-NotMatch -AllMatches -Encoding: -Context: -Raw -Culture:",
        "plain read*",
        first_unless=("-Pattern",),
    ),
    "Select-Object": _reads(
        _INPUT + "-Property: -ExcludeProperty: -ExpandProperty: -Unique -CaseInsensitive -Last: -First: -Skip: "
        "-SkipLast: -Wait -Index: -SkipIndex:"
    ),
    "Sort-Object": _reads(_INPUT + "-Property: -Descending -Unique -CaseSensitive -Culture: -Stable -Top: -Bottom:"),
    "Group-Object": _reads(_INPUT + "-Property: -NoElement -AsHashTable,-AHT -AsString -CaseSensitive -Culture:"),
    "Measure-Object": _reads(
        _INPUT + "-Property: -Sum -Average -Maximum -Minimum -StandardDeviation -AllStats -Line -Word -Character "
        "-IgnoreWhiteSpace"
    ),
    "Compare-Object": _reads(
        "-ReferenceObject: -DifferenceObject: -SyncWindow: -Property: -ExcludeDifferent -IncludeEqual -PassThru "
        "-Culture: -CaseSensitive"
    ),
    **dict.fromkeys(("Format-Table", "Format-List", "Format-Wide", "Format-Custom"), _FORMAT),
    "Format-Hex": _reads(_path("read") + _INPUT + "-Encoding: -Count: -Offset:", "read*"),
    "ConvertTo-Json": _reads(_INPUT + "-Depth: -Compress -EnumsAsStrings -AsArray -EscapeHandling:"),
    "ConvertFrom-Json": _reads(_INPUT + "-AsHashtable -Depth: -NoEnumerate -DateKind:"),
    **dict.fromkeys(("ConvertTo-Csv", "ConvertFrom-Csv"), _reads(_CSV)),
    **dict.fromkeys(("ConvertTo-Html", "ConvertTo-Xml", "ConvertFrom-StringData"), _TEXT),
    "ConvertFrom-Markdown": _reads(_path("read") + _INPUT + "-AsVT100EncodedString", "read*"),
    "Import-Csv": _reads(_path("read") + "-Delimiter: -Header: -Encoding: -UseCulture", "read plain"),
    "Import-Clixml": _reads(_path("read") + "-Skip: -First: -IncludeTotalCount", "read*"),
    "Import-PowerShellDataFile": _reads(_path("read") + "-SkipLimitCheck", "read*"),
    "Out-String": _reads(_INPUT + "-Stream -Width: -NoNewline"),
    **dict.fromkeys(("Out-Null", "Out-Default"), _reads(_INPUT)),
    "Out-Host": _reads(_INPUT + "-Paging"),
    **dict.fromkeys(("Write-Output", "Write-Host", "Write-Error", "Write-Warning", "Write-Verbose"), _TEXT),
    **dict.fromkeys(("Write-Debug", "Write-Information", "Write-Progress"), _TEXT),
    "Test-Path": _reads(_path("name") + _NARROWS + "-PathType,-Type: -IsValid -OlderThan: -NewerThan:", "name*"),
    "Resolve-Path": _reads(_path("name") + "-Relative -RelativeBasePath:name -Force -Credential:ask", "name*"),
    "Convert-Path": _reads(_path("name"), "name*"),
    "Split-Path": _reads(
        _path("name")
        + "-Parent -Leaf -Qualifier -NoQualifier -Extension -LeafBase -IsAbsolute -Resolve -Credential:ask",
        "name*",
    ),
    "Join-Path": _reads("-Path,-PSPath:name -ChildPath: -AdditionalChildPath: -Extension: -Resolve", "name*"),
    **dict.fromkeys(("Set-Location", "Push-Location"), _reads(_path("name") + "-PassThru -StackName:", "name*")),
    "Pop-Location": _reads("-PassThru -StackName:"),
    **dict.fromkeys(
        (
            *("Get-Alias", "Get-Variable", "Get-History", "Get-Host", "Get-Culture", "Get-UICulture", "Get-Random"),
            *("Get-Unique", "Get-PSDrive", "Get-PSProvider", "Get-Verb", "Get-TimeZone", "Get-Uptime", "Get-Error"),
            *("Get-ExecutionPolicy", "Get-PSCallStack", "Get-Package", "Get-Job", "Get-EventLog", "Get-WinEvent"),
            *("Get-CimInstance", "Get-CimClass", "Get-WmiObject", "Get-Counter", "Get-HotFix", "Get-ComputerInfo"),
            *("Get-Disk", "Get-Volume", "Get-Partition", "Get-PhysicalDisk", "Get-NetAdapter", "Get-NetIPAddress"),
            *("Get-NetIPConfiguration", "Get-NetTCPConnection", "Get-NetUDPEndpoint", "Get-NetRoute", "Get-LocalUser"),
            *("Get-LocalGroup", "Get-LocalGroupMember", "Get-ScheduledTask", "Get-WindowsFeature", "Get-MpPreference"),
            *("Get-NetFirewallRule", "Get-DnsClientServerAddress", "Get-InstalledModule", "Get-PSReadLineOption"),
        ),
        _STATE,
    ),
    # Without -ListAvailable it shows what is loaded; both read only.
    "Get-Module": _reads(
        "-Name: -All -ListAvailable -FullyQualifiedName: -PSEdition: -SkipEditionCheck -Refresh " + _REMOTE
    ),
    **dict.fromkeys(("Start-Sleep", "New-Guid", "New-TimeSpan", "Clear-Host"), _TEXT),
}

_DOWNLOADS = Grammar(
    COMMON + "-Uri: -OutFile:write -InFile:read -Method: -Body: -Form:ask -Headers: -UserAgent: -Credential:ask "
    "-UseDefaultCredentials^ask -Certificate:ask -WebSession: -SessionVariable,-SV:ask -Proxy:",
    "plain*",
    single_dash=True,
    any_options=True,
    effect="talks to another machine",
    level=Level.MEDIUM,
    kind=Effect.NETWORK,
)
WRITERS: dict[str, Grammar] = {
    **dict.fromkeys(
        ("Set-Content", "Add-Content"),
        _changes(_path("write") + "-Value: " + _WRITES, "write plain*", "writes to a file"),
    ),
    "Clear-Content": _changes(_path("write") + _WRITES, "write*", "empties a file", Level.MEDIUM),
    "Out-File": _changes(
        "-FilePath,-Path:write -LiteralPath,-PSPath,-LP:write -Width: " + _WRITES, "write plain*", "writes to a file"
    ),
    "Tee-Object": _changes(
        "-FilePath,-Path:write -LiteralPath,-PSPath,-LP:write -Variable:ask " + _WRITES, "write*", "writes to a file"
    ),
    "Export-Csv": _changes(_path("write") + _WRITES + _CSV, "write plain*", "writes to a file"),
    "Export-Clixml": _changes(_path("write") + _WRITES + "-Depth:", "write*", "writes to a file"),
    "New-Item": _changes(
        _path("write") + _NARROWS + "-Name: -ItemType,-Type: -Value,-Target: -Options:",
        "write*",
        "makes a file or directory",
    ),
    "mkdir": _changes(_path("write") + _NARROWS + "-Name: -Value: -p", "write*", "makes a directory"),
    "Copy-Item": _changes(
        _path("read")
        + _NARROWS
        + "-Destination:write -Container -Recurse -PassThru -FromSession:network -ToSession:network",
        "read write",
        "copies files",
    ),
    "Move-Item": _changes(
        _path("write") + _NARROWS + "-Destination:write -PassThru", "write*", "moves files", Level.MEDIUM
    ),
    "Rename-Item": _changes(
        _path("write") + _NARROWS + "-NewName: -PassThru", "write plain", "renames a file", Level.MEDIUM
    ),
    "Expand-Archive": _changes(
        _path("read") + "-DestinationPath:write -Force -PassThru", "read write", "unpacks an archive", Level.MEDIUM
    ),
    "Compress-Archive": _changes(
        _path("read") + "-DestinationPath:write -CompressionLevel: -Update -Force -PassThru",
        "read write",
        "makes an archive",
    ),
    **dict.fromkeys(("Invoke-WebRequest", "Invoke-RestMethod"), _DOWNLOADS),
}

# Lines as in `subcommands.asked`.
ASKED = """
    set-item set-itemproperty new-itemproperty remove-itemproperty clear-item clear-itemproperty rename-itemproperty \
        move-itemproperty copy-itemproperty: high write changes settings of the machine or of the shell
    set-acl set-filesecuritydescriptor unblock-file: medium write,privilege changes the permissions of files
    set-variable new-variable remove-variable clear-variable: medium session changes variables of the shell
    set-alias new-alias remove-alias import-alias export-alias: high session changes what later commands mean
    set-executionpolicy: high session,privilege changes which scripts may run
    set-psdebug set-strictmode set-psreadlineoption set-psreadlinekeyhandler update-formatdata update-typedata \
        set-psbreakpoint: medium session changes how the shell works
    import-module remove-module new-module using add-pssnapin: high exec,session loads code into the shell
    add-type new-object: high exec makes objects, which may run code
    invoke-item invoke-history invoke-cimmethod invoke-wmimethod set-ciminstance new-ciminstance remove-ciminstance \
        set-wmiinstance remove-wmiobject trace-command: high exec runs something that the line does not show
    invoke-command enter-pssession new-pssession connect-pssession invoke-sqlcmd: \
        high exec,network runs commands, here or on another machine
    start-job start-threadjob register-objectevent register-engineevent register-wmievent register-scheduledjob \
        register-scheduledtask set-scheduledtask new-scheduledtask unregister-scheduledtask: \
        high exec runs commands later
    stop-process wait-process debug-process stop-job remove-job: medium process stops other programs
    start-service stop-service restart-service set-service new-service remove-service suspend-service resume-service: \
        high process changes services
    stop-computer restart-computer rename-computer add-computer remove-computer checkpoint-computer restore-computer: \
        critical process,privilege stops or changes the machine
    install-module install-package install-script update-module save-module install-psresource update-psresource \
        register-psrepository install-packageprovider update-help: high network,exec gets code from another machine
    uninstall-module uninstall-package uninstall-psresource uninstall-windowsfeature: high delete removes software
    install-windowsfeature enable-windowsoptionalfeature disable-windowsoptionalfeature: \
        high privilege changes the system
    send-mailmessage start-bitstransfer: high network sends or gets data
    test-connection test-netconnection resolve-dnsname find-module find-package find-psresource: \
        low network asks another machine
    new-psdrive remove-psdrive new-smbshare mount-diskimage dismount-diskimage: medium session,network changes drives
    new-localuser remove-localuser set-localuser add-localgroupmember remove-localgroupmember: \
        critical privilege changes who may use the machine
    new-netfirewallrule set-netfirewallrule remove-netfirewallrule set-netfirewallprofile set-dnsclientserveraddress \
        new-netipaddress set-mppreference add-mppreference: high privilege changes how the machine is protected
    set-date set-timezone: high privilege changes the clock
    get-clipboard: low credentials shows what was copied, which may be a password
    get-credential convertfrom-securestring get-secret convertto-securestring: \
        high credentials shows or asks for passwords
    set-clipboard read-host out-printer out-gridview show-command: \
        low write waits for a person, or changes what is copied
    start-transcript stop-transcript: medium write writes what happens to a file
    clear-recyclebin clear-history clear-eventlog remove-eventlog limit-eventlog: high delete deletes records or files
"""
# These end what is on a disk.
WIPES = ("format-volume", "clear-disk", "initialize-disk", "remove-partition", "reset-physicaldisk", "set-disk")

# On systems other than Windows, some of these names are programs: see `NATIVE`.
ALIASES = {
    **dict.fromkeys(("gci", "dir", "ls"), "Get-ChildItem"),
    **dict.fromkeys(("gc", "type", "cat"), "Get-Content"),
    **dict.fromkeys(("gl", "pwd"), "Get-Location"),
    **dict.fromkeys(("gps", "ps"), "Get-Process"),
    **dict.fromkeys(("ghy", "h", "history"), "Get-History"),
    **dict.fromkeys(("help", "man"), "Get-Help"),
    **dict.fromkeys(("sl", "cd", "chdir"), "Set-Location"),
    **dict.fromkeys(("where", "?"), "Where-Object"),
    **dict.fromkeys(("foreach", "%"), "ForEach-Object"),
    **dict.fromkeys(("compare", "diff"), "Compare-Object"),
    **dict.fromkeys(("echo", "write"), "Write-Output"),
    **dict.fromkeys(("cls", "clear"), "Clear-Host"),
    **dict.fromkeys(("ri", "rm", "rmdir", "del", "erase", "rd"), "Remove-Item"),
    **dict.fromkeys(("cpi", "cp", "copy"), "Copy-Item"),
    **dict.fromkeys(("mi", "mv", "move"), "Move-Item"),
    **dict.fromkeys(("rni", "ren"), "Rename-Item"),
    **dict.fromkeys(("sv", "set"), "Set-Variable"),
    **dict.fromkeys(("saps", "start"), "Start-Process"),
    **dict.fromkeys(("spps", "kill"), "Stop-Process"),
    **dict.fromkeys(("iwr", "curl", "wget"), "Invoke-WebRequest"),
    **dict.fromkeys(("ihy", "r"), "Invoke-History"),
    **dict(
        re.findall(
            r"(\w+)=([\w-]+)",
            """gi=Get-Item gp=Get-ItemProperty gpv=Get-ItemPropertyValue gsv=Get-Service gcm=Get-Command gm=Get-Member
            gal=Get-Alias gv=Get-Variable gu=Get-Unique gdr=Get-PSDrive gmo=Get-Module gjb=Get-Job gcb=Get-Clipboard
            gcim=Get-CimInstance gwmi=Get-WmiObject gin=Get-ComputerInfo gerr=Get-Error gcs=Get-PSCallStack
            select=Select-Object sls=Select-String sort=Sort-Object group=Group-Object measure=Measure-Object
            ft=Format-Table fl=Format-List fw=Format-Wide fc=Format-Custom fhx=Format-Hex oh=Out-Host oss=Out-String
            rvpa=Resolve-Path cvpa=Convert-Path pushd=Push-Location popd=Pop-Location sleep=Start-Sleep tee=Tee-Object
            ipcsv=Import-Csv epcsv=Export-Csv sc=Set-Content ac=Add-Content clc=Clear-Content ni=New-Item md=mkdir
            si=Set-Item sp=Set-ItemProperty cli=Clear-Item clp=Clear-ItemProperty rp=Remove-ItemProperty nv=New-Variable
            rv=Remove-Variable clv=Clear-Variable sal=Set-Alias nal=New-Alias ipmo=Import-Module rmo=Remove-Module
            nmo=New-Module iex=Invoke-Expression irm=Invoke-RestMethod icm=Invoke-Command sajb=Start-Job ii=Invoke-Item
            sasv=Start-Service spsv=Stop-Service scb=Set-Clipboard etsn=Enter-PSSession nsn=New-PSSession
            ndr=New-PSDrive rdr=Remove-PSDrive mount=New-PSDrive ogv=Out-GridView""",
        )
    ),
}
# Aliases only on Windows: elsewhere the program is meant, so both are judged.
NATIVE = frozenset(
    {
        *("ls", "cat", "cp", "mv", "rm", "rmdir", "ps", "sort", "diff", "man", "mount", "sleep", "tee", "clear"),
        *("curl", "wget", "kill", "mkdir", "sc"),
    }
)
