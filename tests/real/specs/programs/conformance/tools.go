// What is built of Kubernetes' module: its end-to-end tests, and what runs them.
package tools

import (
	_ "github.com/onsi/ginkgo/v2/ginkgo"
	_ "k8s.io/kubernetes/test/e2e"
)
