"""Shell scripts that set up the users, disks, mounts and clock of a machine as cloud-init does.

Each may be run again. If the variable BOOT_UNDO names a file, a script adds the commands to it that
take back what it does; run from the last line to the first, they leave the machine as it was,
except for what is on its disks.
"""

from __future__ import annotations

from typing import Final

_COMMON: Final = r"""
fail() { echo "$1" >&2; exit 1; }
disk() { lsblk -- "$1" > /dev/null 2>&1; }
has() { command -v "$1" > /dev/null 2>&1; }
quote() { printf "'%s'" "$(printf %s "$1" | sed "s/'/'\\\\''/g")"; }
undo() {
    [ -n "$BOOT_UNDO" ] || return 0
    grep -qxF -- "$1" "$BOOT_UNDO" 2> /dev/null || printf '%s\n' "$1" >> "$BOOT_UNDO"
}
keep() { # keep FILE: it is restored at the end
    [ -n "$BOOT_UNDO" ] || return 0
    copy="$BOOT_UNDO.$(printf %s "$1" | cksum | tr ' ' -)"
    [ -e "$copy.kept" ] && return 0
    if [ -e "$1" ]; then
        cp -p -- "$1" "$copy" || exit 1
        undo "cp -p -- $(quote "$copy") $(quote "$1")"
    else
        undo "rm -f -- $(quote "$1")"
    fi
    : > "$copy.kept"
}
"""

USER: Final = (
    _COMMON
    + r"""
# NAME KIND LOCK SUDO GROUPS OPTION… < a password, then keys, a line each: a user.
# KIND: new (for a new user), hashed or plain (for any).
name=$1 password=$2 lock=$3 sudo=$4 groups=$5 created=
shift 5
IFS= read -r hash || true
gone="userdel --remove -- $name"
if ! id -u -- "$name" > /dev/null 2>&1; then
    for group in $groups; do
        getent group "$group" > /dev/null && continue
        undo "groupdel -- $group"
        groupadd -- "$group" || exit 1
    done
    undo "$gone"
    useradd --create-home "$@" -- "$name" || exit 1
    created=true
elif [ -n "$BOOT_UNDO" ] && grep -qxF -- "$gone" "$BOOT_UNDO"; then
    created=true
fi
[ -n "$hash" ] && [ "$password$created" = newtrue ] && password=hashed
case "$password" in
hashed) printf '%s:%s\n' "$name" "$hash" | chpasswd -e || exit 1 ;;
plain) printf '%s:%s\n' "$name" "$hash" | chpasswd || exit 1 ;;
esac
if [ "$lock" = true ]; then
    usermod --lock -- "$name" || exit 1
else
    usermod --unlock -- "$name" 2> /dev/null || true
fi
if [ -n "$sudo" ]; then
    file=/etc/sudoers.d/95-boot-data
    mkdir -p /etc/sudoers.d
    keep "$file"
    printf '%s\n' "$sudo" | while IFS= read -r rule; do
        grep -qxF -- "$name $rule" "$file" 2> /dev/null && continue
        (umask 337; printf '%s\n' "$name $rule" >> "$file")
    done
fi
home=$(getent passwd "$name" | cut -d : -f 6)
while IFS= read -r key; do
    [ -n "$home" ] || fail "$name has no home"
    file="$home/.ssh/authorized_keys"
    if [ ! -d "$home/.ssh" ]; then
        (umask 077; mkdir -p -- "$home/.ssh") && chown -- "$name:" "$home/.ssh" || exit 1
    fi
    grep -qxF -- "$key" "$file" 2> /dev/null && continue
    keep "$file"
    (umask 077; printf '%s\n' "$key" >> "$file") && chown -- "$name:" "$file" || exit 1
done
"""
)

