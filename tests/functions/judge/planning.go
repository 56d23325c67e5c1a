package main

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/core/reconcilers/machinedeployment"
	"sigs.k8s.io/cluster-api/core/reconcilers/machinedeployment/mdutil"
	"sigs.k8s.io/cluster-api/core/reconcilers/machineset"
	"sigs.k8s.io/cluster-api/util/collections"
	"sigs.k8s.io/cluster-api/util/failuredomains"
)

func upToDate(result mdutil.UpToDateResult) answer {
	return answer{
		"logMessages": result.LogMessages, "conditionMessages": result.ConditionMessages,
		"eligibleForInPlaceUpdate": result.EligibleForInPlaceUpdate,
	}
}

func upToDates(results map[string]mdutil.UpToDateResult) answer {
	all := answer{}
	for name, result := range results {
		all[name] = upToDate(result)
	}
	return all
}

func namesOf[T metav1.Object](objects []T) []string {
	result := []string{}
	for _, object := range objects {
		result = append(result, object.GetName())
	}
	return result
}

func plan(r record) answer {
	md := &clusterv1.MachineDeployment{}
	var sets []*clusterv1.MachineSet
	var machines []*clusterv1.Machine
	inPlace := map[string]bool{}
	get(r, "machineDeployment", md)
	get(r, "machineSets", &sets)
	get(r, "machines", &machines)
	get(r, "canUpdateMachineSetInPlace", &inPlace)
	md.Spec.Rollout.Strategy.Type = clusterv1.MachineDeploymentRolloutStrategyType(text(r, "strategy"))
	done, err := machinedeployment.MakePlan(context.Background(), md, sets, machines, true, inPlace)
	if err != nil {
		panic(invalid{err.Error()})
	}
	annotations := map[string]map[string]string{done.New.Name: done.New.Annotations}
	for _, old := range done.Old {
		annotations[old.Name] = old.Annotations
	}
	return answer{
		"desiredBeforePlan": answer{"newMS": done.NewBefore, "oldMSs": done.OldBefore},
		"newMachineSet":     done.New.Name, "oldMachineSets": namesOf(done.Old), "upToDateResults": upToDates(done.Results),
		"scaleIntents": done.ScaleIntents, "notes": done.Notes, "annotationsAfter": annotations,
	}
}

func findNewAndOld(r record) answer {
	md := &clusterv1.MachineDeployment{}
	var sets []*clusterv1.MachineSet
	var now metav1.Time
	get(r, "machineDeployment", md)
	get(r, "machineSets", &sets)
	get(r, "now", &now)
	latest, old, results, reason := mdutil.FindNewAndOldMachineSets(md, sets, now)
	result := answer{"new": nil, "old": namesOf(old), "upToDateResults": upToDates(results), "createReason": reason}
	if latest != nil {
		result["new"] = latest.Name
	}
	return result
}

func deploymentOf(r record) *clusterv1.MachineDeployment {
	md := &clusterv1.MachineDeployment{}
	var surge *intstr.IntOrString
	get(r, "maxSurge", &surge)
	replicas := number(r, "replicas")
	md.Spec.Replicas = &replicas
	md.Spec.Rollout.Strategy.Type = clusterv1.RollingUpdateMachineDeploymentStrategyType
	if strategy := text(r, "strategy"); strategy != "" {
		md.Spec.Rollout.Strategy.Type = clusterv1.MachineDeploymentRolloutStrategyType(strategy)
	}
	md.Spec.Rollout.Strategy.RollingUpdate.MaxSurge = surge
	none := intstr.FromInt32(0)
	md.Spec.Rollout.Strategy.RollingUpdate.MaxUnavailable = &none
	return md
}

func newReplicas(r record) answer {
	var sets []*clusterv1.MachineSet
	get(r, "machineSets", &sets)
	out, note, err := mdutil.NewMSNewReplicas(deploymentOf(r), sets, number(r, "newMSReplicas"))
	if err != nil {
		return answer{"error": err.Error()}
	}
	return answer{"out": out, "note": note}
}

