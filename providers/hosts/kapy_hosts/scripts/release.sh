# release.sh UID: undo what was done for a claim, look whether anything is left, and give the host
# back. Prints what is left, a line each, and `clean` where nothing is. May be run again.
d=/var/lib/kapy-hosts
uid=$1
mkdir -p "$d"
exec 8>"$d/.release"
flock -n 8 || { echo "another release is running"; exit 0; }
if [ -e "$d/claim" ]; then
    read -r owner rest < "$d/claim"
    [ "$owner" = "$uid" ] || { echo "held by $owner $rest"; exit 91; }
elif [ ! -e "$d/boot/$uid" ]; then
    echo clean
    exit 0
fi
boot="$d/boot/$uid"
runs() { pgrep -x "$1" >/dev/null 2>&1; }
patience() { # patience SECONDS COMMAND…: wait while the command succeeds
    left=$1
    shift
    while [ "$left" -gt 0 ] && "$@"; do sleep 1; left=$((left - 1)); done
}
has() { command -v "$1" >/dev/null 2>&1; }

systemctl stop "kapy-hosts-boot-$uid.service" >/dev/null 2>&1
[ -e "$boot/pid" ] && ! flock -n "$boot/lock" true && kill -TERM -- "-$(cat "$boot/pid")" 2>/dev/null
if [ -e "$boot/steps" ] || [ -e "$boot/finished" ] || [ -e "$boot/failed" ]; then
    systemctl stop kubelet >/dev/null 2>&1
    patience 30 runs kubelet
    has kubeadm && timeout 120 kubeadm reset --force >/dev/null 2>&1
    systemctl stop kubelet >/dev/null 2>&1
    if has crictl; then
        timeout 60 crictl rmp --all --force >/dev/null 2>&1
        timeout 60 crictl rm --all --force >/dev/null 2>&1
    fi
    if has ctr; then
        for one in $(timeout 20 ctr -n k8s.io tasks ls -q 2>/dev/null); do
            timeout 20 ctr -n k8s.io tasks rm --force "$one" >/dev/null 2>&1
        done
        for one in $(timeout 20 ctr -n k8s.io containers ls -q 2>/dev/null); do
            timeout 20 ctr -n k8s.io containers rm "$one" >/dev/null 2>&1
        done
    fi
    awk '$2 ~ "^/(var/lib/kubelet|run/netns/cni-|run/containerd/io.containerd.grpc.v1.cri/sandboxes)" { print $2 }' /proc/mounts | sort -r |
        while read -r mount; do umount "$mount" 2>/dev/null || umount -l "$mount" 2>/dev/null; done
    for one in $(ip netns list 2>/dev/null | awk '/^cni-/ { print $1 }'); do ip netns delete "$one" 2>/dev/null; done
    for one in $(ip -o link 2>/dev/null | awk -F ': ' '{ sub("@.*", "", $2); print $2 }' |
        grep -E '^(cni[0-9]*|flannel[.0-9v-]*|cali[0-9a-f]+|vxlan\.calico|vxlan-v6\.calico|cilium_.*|lxc[0-9a-f_]+|kube-ipvs0|kube-bridge|nodelocaldns|weave|antrea.*|ovn.*|kapy-hosts[0-9]*)$'); do
        ip link delete "$one" 2>/dev/null
    done
    # The far ends of the veth pairs of Pods went with their namespaces; ends without one stay.
    for one in $(ip -o link show type veth 2>/dev/null | awk -F ': ' '{ print $2 }' | sed -n 's/@.*//; /^veth[0-9a-f]\{8\}$/p'); do
        ip link delete "$one" 2>/dev/null
    done
    for one in iptables ip6tables; do
        has $one-save && $one-save 2>/dev/null | grep -E 'KUBE|CNI-|cali|FLANNEL|CILIUM' >/dev/null &&
            $one-save 2>/dev/null | grep -vE 'KUBE|CNI-|cali|FLANNEL|CILIUM' | $one-restore 2>/dev/null
    done
    if has nft; then
        nft list tables 2>/dev/null | awk '$3 ~ "^(kube-proxy|cni_)" { print $2, $3 }' |
            while read -r family table; do nft delete table "$family" "$table"; done
    fi
    has ipvsadm && ipvsadm --clear 2>/dev/null
    ip route 2>/dev/null | awk '$0 ~ " dev cni" { print $1 }' | while read -r route; do ip route delete "$route" 2>/dev/null; done
    rm -rf /etc/kubernetes/manifests /etc/kubernetes/pki /etc/kubernetes/tmp /etc/kubernetes/*.conf \
        /var/lib/etcd /var/lib/cni /etc/cni/net.d/* /run/flannel /run/calico /var/lib/calico \
        /run/kubeadm /run/cluster-api
    find /var/lib/kubelet -mindepth 1 -delete 2>/dev/null
    if [ -e "$boot/services" ]; then systemctl stop $(cat "$boot/services") >/dev/null 2>&1; fi
    if [ -e "$boot/paths" ]; then
        while IFS= read -r path; do
            if [ -e "$boot/saved$path" ]; then cp -p "$boot/saved$path" "$path"; else rm -f "$path"; fi
        done < "$boot/paths"
    fi
    if [ -e "$boot/undo" ]; then tac "$boot/undo" | while IFS= read -r line; do /bin/sh -c "$line" </dev/null >/dev/null 2>&1; done; fi
fi

going() { for name in $processes; do runs "$name" && return 0; done; return 1; }
processes="kubelet kube-apiserver kube-controller kube-scheduler kube-proxy etcd"
patience 20 going
{
    for name in $processes; do runs "$name" && echo "process $name"; done
    for path in /etc/kubernetes/kubelet.conf /etc/kubernetes/manifests/* /var/lib/etcd/member /var/lib/kubelet/config.yaml /etc/cni/net.d/*; do
        [ -e "$path" ] && echo "file $path"
    done
    ip -o link 2>/dev/null | awk -F ': ' '{ sub("@.*", "", $2); print $2 }' | grep -E '^(cni0|flannel.*|vxlan\.calico|cilium_.*|kube-ipvs0)$' | sed 's/^/interface /'
    for one in iptables ip6tables; do has $one-save && $one-save 2>/dev/null | grep -q KUBE && echo "rules of $one"; done
    has ctr && timeout 20 ctr -n k8s.io containers ls -q 2>/dev/null | head -n 5 | sed 's/^/container /'
} > "$d/.left"
if [ -s "$d/.left" ]; then
    head -n 20 "$d/.left"
    exit 0
fi
rm -rf "$d/boot" "$d/.left"
rm -f "$d/claim"
echo clean
