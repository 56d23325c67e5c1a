package machineset

import clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

// IsHealthy is what the judge calls, which is not exported.
var IsHealthy = isMachineHealthy

// DeletionOrder returns all Machines in the order in which they are moved, and those that are deleted.
func DeletionOrder(set *clusterv1.MachineSet, machines []*clusterv1.Machine, diff int) (move, remove []*clusterv1.Machine, err error) {
	priority, err := getDeletePriorityFunc(set)
	if err != nil {
		return nil, nil, err
	}
	remove = append(remove, getMachinesToDeletePrioritized(append([]*clusterv1.Machine{}, machines...), diff, priority)...)
	move = getMachinesToMovePrioritized(append([]*clusterv1.Machine{}, machines...), priority)
	return move, remove, nil
}