func proportion(r record) answer {
	md, set := deploymentOf(r), &clusterv1.MachineSet{}
	replicas, observed := number(r, "msReplicas"), number(r, "statusReplicas")
	md.Status.Replicas = &observed
	set.Spec.Replicas = &replicas
	get(r, "msAnnotations", &set.Annotations)
	return answer{"out": mdutil.GetProportion(set, *md, number(r, "toAdd"), number(r, "added"), logr.Discard())}
}

func templateUpToDate(r record) answer {
	var current, desired clusterv1.MachineTemplateSpec
	get(r, "current", &current)
	get(r, "desired", &desired)
	same, why := mdutil.MachineTemplateUpToDate(&current, &desired)
	result := upToDate(why)
	result["upToDate"] = same
	return result
}

type machine struct {
	Name        string            `json:"name"`
	AgeSeconds  *float64          `json:"ageSeconds,omitempty"`
	Annotations map[string]string `json:"annotations"`
	Conditions  json.RawMessage   `json:"conditions"`
	NodeRef     bool              `json:"nodeRef,omitempty"`
	Deleting    bool              `json:"deleting,omitempty"`
	Healthy     bool              `json:"healthy"`
}

// build makes the Machine with that number: of Machines of the same age, the first is the oldest.
func (m *machine) build(now time.Time, number int) *clusterv1.Machine {
	result := &clusterv1.Machine{}
	result.Name, result.Annotations = m.Name, m.Annotations
	get(record{"conditions": m.Conditions}, "conditions", &result.Status.Conditions)
	if m.NodeRef {
		result.Status.NodeRef.Name = "node"
	}
	if m.AgeSeconds != nil {
		age := time.Duration(*m.AgeSeconds * float64(time.Second))
		result.CreationTimestamp = metav1.NewTime(now.Add(-age).Add(time.Duration(number) * 100 * time.Microsecond))
	}
	if m.Deleting {
		deleted := metav1.NewTime(now)
		result.DeletionTimestamp = &deleted
	}
	m.Healthy = machineset.IsHealthy(result)
	return result
}

func deletePriority(r record) answer {
	var given []*machine
	var machines []*clusterv1.Machine
	get(r, "machines", &given)
	now := time.Now()
	seen := map[string]bool{}
	for number, item := range given {
		if seen[item.Name] {
			panic(invalid{"two Machines of a name"})
		}
		seen[item.Name] = true
		machines = append(machines, item.build(now, number))
	}
	set := &clusterv1.MachineSet{}
	set.Spec.Deletion.Order = clusterv1.MachineSetDeletionOrder(text(r, "order"))
	move, remove, err := machineset.DeletionOrder(set, machines, int(number(r, "diff")))
	if err != nil {
		panic(invalid{err.Error()})
	}
	return answer{"machines": given, "toMove": namesOf(move), "toDelete": namesOf(remove)}
}

// pick answers all choices of many runs: Cluster API breaks ties at random.
func pick(r record) answer {
	var domains []clusterv1.FailureDomain
	for _, name := range names(r, "failureDomains") {
		domains = append(domains, clusterv1.FailureDomain{Name: name})
	}
	var given []struct {
		Name, FailureDomain string
		Priority            bool
	}
	get(r, "machines", &given)
	all, prior := collections.New(), collections.New()
	for _, item := range given {
		if strings.TrimSpace(item.Name) == "" {
			panic(invalid{"name"})
		}
		machine := &clusterv1.Machine{}
		machine.Name = item.Name
		machine.Spec.FailureDomain = item.FailureDomain
		all.Insert(machine)
		if item.Priority {
			prior.Insert(machine)
		}
	}
	if len(all) != len(given) {
		panic(invalid{"two Machines of a name"})
	}
	most, fewest := map[string]bool{}, map[string]bool{}
	for range 200 {
		most[failuredomains.PickMost(context.Background(), domains, all, prior)] = true
		fewest[failuredomains.PickFewest(context.Background(), domains, all, prior)] = true
	}
	return answer{"pickMost_one_of": keys(most), "pickFewest_one_of": keys(fewest)}
}

func keys(set map[string]bool) []string {
	result := []string{}
	for key := range set {
		result = append(result, key)
	}
	return result
}
