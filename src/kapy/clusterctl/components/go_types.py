"""Serialization rules of built-in kinds: which empty fields Go's types write, and which they omit.

Upstream converts objects of these kinds through Go's types, which omit empty fields or write them,
as the types' tags say. From `k8s.io/api` and `k8s.io/apiextensions-apiserver` v0.36; an indented
line continues the type before it.

    field           left out where it is empty
    field=""        always there; what follows is written where it is missing
    field=Type      a map that is always there
    field*Type      a map that is there or not; with `!`, null where it is missing
    field[Type]     a list of maps; with `!`, never left out
    field{Type}     a map of maps

Unlisted fields are written as they are, unless they are null.
"""

from __future__ import annotations

from typing import Final

TYPES: Final = """\
Deployment: metadata=ObjectMeta spec=DeploymentSpec status=DeploymentStatus
ObjectMeta: name generateName namespace selfLink uid resourceVersion generation
  creationTimestamp labels annotations ownerReferences[OwnerReference] finalizers
  managedFields[ManagedFieldsEntry]
OwnerReference: apiVersion="" kind="" name="" uid=""
ManagedFieldsEntry: manager operation apiVersion fieldsType subresource
DeploymentSpec: selector*!LabelSelector template=PodTemplateSpec strategy=DeploymentStrategy
  minReadySeconds paused
LabelSelector: matchLabels matchExpressions[LabelSelectorRequirement]
LabelSelectorRequirement: key="" operator="" values
PodTemplateSpec: metadata=ObjectMeta spec=PodSpec
PodSpec: volumes[Volume] initContainers[Container] containers![Container]
  ephemeralContainers[EphemeralContainer] restartPolicy dnsPolicy nodeSelector
  serviceAccountName serviceAccount nodeName hostNetwork hostPID hostIPC
  securityContext*PodSecurityContext imagePullSecrets[LocalObjectReference] hostname subdomain
  affinity*Affinity schedulerName tolerations[Toleration] hostAliases[HostAlias]
  priorityClassName dnsConfig*PodDNSConfig readinessGates[PodReadinessGate] overhead{quantity}
  topologySpreadConstraints[TopologySpreadConstraint] os*PodOS
  schedulingGates[PodSchedulingGate] resourceClaims[PodResourceClaim]
  resources*ResourceRequirements
Volume: name="" hostPath*HostPathVolumeSource emptyDir*EmptyDirVolumeSource
  gcePersistentDisk*GCEPersistentDiskVolumeSource
  awsElasticBlockStore*AWSElasticBlockStoreVolumeSource gitRepo*GitRepoVolumeSource
  secret*SecretVolumeSource nfs*NFSVolumeSource iscsi*ISCSIVolumeSource
  glusterfs*GlusterfsVolumeSource persistentVolumeClaim*PersistentVolumeClaimVolumeSource
  rbd*RBDVolumeSource flexVolume*FlexVolumeSource cinder*CinderVolumeSource
  cephfs*CephFSVolumeSource flocker*FlockerVolumeSource downwardAPI*DownwardAPIVolumeSource
  fc*FCVolumeSource azureFile*AzureFileVolumeSource configMap*ConfigMapVolumeSource
  vsphereVolume*VsphereVirtualDiskVolumeSource quobyte*QuobyteVolumeSource
  azureDisk*AzureDiskVolumeSource photonPersistentDisk*PhotonPersistentDiskVolumeSource
  projected*ProjectedVolumeSource portworxVolume*PortworxVolumeSource
  scaleIO*ScaleIOVolumeSource storageos*StorageOSVolumeSource csi*CSIVolumeSource
  ephemeral*EphemeralVolumeSource image*ImageVolumeSource
HostPathVolumeSource: path=""
EmptyDirVolumeSource: medium sizeLimit*quantity
GCEPersistentDiskVolumeSource: pdName="" fsType partition readOnly
AWSElasticBlockStoreVolumeSource: volumeID="" fsType partition readOnly
GitRepoVolumeSource: repository="" revision directory
SecretVolumeSource: secretName items[KeyToPath]
KeyToPath: key="" path=""
NFSVolumeSource: server="" path="" readOnly
ISCSIVolumeSource: targetPortal="" iqn="" lun=0 iscsiInterface fsType readOnly portals
  chapAuthDiscovery chapAuthSession secretRef*LocalObjectReference
LocalObjectReference: name
GlusterfsVolumeSource: endpoints="" path="" readOnly
PersistentVolumeClaimVolumeSource: claimName="" readOnly
RBDVolumeSource: monitors![] image="" fsType pool user keyring secretRef*LocalObjectReference
  readOnly
FlexVolumeSource: driver="" fsType secretRef*LocalObjectReference readOnly options
CinderVolumeSource: volumeID="" fsType readOnly secretRef*LocalObjectReference
CephFSVolumeSource: monitors![] path user secretFile secretRef*LocalObjectReference readOnly
FlockerVolumeSource: datasetName datasetUUID
DownwardAPIVolumeSource: items[DownwardAPIVolumeFile]
DownwardAPIVolumeFile: path="" fieldRef*ObjectFieldSelector
  resourceFieldRef*ResourceFieldSelector
ObjectFieldSelector: apiVersion fieldPath=""
ResourceFieldSelector: containerName resource="" divisor=quantity
FCVolumeSource: targetWWNs fsType readOnly wwids
AzureFileVolumeSource: secretName="" shareName="" readOnly
ConfigMapVolumeSource: name items[KeyToPath]
VsphereVirtualDiskVolumeSource: volumePath="" fsType storagePolicyName storagePolicyID
QuobyteVolumeSource: registry="" volume="" readOnly user group tenant
AzureDiskVolumeSource: diskName="" diskURI=""
PhotonPersistentDiskVolumeSource: pdID="" fsType
ProjectedVolumeSource: sources![VolumeProjection]
VolumeProjection: secret*SecretProjection downwardAPI*DownwardAPIProjection
  configMap*ConfigMapProjection serviceAccountToken*ServiceAccountTokenProjection
  clusterTrustBundle*ClusterTrustBundleProjection podCertificate*PodCertificateProjection
SecretProjection: name items[KeyToPath]
DownwardAPIProjection: items[DownwardAPIVolumeFile]
ConfigMapProjection: name items[KeyToPath]
ServiceAccountTokenProjection: audience path=""
ClusterTrustBundleProjection: labelSelector*LabelSelector path=""
PodCertificateProjection: signerName keyType credentialBundlePath keyPath certificateChainPath
  userAnnotations
PortworxVolumeSource: volumeID="" fsType readOnly
ScaleIOVolumeSource: gateway="" system="" secretRef*!LocalObjectReference sslEnabled
  protectionDomain storagePool storageMode volumeName fsType readOnly
StorageOSVolumeSource: volumeName volumeNamespace fsType readOnly secretRef*LocalObjectReference
CSIVolumeSource: driver="" volumeAttributes nodePublishSecretRef*LocalObjectReference
EphemeralVolumeSource: volumeClaimTemplate*PersistentVolumeClaimTemplate
PersistentVolumeClaimTemplate: metadata=ObjectMeta spec=PersistentVolumeClaimSpec
PersistentVolumeClaimSpec: accessModes selector*LabelSelector
  resources=VolumeResourceRequirements volumeName dataSource*TypedLocalObjectReference
  dataSourceRef*TypedObjectReference
VolumeResourceRequirements: limits{quantity} requests{quantity}
TypedLocalObjectReference: apiGroup*! kind="" name=""
TypedObjectReference: apiGroup*! kind="" name=""
ImageVolumeSource: reference pullPolicy
Container: name="" image command args workingDir ports[ContainerPort] envFrom[EnvFromSource]
  env[EnvVar] resources=ResourceRequirements resizePolicy[ContainerResizePolicy]
  restartPolicyRules[ContainerRestartRule] volumeMounts[VolumeMount] volumeDevices[VolumeDevice]
  livenessProbe*Probe readinessProbe*Probe startupProbe*Probe lifecycle*Lifecycle
  terminationMessagePath terminationMessagePolicy imagePullPolicy
  securityContext*SecurityContext stdin stdinOnce tty
ContainerPort: name hostPort containerPort=0 protocol hostIP
EnvFromSource: prefix configMapRef*ConfigMapEnvSource secretRef*SecretEnvSource
ConfigMapEnvSource: name
SecretEnvSource: name
EnvVar: name="" value valueFrom*EnvVarSource
EnvVarSource: fieldRef*ObjectFieldSelector resourceFieldRef*ResourceFieldSelector
  configMapKeyRef*ConfigMapKeySelector secretKeyRef*SecretKeySelector fileKeyRef*FileKeySelector
ConfigMapKeySelector: name key=""
SecretKeySelector: name key=""
FileKeySelector: volumeName="" path="" key=""
ResourceRequirements: limits{quantity} requests{quantity} claims[ResourceClaim]
ResourceClaim: name="" request
ContainerResizePolicy: resourceName="" restartPolicy=""
ContainerRestartRule: action exitCodes*ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes: operator values
VolumeMount: name="" readOnly mountPath="" subPath subPathExpr
VolumeDevice: name="" devicePath=""
Probe: exec*ExecAction httpGet*HTTPGetAction tcpSocket*TCPSocketAction grpc*GRPCAction
  initialDelaySeconds timeoutSeconds periodSeconds successThreshold failureThreshold
ExecAction: command
HTTPGetAction: path port=0 host scheme httpHeaders[HTTPHeader]
HTTPHeader: name="" value=""
TCPSocketAction: port=0 host
GRPCAction: port=0 service*!
Lifecycle: postStart*LifecycleHandler preStop*LifecycleHandler
LifecycleHandler: exec*ExecAction httpGet*HTTPGetAction tcpSocket*TCPSocketAction
  sleep*SleepAction
SleepAction: seconds=0
SecurityContext: capabilities*Capabilities seLinuxOptions*SELinuxOptions
  seccompProfile*SeccompProfile appArmorProfile*AppArmorProfile
Capabilities: add drop
SELinuxOptions: user role type level
SeccompProfile: type=""
AppArmorProfile: type=""
EphemeralContainer: name="" image command args workingDir ports[ContainerPort]
  envFrom[EnvFromSource] env[EnvVar] resources=ResourceRequirements
  resizePolicy[ContainerResizePolicy] restartPolicyRules[ContainerRestartRule]
  volumeMounts[VolumeMount] volumeDevices[VolumeDevice] livenessProbe*Probe readinessProbe*Probe
  startupProbe*Probe lifecycle*Lifecycle terminationMessagePath terminationMessagePolicy
  imagePullPolicy securityContext*SecurityContext stdin stdinOnce tty targetContainerName
PodSecurityContext: seLinuxOptions*SELinuxOptions supplementalGroups sysctls[Sysctl]
  seccompProfile*SeccompProfile appArmorProfile*AppArmorProfile
Sysctl: name="" value=""
Affinity: nodeAffinity*NodeAffinity podAffinity*PodAffinity podAntiAffinity*PodAntiAffinity
NodeAffinity: requiredDuringSchedulingIgnoredDuringExecution*NodeSelector
  preferredDuringSchedulingIgnoredDuringExecution[PreferredSchedulingTerm]
NodeSelector: nodeSelectorTerms![NodeSelectorTerm]
NodeSelectorTerm: matchExpressions[NodeSelectorRequirement] matchFields[NodeSelectorRequirement]
NodeSelectorRequirement: key="" operator="" values
PreferredSchedulingTerm: weight=0 preference=NodeSelectorTerm
PodAffinity: requiredDuringSchedulingIgnoredDuringExecution[PodAffinityTerm]
  preferredDuringSchedulingIgnoredDuringExecution[WeightedPodAffinityTerm]
PodAffinityTerm: labelSelector*LabelSelector namespaces topologyKey=""
  namespaceSelector*LabelSelector matchLabelKeys mismatchLabelKeys
WeightedPodAffinityTerm: weight=0 podAffinityTerm=PodAffinityTerm
PodAntiAffinity: requiredDuringSchedulingIgnoredDuringExecution[PodAffinityTerm]
  preferredDuringSchedulingIgnoredDuringExecution[WeightedPodAffinityTerm]
Toleration: key operator value effect
HostAlias: ip="" hostnames
PodDNSConfig: nameservers searches options[PodDNSConfigOption]
PodDNSConfigOption: name
PodReadinessGate: conditionType=""
TopologySpreadConstraint: maxSkew=0 topologyKey="" whenUnsatisfiable=""
  labelSelector*LabelSelector matchLabelKeys
PodOS: name=""
PodSchedulingGate: name=""
PodResourceClaim: name=""
DeploymentStrategy: type
DeploymentStatus: observedGeneration replicas updatedReplicas readyReplicas availableReplicas
  unavailableReplicas conditions[DeploymentCondition]
DeploymentCondition: type="" status="" lastUpdateTime lastTransitionTime reason message
DaemonSet: metadata=ObjectMeta spec=DaemonSetSpec status=DaemonSetStatus
DaemonSetSpec: selector*!LabelSelector template=PodTemplateSpec
  updateStrategy=DaemonSetUpdateStrategy minReadySeconds
DaemonSetUpdateStrategy: type
DaemonSetStatus: currentNumberScheduled=0 numberMisscheduled=0 desiredNumberScheduled=0
  numberReady=0 observedGeneration updatedNumberScheduled numberAvailable numberUnavailable
  conditions[DaemonSetCondition]
DaemonSetCondition: type="" status="" lastTransitionTime reason message
ClusterRoleBinding: metadata=ObjectMeta subjects[Subject] roleRef=RoleRef
Subject: kind="" apiGroup name="" namespace
RoleRef: apiGroup="" kind="" name=""
RoleBinding: metadata=ObjectMeta subjects[Subject] roleRef=RoleRef
MutatingWebhookConfiguration: metadata=ObjectMeta webhooks[MutatingWebhook]
MutatingWebhook: name="" clientConfig=WebhookClientConfig rules[RuleWithOperations]
  namespaceSelector*LabelSelector objectSelector*LabelSelector sideEffects*!
  admissionReviewVersions![] matchConditions[MatchCondition]
WebhookClientConfig: service*ServiceReference caBundle
ServiceReference: namespace="" name=""
RuleWithOperations: operations apiGroups apiVersions resources
MatchCondition: name="" expression=""
ValidatingWebhookConfiguration: metadata=ObjectMeta webhooks[ValidatingWebhook]
ValidatingWebhook: name="" clientConfig=WebhookClientConfig rules[RuleWithOperations]
  namespaceSelector*LabelSelector objectSelector*LabelSelector sideEffects*!
  admissionReviewVersions![] matchConditions[MatchCondition]
CustomResourceDefinition: metadata=ObjectMeta spec=CustomResourceDefinitionSpec
  status=CustomResourceDefinitionStatus
CustomResourceDefinitionSpec: group="" names=CustomResourceDefinitionNames scope=""
  versions![CustomResourceDefinitionVersion] conversion*CustomResourceConversion
  preserveUnknownFields
CustomResourceDefinitionNames: plural="" singular shortNames kind="" listKind categories
CustomResourceDefinitionVersion: name="" served=false storage=false deprecated
  schema*CustomResourceValidation subresources*CustomResourceSubresources
  additionalPrinterColumns[CustomResourceColumnDefinition] selectableFields[SelectableField]
CustomResourceValidation: openAPIV3Schema*JSONSchemaProps
JSONSchemaProps: id $schema description type format title exclusiveMaximum exclusiveMinimum
  pattern uniqueItems enum required items*JSONSchemaProps allOf[JSONSchemaProps]
  oneOf[JSONSchemaProps] anyOf[JSONSchemaProps] not*JSONSchemaProps properties{JSONSchemaProps}
  additionalProperties*JSONSchemaProps patternProperties{JSONSchemaProps}
  dependencies{JSONSchemaProps} additionalItems*JSONSchemaProps definitions{JSONSchemaProps}
  externalDocs*ExternalDocumentation nullable x-kubernetes-embedded-resource
  x-kubernetes-int-or-string x-kubernetes-list-map-keys x-kubernetes-validations[ValidationRule]
ExternalDocumentation: description url
ValidationRule: rule="" message messageExpression fieldPath
CustomResourceSubresources: scale*CustomResourceSubresourceScale
CustomResourceSubresourceScale: specReplicasPath="" statusReplicasPath=""
CustomResourceColumnDefinition: name="" type="" format description priority jsonPath=""
SelectableField: jsonPath=""
CustomResourceConversion: strategy="" webhook*WebhookConversion
WebhookConversion: clientConfig*WebhookClientConfig conversionReviewVersions![]
CustomResourceDefinitionStatus: conditions![CustomResourceDefinitionCondition]
  acceptedNames=CustomResourceDefinitionNames storedVersions![] observedGeneration
CustomResourceDefinitionCondition: type="" status="" lastTransitionTime reason message
  observedGeneration
"""
