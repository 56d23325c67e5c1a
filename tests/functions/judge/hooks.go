package main

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime/schema"

	runtimecatalog "sigs.k8s.io/cluster-api/api/runtime/catalog"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	hooks "sigs.k8s.io/cluster-api/internal/runtime/client"
)

var catalog = runtimecatalog.New()

func init() {
	if err := runtimehooksv1.AddToCatalog(catalog); err != nil {
		panic(err)
	}
}

func hookOf(r record) runtimecatalog.GroupVersionHook {
	version := runtimehooksv1.GroupVersion
	hook := runtimecatalog.GroupVersionHook{Group: version.Group, Version: version.Version, Hook: text(r, "hook")}
	if !catalog.IsHookRegistered(hook) {
		panic(invalid{"hook"})
	}
	return hook
}

func aggregateResponses(r record) answer {
	hook := hookOf(r)
	response := func() runtimehooksv1.ResponseObject {
		object, err := catalog.NewResponse(hook)
		if err != nil {
			panic(invalid{err.Error()})
		}
		// NewResponse names the kind, which no answer of an extension needs.
		object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		return object.(runtimehooksv1.ResponseObject)
	}
	var raw []json.RawMessage
	get(r, "responses", &raw)
	responses := []runtimehooksv1.ResponseObject{}
	for _, data := range raw {
		item := response()
		if err := json.Unmarshal(data, item); err != nil {
			panic(invalid{err.Error()})
		}
		responses = append(responses, item)
	}
	all := response()
	hooks.AggregateResponses(all, responses)
	out := answer{"status": all.GetStatus(), "message": all.GetMessage()}
	if retried, ok := all.(runtimehooksv1.RetryResponseObject); ok {
		out["retryAfterSeconds"] = retried.GetRetryAfterSeconds()
	}
	return answer{"out": out}
}

func checkDiscovery(r record) answer {
	response := &runtimehooksv1.DiscoveryResponse{}
	get(r, "handlers", &response.Handlers)
	result := answer{"error": nil}
	if err := hooks.CheckDiscovery(catalog, response); err != nil {
		result["error"] = err.Error()
	}
	result["out"] = response.Handlers
	return result
}

func addressOf(r record) answer {
	config := runtimev1.ClientConfig{}
	get(r, "clientConfig", &config)
	address, err := hooks.AddressOf(config, hookOf(r), text(r, "name"))
	if err != nil {
		return answer{"error": err.Error()}
	}
	return answer{"out": address.String()}
}

func hookName(r record) answer {
	in := text(r, "in")
	if text(r, "fn") == "NameForHandler" {
		extension := &runtimev1.ExtensionConfig{}
		extension.Name = text(r, "extension")
		out, err := hooks.NameForHandler(runtimehooksv1.ExtensionHandler{Name: in}, extension)
		return named(out, err)
	}
	return named(hooks.ExtensionNameFromHandlerName(in))
}

func named(out string, err error) answer {
	if err != nil {
		return answer{"out": out, "error": err.Error()}
	}
	return answer{"out": out, "error": nil}
}
