// A program that serves what it finds in its container: its user, files, neighbour and rights.
//
//	pod ADDRESS    serves /readyz, and / with the facts
//	pod note FILE  writes a file and ends (an init container)
//	pod check      ends with 0 if the server of the same container is ready (a probe)
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

const account = "/var/run/secrets/kubernetes.io/serviceaccount/"

func text(path string) string {
	found, err := os.ReadFile(path)
	if err != nil {
		return "error: " + err.Error()
	}
	return string(found)
}

func asked(url string) string {
	client := http.Client{Timeout: 5 * time.Second}
	answer, err := client.Get(url)
	if err != nil {
		return "error: " + err.Error()
	}
	defer answer.Body.Close()
	return answer.Status
}

func plane(path string) string {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(text(account + "ca.crt")))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	client := http.Client{Timeout: 5 * time.Second, Transport: transport}
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	request, _ := http.NewRequest("GET", "https://"+host+":"+port+path, nil)
	request.Header.Set("Authorization", "Bearer "+text(account+"token"))
	answer, err := client.Do(request)
	if err != nil {
		return "error: " + err.Error()
	}
	defer answer.Body.Close()
	return answer.Status
}

func facts() map[string]string {
	space := "/api/v1/namespaces/" + text(account+"namespace")
	err := os.WriteFile("/etc/written", nil, 0o600)
	name, _ := os.Hostname()
	return map[string]string{
		"user":      fmt.Sprint(os.Getuid()),
		"hostname":  name,
		"address":   os.Getenv("POD_IP"),
		"secret":    os.Getenv("SECRET"),
		"setting":   text("/etc/settings/setting"),
		"note":      text("/shared/note"),
		"root":      fmt.Sprint(err),
		"alias":     fmt.Sprint(strings.Contains(text("/etc/hosts"), "alias.example")),
		"may":       plane(space + "/configmaps"),
		"may-not":   plane(space + "/secrets"),
		"neighbour": asked("http://" + os.Getenv("NEIGHBOUR") + "/readyz"),
	}
}

func main() {
	arguments := os.Args[1:]
	switch {
	case arguments[0] == "note":
		if err := os.WriteFile(arguments[1], []byte("from before"), 0o644); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	case arguments[0] == "check":
		if !strings.HasPrefix(asked("http://"+os.Getenv("OWN")+"/readyz"), "200") {
			os.Exit(1)
		}
		return
	case os.Getenv("BROKEN") != "":
		fmt.Println("Error: it is broken")
		os.Exit(3)
	}
	http.HandleFunc("/readyz", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("/", func(answer http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(answer).Encode(facts())
	})
	ending := make(chan os.Signal, 1)
	signal.Notify(ending, syscall.SIGTERM)
	go func() {
		<-ending
		fmt.Println("asked to end")
		os.Exit(0)
	}()
	fmt.Println("serving at", arguments[0])
	fmt.Println(http.ListenAndServe(arguments[0], nil))
	os.Exit(1)
}
