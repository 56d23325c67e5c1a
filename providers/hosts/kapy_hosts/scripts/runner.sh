# Carries out the steps beside this file, each once. done/ and begun/ are the journal.
umask 022
cd "$(dirname "$0")" || exit 1
exec 9>lock
flock -n 9 || exit 0
echo $$ > pid
export HOME=/root BOOT_UNDO="$PWD/undo" PATH="${PATH:-/usr/bin}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
[ -e failed ] && exit 1
fail() { printf '%s %s\n' "$1" "$2" > failed.new && mv failed.new failed; exit 1; }
for step in steps/*.sh; do
    [ -e "$step" ] || break  # boot data may have no steps
    name=${step#steps/}
    name=${name%.sh}
    [ -e "done/$name" ] && continue
    if [ -e "begun/$name" ] && [ ! -e "steps/$name.again" ]; then
        echo "the host was restarted while this step was running" >> "log/$name"
        fail "$name" interrupted
    fi
    : > "begun/$name"
    input=/dev/null
    [ -e "steps/$name.in" ] && input="steps/$name.in"
    left=1
    [ -e "steps/$name.again" ] && left=3
    while :; do
        /bin/sh "$step" < "$input" > "log/$name" 2>&1 9>&-
        code=$?
        left=$((left - 1))
        [ "$code" = 0 ] && break
        [ "$left" = 0 ] && fail "$name" "$code"
        sleep 2
    done
    : > "done/$name"
done
: > finished
rm -rf steps
