// Judge answers cases with the functions of Cluster API: a line of JSON in, a line of JSON out.
//
// It is built inside the module of Cluster API, as most of these functions are internal to it.
// A case has the name of its function in the field "$" and the arguments beside it. An answer has
// the fields of a recorded case, "invalid" for arguments that Go cannot read, or "panic".
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"text/template"
	"time"

	sprig "github.com/Masterminds/sprig/v3"
	"github.com/blang/semver/v4"
	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"
	"sigs.k8s.io/cluster-api/core/reconcilers/topology/cluster/patches"
	"sigs.k8s.io/cluster-api/core/reconcilers/topology/cluster/patches/inline"
	patchvariables "sigs.k8s.io/cluster-api/core/reconcilers/topology/cluster/patches/variables"
	"sigs.k8s.io/cluster-api/internal/topology/variables"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/labels/format"
	"sigs.k8s.io/cluster-api/util/version"
)

type record = map[string]json.RawMessage
type answer = map[string]any
type vars = map[string]apiextensionsv1.JSON

var variablesOfTemplates vars

func get(r record, name string, into any) {
	if raw, ok := r[name]; ok {
		if err := json.Unmarshal(raw, into); err != nil {
			panic(invalid{fmt.Sprintf("%s: %v", name, err)})
		}
	}
}

type invalid struct{ text string }

func text(r record, name string) (value string) { get(r, name, &value); return }

var judges = map[string]func(record) answer{
	"envsubst/process":                   process,
	"gotemplate/render":                  render,
	"gotemplate/variable_path":           variablePath,
	"inlinepatches/apply_patch":          applyPatch,
	"inlinepatches/calculate_value":      calculateValue,
	"inlinepatches/matches_selector":     matchesSelector,
	"labels/format_value":                formatValue,
	"version/compare":                    compare,
	"version/parse_tolerant":             parseTolerant,
	"webhooks/environment":               environment,
	"webhooks/request":                   webhook,
	"variables/validate_variable":        validateVariable,
	"variables/validate_variables":       validateVariables,
	"variables/default_variables":        defaultVariables,
	"variables/validate_class_variables": validateClassVariables,
	"conditions/summary":                 summary,
	"conditions/aggregate":               aggregate,
	"cloudinit/userdata":                 userData,
	"cloudinit/kubeadm_marshal":          kubeadmMarshal,
	"admission-unit":                     admissionUnit,
	"conditions/mirror":                  mirror,
	"conditions/mirror_unstructured":     mirrorForeign,
	"conditions/set":                     setCondition,
	"conversion":                         convert,
	"crdnames/crdnames":                  crdName,
	"failuredomains/pick":                pick,
	"hooks/aggregate":                    aggregateResponses,
	"hooks/discovery_response":           checkDiscovery,
	"hooks/names":                        hookName,
	"hooks/url":                          addressOf,
	"kubeconfig/secret_names":            secretName,
	"labels/names":                       generateName,
	"labels/naming_validation":           validateNaming,
	"rollout/delete_priority":            deletePriority,
	"rollout/fenceposts":                 fenceposts,
	"rollout/find_new_and_old":           findNewAndOld,
	"rollout/new_ms_replicas":            newReplicas,
	"rollout/plan":                       plan,
	"rollout/proportion":                 proportion,
	"rollout/template_up_to_date":        templateUpToDate,
}

func main() {
	ctrl.SetLogger(logr.Discard())
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for lines.Scan() {
		fmt.Fprintf(out, "%s\n", judge(lines.Bytes()))
	}
}

func judge(line []byte) (out []byte) {
	defer func() {
		if r := recover(); r != nil {
			key := "panic"
			if bad, ok := r.(invalid); ok {
				key, r = "invalid", bad.text
			}
			out, _ = json.Marshal(answer{key: fmt.Sprint(r)})
		}
	}()
	var r record
	if err := json.Unmarshal(line, &r); err != nil {
		panic(err)
	}
	if raw, ok := r["$variables"]; ok {
		variablesOfTemplates = vars{}
		var values map[string]json.RawMessage
		if err := json.Unmarshal(raw, &values); err != nil {
			panic(err)
		}
		for name, value := range values {
			variablesOfTemplates[name] = apiextensionsv1.JSON{Raw: value}
		}
		return []byte("{}")
	}
	result := judges[text(r, "$")](r)
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(result); err != nil {
		panic(err)
	}
	return bytes.TrimSpace(buffer.Bytes())
}

