package main

import (
	"fmt"

	"github.com/blang/semver/v4"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/cloudinit"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/ignition"
	types "sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/types"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/types/upstream"
)

func outcome(out []byte, err error) answer {
	if err != nil {
		return answer{"error": err.Error()}
	}
	return answer{"out": string(out)}
}

func userData(r record) answer {
	base := func() cloudinit.BaseUserData {
		var result cloudinit.BaseUserData
		var certificates []bootstrapv1.File
		get(r, "base", &result)
		get(r, "certificateFiles", &certificates)
		result.AdditionalFiles = append(certificates, result.AdditionalFiles...)
		return result
	}
	var spec *bootstrapv1.IgnitionSpec
	get(r, "ignitionSpec", &spec)
	var cloud, ignited answer
	switch text(r, "kind") {
	case "init":
		input := func() *cloudinit.ControlPlaneInput {
			return &cloudinit.ControlPlaneInput{BaseUserData: base(), ClusterConfiguration: text(r, "clusterConfiguration"), InitConfiguration: text(r, "initConfiguration")}
		}
		cloud = outcome(cloudinit.NewInitControlPlane(input()))
		out, _, err := ignition.NewInitControlPlane(&ignition.ControlPlaneInput{ControlPlaneInput: input(), Ignition: spec})
		ignited = outcome(out, err)
	case "join-control-plane":
		input := func() *cloudinit.ControlPlaneJoinInput {
			return &cloudinit.ControlPlaneJoinInput{BaseUserData: base(), JoinConfiguration: text(r, "joinConfiguration")}
		}
		cloud = outcome(cloudinit.NewJoinControlPlane(input()))
		out, _, err := ignition.NewJoinControlPlane(&ignition.ControlPlaneJoinInput{ControlPlaneJoinInput: input(), Ignition: spec})
		ignited = outcome(out, err)
	case "join-worker":
		input := func() *cloudinit.NodeInput {
			return &cloudinit.NodeInput{BaseUserData: base(), JoinConfiguration: text(r, "joinConfiguration")}
		}
		cloud = outcome(cloudinit.NewNode(input()))
		out, _, err := ignition.NewNode(&ignition.NodeInput{NodeInput: input(), Ignition: spec})
		ignited = outcome(out, err)
	default:
		panic(invalid{"kind"})
	}
	return answer{"cloud_config": cloud, "ignition": ignited}
}

func kubeadmMarshal(r record) answer {
	version, err := semver.ParseTolerant(text(r, "version"))
	if err != nil {
		panic(invalid{err.Error()})
	}
	result := answer{}
	var out string
	data := &upstream.AdditionalData{}
	get(r, "additionalData", data)
	switch text(r, "kind") {
	case "ClusterConfiguration":
		in := &bootstrapv1.ClusterConfiguration{}
		get(r, "in", in)
		if out, err = types.MarshalClusterConfigurationForVersion(in, version, data); err == nil {
			result["unmarshalled"], result["unmarshalledAdditionalData"], err = types.UnmarshalClusterConfiguration(out)
		}
	case "InitConfiguration":
		in := &bootstrapv1.InitConfiguration{}
		get(r, "in", in)
		if out, err = types.MarshalInitConfigurationForVersion(in, version); err == nil {
			result["unmarshalled"], err = types.UnmarshalInitConfiguration(out)
		}
	case "JoinConfiguration":
		in := &bootstrapv1.JoinConfiguration{}
		get(r, "in", in)
		if out, err = types.MarshalJoinConfigurationForVersion(in, version); err == nil {
			result["unmarshalled"], err = types.UnmarshalJoinConfiguration(out)
		}
	default:
		panic(invalid{"kind"})
	}
	if err != nil {
		return answer{"error": fmt.Sprint(err)}
	}
	result["out"] = out
	return result
}