DISK: Final = (
    _COMMON
    + r"""
# DEVICE TABLE OVERWRITE PERCENTAGE:TYPE…: partitions of a disk. A disk in use is left alone.
device=$(readlink -f -- "$1") table=$2 overwrite=$3
shift 3
disk "$device" || fail "$device is no disk of this machine"
types=$(lsblk -rnpo TYPE,PARTTYPE "$device" |
    awk '$1 == "part" { sub("^0x", "", $2); print tolower($2) }')
count=$(printf '%s' "$types" | grep -c .)
if [ "$1" = "100:" ]; then
    [ "$count" -gt 0 ] && exit 0
elif [ "$count" = $# ]; then
    same=true
    for part in "$@"; do
        type=$(printf %s "${part#*:}" | tr 'A-Z' 'a-z' | sed 's/^0\(.\)$/\1/')
        [ -z "$type" ] || [ "$type" = "$(printf '%s\n' "$types" | head -n 1)" ] || same=false
        types=$(printf '%s\n' "$types" | tail -n +2)
    done
    [ $same = true ] && exit 0
fi
if [ "$count" -gt 0 ] || [ -n "$(blkid -c /dev/null -o value -s TYPE "$device")" ]; then
    if [ "$overwrite" != true ]; then
        echo "$device has contents, and overwrite is not set: it stays as it is"
        exit 0
    fi
fi
lsblk -rno MOUNTPOINT "$device" | grep -q . && fail "$device is in use, and stays as it is"
size=$(($(blockdev --getsize64 "$device") / 1048576)) || exit 1
{
    echo "label: $table"
    while [ $# -gt 0 ]; do
        type=${1#*:}
        if [ $# = 1 ]; then line=""; else line="size=$((size * ${1%%:*} / 100))MiB"; fi
        [ -z "$type" ] || line="${line:+$line, }type=$type"
        echo "${line:-,}"
        shift
    done
} | sfdisk --quiet --force --wipe always --wipe-partitions always "$device" || exit 1
has udevadm && udevadm settle
has partprobe && partprobe "$device"
exit 0
"""
)

FILE_SYSTEM: Final = (
    _COMMON
    + r"""
# DEVICE PARTITION TYPE LABEL OVERWRITE REPLACED OPTION…: a file system. Contents are left alone.
device=$(readlink -f -- "$1") partition=$2 type=$3 label=$4 overwrite=$5 replaced=$6
shift 6
disk "$device" || fail "$device is no disk of this machine"
case "$partition" in
none) ;;
any|auto)
    choice=$(lsblk -rnpo NAME,TYPE,FSTYPE,LABEL "$device" | awk -F '[ ]' \
        -v type="$type" -v label="$label" -v replaced="$replaced" -v partition="$partition" \
        -v device="$device" '
        partition == "any" && replaced != "" && $3 == replaced { found = "format " $1; exit }
        $3 == type && (partition == "any" || $4 == label) { found = "reuse " $1; exit }
        $2 == "part" && $3 == "" { found = "format " $1; exit }
        $2 == "part" || $3 != "" { used = 1 }
        END { print found != "" ? found : used ? "none " device : "format " device }')
    device=${choice#* }
    case "$choice" in
    reuse*) exit 0 ;;
    none*) echo "$device has no place for a file system"; exit 0 ;;
    esac
    [ -n "$replaced" ] && overwrite=true ;;
*)
    for one in "$device$partition" "${device}p$partition" ""; do disk "$one" && break; done
    [ -n "$one" ] || fail "$device has no partition $partition"
    device=$one ;;
esac
there=$(blkid -c /dev/null -o value -s TYPE "$device")
name=$(blkid -c /dev/null -o value -s LABEL "$device")
[ "$there" = "$type" ] && [ "$name" = "$label" ] && [ "$overwrite" != true ] && exit 0
parts=$(lsblk -rno NAME "$device" | wc -l)
if [ -n "$there" ] || [ "$parts" -gt 1 ]; then
    [ "$overwrite" = true ] ||
        fail "$device has contents (${there:-partitions}); set overwrite to lose them"
fi
lsblk -rno MOUNTPOINT "$device" | grep -q . && fail "$device is in use, and stays as it is"
flag=-L force=
case "$type" in
ext*) force=-F ;;
xfs|btrfs) force=-f ;;
vfat) flag=-n ;;
esac
if [ "$type" = swap ]; then
    mkswap --force ${label:+-L "$label"} "$@" "$device"
else
    "mkfs.$type" $force ${label:+$flag "$label"} "$@" "$device"
fi
"""
)