func process(r record) answer {
	given := text(r, "template")
	known := map[string]string{}
	get(r, "vars", &known)
	processor := yamlprocessor.NewSimpleProcessor()
	result := answer{}
	out, err := processor.Process([]byte(given), func(name string) (string, error) {
		if value, ok := known[name]; ok {
			return value, nil
		}
		return "", errors.New("missing")
	})
	if err != nil {
		result["error"] = err.Error()
	} else {
		result["out"] = string(out)
	}
	if names, err := processor.GetVariables([]byte(given)); err != nil {
		result["variables_error"] = err.Error()
	} else {
		result["variables"] = names
		result["variable_map"], _ = processor.GetVariableMap([]byte(given))
	}
	return result
}

func render(r record) answer {
	given := text(r, "template")
	result := answer{}
	tpl, err := template.New("tpl").Funcs(sprig.HermeticTxtFuncMap()).Parse(given)
	if err != nil {
		result["parseError"] = true
	} else {
		data, err := inline.TemplateData(variablesOfTemplates)
		if err != nil {
			panic(err)
		}
		var buffer bytes.Buffer
		if err := tpl.Execute(&buffer, data); err != nil {
			result["execError"] = true
		} else {
			result["text"] = buffer.String()
		}
	}
	value, err := inline.RenderValueTemplate(given, variablesOfTemplates)
	if err != nil {
		result["error"] = err.Error()
		return result
	}
	if value.Raw == nil {
		result["rawNil"] = true
		result["value"] = nil
		result["enabled"] = false
		return result
	} else {
		result["raw"] = string(value.Raw)
		result["value"] = json.RawMessage(value.Raw)
	}
	result["enabled"], _ = inline.PatchIsEnabled(given, variablesOfTemplates)
	return result
}

func variablePath(r record) answer {
	value, err := patchvariables.GetVariableValue(variablesOfTemplates, text(r, "path"))
	if err != nil {
		return answer{"error": err.Error(), "notFound": patchvariables.IsNotFoundError(err)}
	}
	return answer{"raw": string(value.Raw)}
}

func applyPatch(r record) answer {
	object := &unstructured.Unstructured{}
	raw := r["template"]
	if err := object.UnmarshalJSON(raw); err != nil {
		panic(invalid{err.Error()})
	}
	request := &runtimehooksv1.GeneratePatchesRequest{Items: []runtimehooksv1.GeneratePatchesRequestItem{
		{UID: "1", Object: runtime.RawExtension{Raw: raw, Object: object}},
	}}
	item := runtimehooksv1.GeneratePatchesResponseItem{
		UID: "1", PatchType: runtimehooksv1.PatchType(text(r, "patchType")), Patch: []byte(text(r, "patch")),
	}
	if err := patches.ApplyPatchToRequest(context.Background(), request, item); err != nil {
		return answer{"error": err.Error()}
	}
	return answer{"out": json.RawMessage(request.Items[0].Object.Raw)}
}

func variablesOf(r record, name string) vars {
	values := map[string]json.RawMessage{}
	get(r, name, &values)
	result := vars{}
	for name, value := range values {
		result[name] = apiextensionsv1.JSON{Raw: value}
	}
	return result
}

func calculateValue(r record) answer {
	patch := clusterv1.JSONPatch{}
	get(r, "patch", &patch)
	value, err := inline.CalculateValue(patch, variablesOf(r, "variables"))
	if err != nil {
		return answer{"error": err.Error()}
	}
	if value.Raw == nil {
		return answer{"raw": "null"}
	}
	return answer{"raw": string(value.Raw)}
}

func matchesSelector(r record) answer {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(text(r, "apiVersion"))
	object.SetKind(text(r, "kind"))
	item := &runtimehooksv1.GeneratePatchesRequestItem{Object: runtime.RawExtension{Object: object}}
	get(r, "holderReference", &item.HolderReference)
	selector := clusterv1.PatchSelector{}
	get(r, "selector", &selector)
	return answer{"out": inline.MatchesSelector(item, variablesOf(r, "templateVariables"), selector)}
}

func formatValue(r record) answer {
	in := text(r, "in")
	out := format.MustFormatValue(in)
	return answer{"out": out, "equal_self": format.MustEqualValue(in, out), "equal_raw": format.MustEqualValue(in, in)}
}

