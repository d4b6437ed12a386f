"""Programs that format and partition disks."""

from collections.abc import Sequence

from hermitty.policy import places
from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import ask, block
from hermitty.policy.options import Grammar
from hermitty.policy.programs.tables import Program, named

_MKFS = (
    "mkfs mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.fat mkfs.msdos mkfs.ntfs mkfs.exfat "
    "mkfs.f2fs mkfs.minix mkfs.cramfs mkfs.bfs mkfs.jfs mkfs.reiserfs mkfs.nilfs2 mkfs.udf mkfs.erofs mkfs.zonefs "
    "mke2fs mkdosfs mkntfs mkexfatfs mkreiserfs mkudffs newfs newfs_apfs newfs_hfs newfs_msdos newfs_exfat mkswap"
)
_PARTITIONS = (
    "fdisk sfdisk cfdisk gdisk sgdisk parted wipefs blkdiscard badblocks hdparm nvme cryptsetup pvcreate pvremove "
    "vgremove lvremove mdadm zpool zfs partprobe sg_format growpart resize2fs tune2fs e2fsck fsck xfs_repair debugfs"
)
_ERASES_ALWAYS = frozenset({"blkdiscard", "sg_format", "pvcreate", "pvremove"})
# Words that make the program of a name overwrite a disk.
_ERASES = {
    "wipefs": ("-a", "--all", "-o", "--offset", "-af", "-fa"),
    "sgdisk": ("-Z", "--zap-all", "-z", "--zap", "-o", "--clear"),
    "parted": ("mklabel", "mktable", "rm", "mkpart"),
    "badblocks": ("-w",),
    "hdparm": ("--security-erase", "--security-erase-enhanced"),
    "nvme": ("format", "sanitize"),
    "cryptsetup": ("luksFormat", "erase", "luksErase"),
    "sfdisk": ("--delete", "--wipe"),
    "mdadm": ("--zero-superblock", "--create", "-C"),
    "zpool": ("destroy", "create", "labelclear"),
}
_LISTS = {
    "fdisk": ("-l", "--list", "-v", "-V", "--version", "--help"),
    "sfdisk": ("-l", "--list", "-d", "--dump", "-v", "--version", "--help"),
    "gdisk": ("-l",),
    "sgdisk": ("-p", "--print"),
    "parted": ("-l", "--list", "print", "-s", "-m"),
    "zpool": ("list", "status"),
    "zfs": ("list", "get"),
    "nvme": ("list",),
}


def _mkfs(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    if [arg.text for arg in args] in (["-V"], ["--version"], ["--help"], ["-h"]):
        return []
    disks = _disks(args, judge)
    if disks:
        return [block(f"formats {disks[0].shown}", Effect.DEVICE, at=disks[0])]
    return [ask("makes a file system, which destroys what was there", Level.CRITICAL, Effect.DEVICE)]


def _partitions(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    words = [arg.text for arg in args]
    disks = _disks(args, judge)
    if disks and (name in _ERASES_ALWAYS or any(word in _ERASES.get(name, ()) for word in words)):
        return [block(f"{name} destroys what is on {disks[0].shown}", Effect.DEVICE, at=disks[0])]
    listing = _LISTS.get(name, ())
    if (
        listing
        and None not in words
        and words
        and all(word in listing or (word or "").startswith("/dev/") for word in words)
        and any(word in listing for word in words)
    ):
        return []
    return [ask(f"{name} may change disks", Level.CRITICAL, Effect.DEVICE)]


def _diskutil(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    action = (args[0].text or "").lower() if args else "list"
    if action in ("list", "info", "activity", "listfilesystems") or (
        action == "apfs" and args[1:] and args[1].text == "list"
    ):
        return []
    if action.startswith(("erase", "partition", "zero", "random", "secureerase", "reformat")):
        return [block(f"diskutil {args[0].shown} destroys what is on a disk", Effect.DEVICE, at=args[0])]
    return [ask("diskutil may change disks", Level.CRITICAL, Effect.DEVICE)]


def _mount(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    """Judge mount, which lists without words, or with those that select what is listed."""
    texts = [arg.text for arg in args]
    if texts in ([], ["-l"], ["-v"], ["--version"], ["-V"]) or (len(texts) == 2 and texts[0] == "-t" and texts[1]):
        return []
    return [ask("mount changes what is at a place", Level.HIGH, Effect.DEVICE)]


def _disks(args: Sequence[Arg], judge: Judge) -> list[Arg]:
    """Return the words that name a disk, or may do so."""
    found = []
    for arg in args:
        path = places.known_path(arg, judge.here)
        if (path is not None and (places.is_disk(path) or path.startswith("/dev/"))) or arg.prefix.startswith("/dev/"):
            found.append(arg)
    return found


PROGRAMS: dict[str, Program] = {
    **named(_MKFS, _mkfs),
    **named(_PARTITIONS, _partitions),
    "diskutil": _diskutil,
    "mount": _mount,
    "umount": Grammar("--version -V", "ask*", effect="umount takes a file system away", level=Level.HIGH),
    "blkid": Grammar("--help --version -hVdkilp -c,--cache-file:write -L: -U: -s: -o: -t: -g^change", "name*"),
}
