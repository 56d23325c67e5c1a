// The least network for Pods: writes a CNI configuration with the Node's range of each IP family, and
// keeps a route to the ranges of each other Node. Pods reach what is outside of the cluster by their
// Node's address.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const folder = "/etc/cni/net.d"

const configuration = `{"cniVersion": "0.4.0", "name": "pods", "plugins": [
  {"type": "ptp", "mtu": 1500, "ipMasq": true, "ipam": {"type": "host-local", "dataDir": "/run/cni-ipam-state",
   "routes": [%s], "ranges": [%s]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}
]}
`

func main() {
	config, err := rest.InClusterConfig()
	if err != nil {
		panic(err)
	}
	client := kubernetes.NewForConfigOrDie(config)
	for ; ; time.Sleep(time.Second) {
		nodes, err := client.CoreV1().Nodes().List(context.Background(), metav1.ListOptions{})
		if err != nil {
			fmt.Println("cannot list Nodes:", err)
			continue
		}
		for _, node := range nodes.Items {
			if err := reach(node); err != nil {
				fmt.Println("Node", node.Name, err)
			}
		}
	}
}

func reach(node corev1.Node) error {
	if len(node.Spec.PodCIDRs) == 0 {
		return nil
	}
	if node.Name == os.Getenv("NODE_NAME") {
		return configure(node.Spec.PodCIDRs)
	}
	for _, one := range node.Spec.PodCIDRs {
		_, pods, err := net.ParseCIDR(one)
		if err != nil {
			return err
		}
		if gateway := gatewayOf(node, pods); gateway != nil {
			if err := netlink.RouteReplace(&netlink.Route{Dst: pods, Gw: gateway}); err != nil {
				return err
			}
		}
	}
	return nil
}

// gatewayOf gives the first address of a Node that has the family of a range.
func gatewayOf(node corev1.Node, pods *net.IPNet) net.IP {
	for _, one := range node.Status.Addresses {
		found := net.ParseIP(one.Address)
		if one.Type == corev1.NodeInternalIP && found != nil && isIPv6(found) == isIPv6(pods.IP) {
			return found
		}
	}
	return nil
}

func isIPv6(address net.IP) bool {
	return address.To4() == nil
}

func configure(pods []string) error {
	var routes, ranges []string
	for _, one := range pods {
		all := "0.0.0.0/0"
		if strings.Contains(one, ":") {
			all = "::/0"
		}
		routes = append(routes, fmt.Sprintf(`{"dst": "%s"}`, all))
		ranges = append(ranges, fmt.Sprintf(`[{"subnet": "%s"}]`, one))
	}
	text := fmt.Sprintf(configuration, strings.Join(routes, ", "), strings.Join(ranges, ", "))
	path := folder + "/10-pods.conflist"
	if found, err := os.ReadFile(path); err == nil && string(found) == text {
		return nil
	}
	if err := os.WriteFile(folder+"/.new", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(folder+"/.new", path)
}