func compare(r record) answer {
	a, err := semver.ParseTolerant(text(r, "a"))
	if err != nil {
		panic(invalid{err.Error()})
	}
	b, err := semver.ParseTolerant(text(r, "b"))
	if err != nil {
		panic(invalid{err.Error()})
	}
	return answer{
		"isSupportedVersionSkew": util.IsSupportedVersionSkew(a, b),
		"compare":                version.Compare(a, b),
		"withBuildTags":          version.Compare(a, b, version.WithBuildTags()),
		"withoutPreReleases":     version.Compare(a, b, version.WithoutPreReleases()),
		"both":                   version.Compare(a, b, version.WithBuildTags(), version.WithoutPreReleases()),
	}
}

func parseTolerant(r record) answer {
	in := text(r, "in")
	result := answer{}
	if v, err := semver.ParseTolerant(in); err != nil {
		result["error"] = err.Error()
	} else {
		result["out"] = v.String()
		result["majorMinorPatch"] = version.MajorMinorPatch(v).String()
	}
	if v, err := version.ParseTolerantImageTag(in); err != nil {
		_ = err
	} else {
		result["image_tag"] = v.String()
	}
	_, err := semver.Parse(in)
	result["strict_ok"] = err == nil
	return result
}

func errorsOf(list field.ErrorList) []answer {
	result := []answer{}
	for _, item := range list {
		result = append(result, answer{"type": string(item.Type), "field": item.Field, "detail": item.Detail, "error": item.Error()})
	}
	return result
}

func path(r record) *field.Path { return field.NewPath(text(r, "path")) }

func validateVariable(r record) answer {
	value, definition := clusterv1.ClusterVariable{}, clusterv1.ClusterClassVariable{}
	get(r, "value", &value)
	get(r, "definition", &definition)
	var old *clusterv1.ClusterVariable
	get(r, "oldValue", &old)
	return answer{"errors": errorsOf(variables.ValidateClusterVariable(context.Background(), &value, old, &definition, path(r)))}
}

func lists(r record) (values, old []clusterv1.ClusterVariable, definitions []clusterv1.ClusterClassStatusVariable) {
	get(r, "values", &values)
	get(r, "oldValues", &old)
	get(r, "definitions", &definitions)
	return
}

func flag(r record, name string) (value bool) { get(r, name, &value); return }

func validateVariables(r record) answer {
	values, old, definitions := lists(r)
	validate := variables.ValidateMachineVariables
	if flag(r, "validateRequired") {
		validate = variables.ValidateClusterVariables
	}
	return answer{"errors": errorsOf(validate(context.Background(), values, old, definitions, path(r)))}
}

func defaultVariables(r record) answer {
	values, _, definitions := lists(r)
	fill := variables.DefaultMachineVariables
	if flag(r, "createVariables") {
		fill = variables.DefaultClusterVariables
	}
	out, list := fill(values, definitions, path(r))
	return answer{"out": out, "errors": errorsOf(list)}
}

func validateClassVariables(r record) answer {
	var old, given []clusterv1.ClusterClassVariable
	get(r, "oldVariables", &old)
	get(r, "variables", &given)
	return answer{"errors": errorsOf(variables.ValidateClusterClassVariables(context.Background(), old, given, path(r)))}
}

type object struct {
	Kind, Name        string
	ControlPlaneLabel bool
	Conditions        []metav1.Condition
}

// dockerMachine is a Machine by another name.
type dockerMachine struct{ clusterv1.Machine }

type source interface {
	metav1.Object
	conditions.Setter
	GetConditions() []metav1.Condition
}

func (o object) build() conditions.Getter {
	var result source = &clusterv1.Machine{TypeMeta: metav1.TypeMeta{Kind: o.Kind}}
	switch o.Kind {
	case "MachineSet":
		result = &clusterv1.MachineSet{TypeMeta: metav1.TypeMeta{Kind: o.Kind}}
	case "MachineDeployment":
		result = &clusterv1.MachineDeployment{TypeMeta: metav1.TypeMeta{Kind: o.Kind}}
	case "Machine":
	case "DockerMachine":
		result = &dockerMachine{clusterv1.Machine{TypeMeta: metav1.TypeMeta{Kind: o.Kind}}}
	case "Cluster":
		result = &clusterv1.Cluster{TypeMeta: metav1.TypeMeta{Kind: o.Kind}}
	default:
		panic(invalid{"kind " + o.Kind})
	}
	result.SetName(o.Name)
	if o.ControlPlaneLabel {
		result.SetLabels(map[string]string{clusterv1.MachineControlPlaneLabel: ""})
	}
	result.SetConditions(o.Conditions)
	return result
}

type strategy struct {
	TargetConditionHasPositivePolarity bool
	ComputeReason                      []string
	PriorityNegativePolarityTypes      []string
}

