# progress.sh UID: print how far the boot is: a word, the step, the exit code; then the last lines.
boot="/var/lib/kapy-hosts/boot/$1"
[ -d "$boot" ] || { echo absent; exit 0; }
cd "$boot" || exit 1
last=$(ls begun | tail -n 1)
if [ -e finished ]; then echo finished; exit 0; fi
if [ -e failed ]; then
    read -r name code < failed
    echo "failed $name $code"
    tail -n 20 "log/$name" | tail -c 4096
    exit 0
fi
if flock -n lock true; then echo "stopped ${last:-none}"; else echo "running ${last:-none}"; fi
