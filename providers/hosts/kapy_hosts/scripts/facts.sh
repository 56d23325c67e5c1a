# Print what is true of this host, a line for each fact. Nothing is changed but a file of our own.
d=/var/lib/kapy-hosts
say() { printf '%s=%s\n' "$1" "$(printf %s "$2" | tr '\n' ' ')"; }
say user "$(id -u)"
say kernel "$(uname -s)"
say architecture "$(uname -m)"
say system "$(. /etc/os-release 2>/dev/null && printf %s "$PRETTY_NAME")"
[ -d /run/systemd/system ] && say init systemd
say cgroup "$(stat -fc %T /sys/fs/cgroup 2>/dev/null)"
say controllers "$(cat /sys/fs/cgroup/cgroup.controllers 2>/dev/null || awk '$4 == 1 { print $1 }' /proc/cgroups)"
say cpus "$(nproc)"
say memory "$(awk '/^MemTotal:/ { print int($2 / 1024) }' /proc/meminfo)"
say disk "$(df -Pm /var/lib | awk 'NR == 2 { print $4 }')"
say swap "$(awk 'NR > 1 { print $1 }' /proc/swaps)"
say ports "$(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk '$4 == "0A" { sub(".*:", "", $2); print $2 }' | sort -u)"
say time "$(date +%s)"
say kubeadm "$(kubeadm version -o short 2>/dev/null)"
say kubelet "$(kubelet --version 2>/dev/null)"
for socket in /run/containerd/containerd.sock /run/crio/crio.sock /run/cri-dockerd.sock; do
    [ -S "$socket" ] && say runtime "$socket" && break
done
say boot_id "$(cat /proc/sys/kernel/random/boot_id 2>/dev/null)"
say addresses "$(hostname -I 2>/dev/null || ip -o address show scope global | awk '{ sub("/.*", "", $4); print $4 }')"
say claim "$(head -c 1024 $d/claim 2>/dev/null)"
for folder in "$d"/boot/*/; do
    [ -e "$folder/finished" ] && say booted_id "$(cat "$folder/boot_id")" && say booted_addresses "$(cat "$folder/addresses")"
done
for trace in /etc/kubernetes/kubelet.conf /etc/kubernetes/admin.conf /var/lib/etcd/member /var/lib/kubelet/config.yaml; do
    [ -e "$trace" ] && used="$used $trace"
done
say used "$used"
for tool in tar flock setsid base64 ip mount systemctl haproxy curl apt-get; do
    command -v "$tool" >/dev/null 2>&1 || missing="$missing $tool"
done
say missing "$missing"
mkdir -p "$d" 2>/dev/null && chmod 700 "$d" && : > "$d/.probe" && echo x > "$d/.probe" && rm -f "$d/.probe" && say writable yes
exit 0