func mergeStrategy(r record) (conditions.MergeStrategy, bool) {
	var given *strategy
	get(r, "mergeStrategy", &given)
	if given == nil {
		return nil, false
	}
	options := []conditions.DefaultMergeStrategyOption{
		conditions.TargetConditionHasPositivePolarity(given.TargetConditionHasPositivePolarity),
		conditions.GetPriorityFunc(conditions.GetDefaultMergePriorityFunc(given.PriorityNegativePolarityTypes...)),
	}
	if reasons := given.ComputeReason; len(reasons) == 3 {
		options = append(options, conditions.ComputeReasonFunc(
			conditions.GetDefaultComputeMergeReasonFunc(reasons[0], reasons[1], reasons[2])))
	}
	return conditions.DefaultMergeStrategy(options...), true
}

func names(r record, name string) (values []string) { get(r, name, &values); return }

func condition(out *metav1.Condition, err error) answer {
	if err != nil {
		return answer{"error": err.Error()}
	}
	return answer{"out": out}
}

func summary(r record) answer {
	var source object
	get(r, "object", &source)
	options := []conditions.SummaryOption{conditions.ForConditionTypes(names(r, "forConditionTypes"))}
	if types := names(r, "negativePolarityConditionTypes"); len(types) > 0 {
		options = append(options, conditions.NegativePolarityConditionTypes(types))
	}
	if types := names(r, "ignoreTypesIfMissing"); len(types) > 0 {
		options = append(options, conditions.IgnoreTypesIfMissing(types))
	}
	var overrides conditions.OverrideConditions
	get(r, "overrideConditions", &overrides)
	if len(overrides) > 0 {
		options = append(options, overrides)
	}
	if merge, ok := mergeStrategy(r); ok {
		options = append(options, conditions.CustomMergeStrategy{MergeStrategy: merge})
	}
	return condition(conditions.NewSummaryCondition(source.build(), text(r, "target"), options...))
}

func aggregate(r record) answer {
	var sources []object
	get(r, "objects", &sources)
	objects := []conditions.Getter{}
	for _, source := range sources {
		objects = append(objects, source.build())
	}
	options := []conditions.AggregateOption{}
	if target := text(r, "targetConditionType"); target != "" {
		options = append(options, conditions.TargetConditionType(target))
	}
	if types := names(r, "negativePolarityConditionTypes"); len(types) > 0 {
		options = append(options, conditions.NegativePolarityConditionTypes(types))
	}
	if merge, ok := mergeStrategy(r); ok {
		options = append(options, conditions.CustomMergeStrategy{MergeStrategy: merge})
	}
	return condition(conditions.NewAggregateCondition(objects, text(r, "sourceType"), options...))
}

func mirrorOptions(r record) []conditions.MirrorOption {
	options := []conditions.MirrorOption{}
	if target := text(r, "targetConditionType"); target != "" {
		options = append(options, conditions.TargetConditionType(target))
	}
	var fallback *struct {
		Status          metav1.ConditionStatus
		Reason, Message string
	}
	get(r, "fallback", &fallback)
	if fallback != nil {
		options = append(options, conditions.FallbackCondition{Status: fallback.Status, Reason: fallback.Reason, Message: fallback.Message})
	}
	return options
}

func mirror(r record) answer {
	var source object
	get(r, "object", &source)
	return answer{"out": conditions.NewMirrorCondition(source.build(), text(r, "sourceType"), mirrorOptions(r)...)}
}

func mirrorForeign(r record) answer {
	source := &unstructured.Unstructured{}
	get(r, "object", &source.Object)
	return condition(conditions.NewMirrorConditionFromUnstructured(source, text(r, "sourceType"), mirrorOptions(r)...))
}

// setCondition answers "now" for the time of a condition that has changed.
func setCondition(r record) answer {
	var given object
	var value metav1.Condition
	get(r, "object", &given)
	get(r, "condition", &value)
	target := given.build().(source)
	target.SetGeneration(int64(number(r, "generation")))
	before := time.Now().Add(-time.Minute)
	conditions.Set(target, value)
	out := []answer{}
	for _, item := range target.GetConditions() {
		changed := any(item.LastTransitionTime)
		if item.LastTransitionTime.After(before) {
			changed = "now"
		}
		out = append(out, answer{
			"type": item.Type, "status": item.Status, "reason": item.Reason, "message": item.Message,
			"observedGeneration": item.ObservedGeneration, "lastTransitionTime": changed,
		})
	}
	return answer{"out": out}
}
