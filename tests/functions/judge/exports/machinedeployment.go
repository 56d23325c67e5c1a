package machinedeployment

import (
	"context"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/core/reconcilers/machinedeployment/mdutil"
	"sigs.k8s.io/cluster-api/feature"
)

// Plan is a plan of the judge: the state before it, and what it decided.
type Plan struct {
	NewBefore, New *clusterv1.MachineSet
	OldBefore, Old []*clusterv1.MachineSet
	Results        map[string]mdutil.UpToDateResult
	ScaleIntents   map[string]int32
	Notes          map[string][]string
}

// MakePlan plans a step of a rollout, where only the names in inPlace can be updated in place, and
// a new MachineSet is called after its number.
func MakePlan(ctx context.Context, md *clusterv1.MachineDeployment, sets []*clusterv1.MachineSet, machines []*clusterv1.Machine, create bool, inPlace map[string]bool) (*Plan, error) {
	if err := feature.MutableGates.Set("InPlaceUpdates=true"); err != nil {
		return nil, err
	}
	p := newRolloutPlanner(nil, nil, nil)
	p.overrideCanUpdateMachineSetInPlace = func(_ context.Context, old, _ *clusterv1.MachineSet) (bool, error) {
		return inPlace[old.Name], nil
	}
	p.overrideComputeDesiredMS = func(_ context.Context, md *clusterv1.MachineDeployment, current *clusterv1.MachineSet) (*clusterv1.MachineSet, error) {
		if current != nil {
			return current.DeepCopy(), nil
		}
		result := &clusterv1.MachineSet{}
		result.Name = fmt.Sprintf("ms%d", len(sets)+1)
		result.Spec.Replicas = new(int32)
		result.Spec.Template.Spec.FailureDomain = md.Spec.Template.Spec.FailureDomain
		return result, nil
	}
	if err := p.init(ctx, md, sets, machines, create, true); err != nil {
		return nil, err
	}
	result := &Plan{NewBefore: p.newMS.DeepCopy(), Results: p.upToDateResults}
	for _, old := range p.oldMSs {
		result.OldBefore = append(result.OldBefore, old.DeepCopy())
	}
	plan := p.planRollingUpdate
	if md.Spec.Rollout.Strategy.Type == clusterv1.OnDeleteMachineDeploymentStrategyType {
		plan = p.planOnDelete
	}
	if err := plan(ctx); err != nil {
		return nil, err
	}
	result.New, result.Old, result.ScaleIntents, result.Notes = p.newMS, p.oldMSs, p.scaleIntents, p.notes
	return result, nil
}
