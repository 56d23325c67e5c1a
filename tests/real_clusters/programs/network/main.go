// The least network for Pods: writes a CNI configuration with the Node's range, and keeps a route to
// the range of each other Node. Pods reach what is outside of the cluster by their Node's address.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
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
   "routes": [{"dst": "0.0.0.0/0"}], "ranges": [[{"subnet": "%s"}]]}},
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
	if node.Spec.PodCIDR == "" {
		return nil
	}
	if node.Name == os.Getenv("NODE_NAME") {
		return configure(node.Spec.PodCIDR)
	}
	_, pods, err := net.ParseCIDR(node.Spec.PodCIDR)
	if err != nil {
		return err
	}
	for _, one := range node.Status.Addresses {
		if one.Type == corev1.NodeInternalIP {
			return netlink.RouteReplace(&netlink.Route{Dst: pods, Gw: net.ParseIP(one.Address)})
		}
	}
	return nil
}

func configure(pods string) error {
	path, text := folder+"/10-pods.conflist", fmt.Sprintf(configuration, pods)
	if found, err := os.ReadFile(path); err == nil && string(found) == text {
		return nil
	}
	if err := os.WriteFile(folder+"/.new", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(folder+"/.new", path)
}
