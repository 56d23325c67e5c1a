// A runtime extension without a library: clusters need a label that says whose they are.
//
//	go run main.go tls.crt tls.key 9443
package main

import (
	"encoding/json"
	"log"
	"net/http"
	"os"
)

const (
	version = "hooks.runtime.cluster.x-k8s.io/v1alpha1"
	label   = "example.com/owner"
)

type object = map[string]any

func discovery(object) object {
	hook := object{"apiVersion": version, "hook": "BeforeClusterCreate"}
	handler := object{"name": "owner", "requestHook": hook, "timeoutSeconds": 5, "failurePolicy": "Fail"}
	return object{"kind": "DiscoveryResponse", "handlers": []object{handler}}
}

func owner(request object) object {
	answer := object{"kind": "BeforeClusterCreateResponse"}
	cluster, _ := request["cluster"].(object)
	metadata, _ := cluster["metadata"].(object)
	labels, _ := metadata["labels"].(object)
	if labels[label] == nil {
		answer["retryAfterSeconds"] = 30
		answer["message"] = "the Cluster needs the label " + label
	}
	return answer
}

func handle(path string, answer func(object) object) {
	http.HandleFunc("POST /"+version+"/"+path, func(w http.ResponseWriter, r *http.Request) {
		response := object{"status": "Failure", "message": "the request is no JSON object"}
		var request object
		if err := json.NewDecoder(r.Body).Decode(&request); err == nil {
			response = answer(request)
			response["status"] = "Success"
		}
		response["apiVersion"] = version
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(response)
	})
}

func main() {
	handle("discovery", discovery)
	handle("beforeclustercreate/owner", owner)
	log.Fatal(http.ListenAndServeTLS("127.0.0.1:"+os.Args[3], os.Args[1], os.Args[2], nil))
}