MOUNTS: Final = (
    _COMMON
    + r"""
# DEVICE PLACE TYPE OPTIONS DUMP PASS, and so on: lines of fstab, which are mounted.
mark=x-boot-data
field() { printf %s "$1" | sed 's/ /\\040/g; s/\t/\\011/g'; }
undo "sed -i '/$mark/d' /etc/fstab"
touch /etc/fstab
grep -v "$mark" /etc/fstab > /etc/fstab.boot-data
while [ $# -ge 6 ]; do
    device=$1
    if [ -e "/sys/block/${device#/dev/}" ]; then
        for suffix in 1 p1; do disk "$device$suffix" && device="$device$suffix" && break; done
    fi
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$(field "$device")" "$(field "$2")" "$3" "$4,$mark" \
        "$5" "$6" >> /etc/fstab.boot-data
    shift 6
done
cat /etc/fstab.boot-data > /etc/fstab && rm -f /etc/fstab.boot-data || exit 1
has systemctl && systemctl daemon-reload
grep "$mark" /etc/fstab | while IFS='	' read -r device place type options _; do
    device=$(printf '%b' "$device") place=$(printf '%b' "$place")
    case "$device,$options," in
    /dev/*,nofail,*) [ -e "$device" ] || { echo "$device does not exist"; continue; } ;;
    esac
    if [ "$type" = swap ]; then
        undo "swapoff $(quote "$device")"
        swapon "$device" || exit 1
        continue
    fi
    if [ ! -d "$place" ]; then
        undo "rmdir -- $(quote "$place")"
        mkdir -p -- "$place" || exit 1
    fi
    mountpoint -q -- "$place" && continue
    undo "umount -- $(quote "$place")"
    mount -- "$place" || exit 1
done
"""
)

NTP: Final = (
    _COMMON
    + r"""
# LINE…: "server NAME" or "pool NAME", for the NTP client of the machine.
service() {
    for one in "$@"; do systemctl cat "$one.service" > /dev/null 2>&1 && break; done
    echo "$one"
}
if has chronyd; then
    file=/etc/chrony.conf
    [ -d /etc/chrony ] && file=/etc/chrony/chrony.conf
    service=$(service chrony chronyd) client=chrony
elif [ -x /lib/systemd/systemd-timesyncd ] || [ -x /usr/lib/systemd/systemd-timesyncd ]; then
    file=/etc/systemd/timesyncd.conf.d/boot-data.conf
    service=systemd-timesyncd client=timesyncd
elif has ntpd; then
    file=/etc/ntp.conf
    [ -d /etc/ntpsec ] && file=/etc/ntpsec/ntp.conf
    service=$(service ntpsec ntp ntpd) client=ntp
else
    fail "no NTP client is installed: chrony, systemd-timesyncd or ntpd"
fi
if [ $# -gt 0 ]; then
    mkdir -p "${file%/*}"
    undo "systemctl try-restart $service"
    keep "$file"
    {
        case $client in
        timesyncd)
            printf '[Time]\nNTP='
            for line in "$@"; do printf '%s ' "${line#* }"; done
            echo ;;
        chrony)
            for line in "$@"; do echo "$line iburst"; done
            [ -e /etc/chrony/chrony.keys ] && echo "keyfile /etc/chrony/chrony.keys"
            printf '%s\n' "driftfile /var/lib/chrony/drift" "maxupdateskew 100.0" rtcsync
            echo "makestep 1 3" ;;
        ntp)
            for line in "$@"; do echo "$line iburst"; done
            echo "driftfile /var/lib/ntp/ntp.drift"
            echo "restrict default kod nomodify notrap nopeer noquery"
            printf '%s\n' "restrict 127.0.0.1" "restrict ::1" ;;
        esac
    } > "$file" || exit 1
fi
systemctl enable --quiet "$service" 2> /dev/null
systemctl restart "$service"
"""
)
