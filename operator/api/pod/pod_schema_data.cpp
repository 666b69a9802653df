// Made by scripts/pod-schema from Kubernetes v1.34.4; run it again instead of editing.
#include "operator/api/pod/pod_schema.h"

namespace attune::api {

// pod_schema.h says how it is read.
const char kPodSchemaText[] = R"schema(v1.34.4
AWSElasticBlockStoreVolumeSource
 fsType string
 partition int32
 readOnly boolean
 volumeID! string
Affinity
 nodeAffinity NodeAffinity
 podAffinity PodAffinity
 podAntiAffinity PodAntiAffinity
AppArmorProfile
 localhostProfile string
 type! AppArmorProfileType
AzureDiskVolumeSource
 cachingMode AzureDataDiskCachingMode
 diskName! string
 diskURI! string
 fsType string
 kind AzureDataDiskKind
 readOnly boolean
AzureFileVolumeSource
 readOnly boolean
 secretName! string
 shareName! string
CSIVolumeSource
 driver! string
 fsType string
 nodePublishSecretRef LocalObjectReference
 readOnly boolean
 volumeAttributes {string}
Capabilities
 add [string]
 drop [string]
CephFSVolumeSource
 monitors! [string]
 path string
 readOnly boolean
 secretFile string
 secretRef LocalObjectReference
 user string
CinderVolumeSource
 fsType string
 readOnly boolean
 secretRef LocalObjectReference
 volumeID! string
ClusterTrustBundleProjection
 labelSelector LabelSelector
 name string
 optional boolean
 path! string
 signerName string
ConfigMapEnvSource
 name string
 optional boolean
ConfigMapKeySelector
 key! string
 name string
 optional boolean
ConfigMapProjection
 items [KeyToPath]
 name string
 optional boolean
ConfigMapVolumeSource
 defaultMode int32
 items [KeyToPath]
 name string
 optional boolean
Container
 args [string]
 command [string]
 env [EnvVar]
 envFrom [EnvFromSource]
 image string
 imagePullPolicy PullPolicy
 lifecycle Lifecycle
 livenessProbe Probe
 name! string
 ports [ContainerPort]
 readinessProbe Probe
 resizePolicy [ContainerResizePolicy]
 resources ResourceRequirements
 restartPolicy string
 restartPolicyRules [ContainerRestartRule]
 securityContext SecurityContext
 startupProbe Probe
 stdin boolean
 stdinOnce boolean
 terminationMessagePath string
 terminationMessagePolicy TerminationMessagePolicy
 tty boolean
 volumeDevices [VolumeDevice]
 volumeMounts [VolumeMount]
 workingDir string
ContainerPort
 containerPort! int32
 hostIP string
 hostPort int32
 name string
 protocol Protocol
ContainerResizePolicy
 resourceName! string
 restartPolicy! string
ContainerRestartRule
 action! string
 exitCodes ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes
 operator! string
 values [int32]
DownwardAPIProjection
 items [DownwardAPIVolumeFile]
DownwardAPIVolumeFile
 fieldRef ObjectFieldSelector
 mode int32
 path! string
 resourceFieldRef ResourceFieldSelector
DownwardAPIVolumeSource
 defaultMode int32
 items [DownwardAPIVolumeFile]
EmptyDirVolumeSource
 medium string
 sizeLimit Quantity
EnvFromSource
 configMapRef ConfigMapEnvSource
 prefix string
 secretRef SecretEnvSource
EnvVar
 name! string
 value string
 valueFrom EnvVarSource
EnvVarSource
 configMapKeyRef ConfigMapKeySelector
 fieldRef ObjectFieldSelector
 fileKeyRef FileKeySelector
 resourceFieldRef ResourceFieldSelector
 secretKeyRef SecretKeySelector
EphemeralContainer
 args [string]
 command [string]
 env [EnvVar]
 envFrom [EnvFromSource]
 image string
 imagePullPolicy string
 lifecycle Lifecycle
 livenessProbe Probe
 name! string
 ports [ContainerPort]
 readinessProbe Probe
 resizePolicy [ContainerResizePolicy]
 resources ResourceRequirements
 restartPolicy string
 restartPolicyRules [ContainerRestartRule]
 securityContext SecurityContext
 startupProbe Probe
 stdin boolean
 stdinOnce boolean
 targetContainerName string
 terminationMessagePath string
 terminationMessagePolicy string
 tty boolean
 volumeDevices [VolumeDevice]
 volumeMounts [VolumeMount]
 workingDir string
EphemeralVolumeSource
 volumeClaimTemplate PersistentVolumeClaimTemplate
ExecAction
 command [string]
FCVolumeSource
 fsType string
 lun int32
 readOnly boolean
 targetWWNs [string]
 wwids [string]
FileKeySelector
 key! string
 optional boolean
 path! string
 volumeName! string
FlexVolumeSource
 driver! string
 fsType string
 options {string}
 readOnly boolean
 secretRef LocalObjectReference
FlockerVolumeSource
 datasetName string
 datasetUUID string
GCEPersistentDiskVolumeSource
 fsType string
 partition int32
 pdName! string
 readOnly boolean
GRPCAction
 port! int32
 service string
GitRepoVolumeSource
 directory string
 repository! string
 revision string
GlusterfsVolumeSource
 endpoints! string
 path! string
 readOnly boolean
HTTPGetAction
 host string
 httpHeaders [HTTPHeader]
 path string
 port! IntOrString
 scheme URIScheme
HTTPHeader
 name! string
 value! string
HostAlias
 hostnames [string]
 ip! string
HostPathVolumeSource
 path! string
 type HostPathType
ISCSIVolumeSource
 chapAuthDiscovery boolean
 chapAuthSession boolean
 fsType string
 initiatorName string
 iqn! string
 iscsiInterface string
 lun! int32
 portals [string]
 readOnly boolean
 secretRef LocalObjectReference
 targetPortal! string
ImageVolumeSource
 pullPolicy PullPolicy
 reference string
KeyToPath
 key! string
 mode int32
 path! string
LabelSelector
 matchExpressions [LabelSelectorRequirement]
 matchLabels {string}
LabelSelectorRequirement
 key! string
 operator! string
 values [string]
Lifecycle
 postStart LifecycleHandler
 preStop LifecycleHandler
 stopSignal Signal
LifecycleHandler
 exec ExecAction
 httpGet HTTPGetAction
 sleep SleepAction
 tcpSocket TCPSocketAction
LocalObjectReference
 name string
ManagedFieldsEntry
 apiVersion string
 fieldsType string
 fieldsV1 any
 manager string
 operation string
 subresource string
 time string
NFSVolumeSource
 path! string
 readOnly boolean
 server! string
NodeAffinity
 preferredDuringSchedulingIgnoredDuringExecution [PreferredSchedulingTerm]
 requiredDuringSchedulingIgnoredDuringExecution NodeSelector
NodeSelector
 nodeSelectorTerms! [NodeSelectorTerm]
NodeSelectorRequirement
 key! string
 operator! NodeSelectorOperator
 values [string]
NodeSelectorTerm
 matchExpressions [NodeSelectorRequirement]
 matchFields [NodeSelectorRequirement]
ObjectFieldSelector
 apiVersion string
 fieldPath! string
ObjectMeta
 annotations {string}
 creationTimestamp string
 deletionGracePeriodSeconds int64
 deletionTimestamp string
 finalizers [string]
 generateName string
 generation int64
 labels {string}
 managedFields [ManagedFieldsEntry]
 name string
 namespace string
 ownerReferences [OwnerReference]
 resourceVersion string
 selfLink string
 uid string
OwnerReference
 apiVersion! string
 blockOwnerDeletion boolean
 controller boolean
 kind! string
 name! string
 uid! string
PersistentVolumeClaimSpec
 accessModes [PersistentVolumeAccessMode]
 dataSource TypedLocalObjectReference
 dataSourceRef TypedObjectReference
 resources VolumeResourceRequirements
 selector LabelSelector
 storageClassName string
 volumeAttributesClassName string
 volumeMode PersistentVolumeMode
 volumeName string
PersistentVolumeClaimTemplate
 metadata ObjectMeta
 spec! PersistentVolumeClaimSpec
PersistentVolumeClaimVolumeSource
 claimName! string
 readOnly boolean
PhotonPersistentDiskVolumeSource
 fsType string
 pdID! string
PodAffinity
 preferredDuringSchedulingIgnoredDuringExecution [WeightedPodAffinityTerm]
 requiredDuringSchedulingIgnoredDuringExecution [PodAffinityTerm]
PodAffinityTerm
 labelSelector LabelSelector
 matchLabelKeys [string]
 mismatchLabelKeys [string]
 namespaceSelector LabelSelector
 namespaces [string]
 topologyKey! string
PodAntiAffinity
 preferredDuringSchedulingIgnoredDuringExecution [WeightedPodAffinityTerm]
 requiredDuringSchedulingIgnoredDuringExecution [PodAffinityTerm]
PodCertificateProjection
 certificateChainPath string
 credentialBundlePath string
 keyPath string
 keyType! string
 maxExpirationSeconds int32
 signerName! string
PodDNSConfig
 nameservers [string]
 options [PodDNSConfigOption]
 searches [string]
PodDNSConfigOption
 name string
 value string
PodOS
 name! string
PodReadinessGate
 conditionType! string
PodResourceClaim
 name! string
 resourceClaimName string
 resourceClaimTemplateName string
PodSchedulingGate
 name! string
PodSecurityContext
 appArmorProfile AppArmorProfile
 fsGroup int64
 fsGroupChangePolicy PodFSGroupChangePolicy
 runAsGroup int64
 runAsNonRoot boolean
 runAsUser int64
 seLinuxChangePolicy string
 seLinuxOptions SELinuxOptions
 seccompProfile SeccompProfile
 supplementalGroups [int64]
 supplementalGroupsPolicy SupplementalGroupsPolicy
 sysctls [Sysctl]
 windowsOptions WindowsSecurityContextOptions
PodSpec
 activeDeadlineSeconds int64
 affinity Affinity
 automountServiceAccountToken boolean
 containers! [Container]
 dnsConfig PodDNSConfig
 dnsPolicy DNSPolicy
 enableServiceLinks boolean
 ephemeralContainers [EphemeralContainer]
 hostAliases [HostAlias]
 hostIPC boolean
 hostNetwork boolean
 hostPID boolean
 hostUsers boolean
 hostname string
 hostnameOverride string
 imagePullSecrets [LocalObjectReference]
 initContainers [Container]
 nodeName string
 nodeSelector {string}
 os PodOS
 overhead {Quantity}
 preemptionPolicy PreemptionPolicy
 priority int32
 priorityClassName string
 readinessGates [PodReadinessGate]
 resourceClaims [PodResourceClaim]
 resources ResourceRequirements
 restartPolicy RestartPolicy
 runtimeClassName string
 schedulerName string
 schedulingGates [PodSchedulingGate]
 securityContext PodSecurityContext
 serviceAccount string
 serviceAccountName string
 setHostnameAsFQDN boolean
 shareProcessNamespace boolean
 subdomain string
 terminationGracePeriodSeconds int64
 tolerations [Toleration]
 topologySpreadConstraints [TopologySpreadConstraint]
 volumes [Volume]
PodTemplateSpec
 metadata ObjectMeta
 spec PodSpec
PortworxVolumeSource
 fsType string
 readOnly boolean
 volumeID! string
PreferredSchedulingTerm
 preference! NodeSelectorTerm
 weight! int32
Probe
 exec ExecAction
 failureThreshold int32
 grpc GRPCAction
 httpGet HTTPGetAction
 initialDelaySeconds int32
 periodSeconds int32
 successThreshold int32
 tcpSocket TCPSocketAction
 terminationGracePeriodSeconds int64
 timeoutSeconds int32
ProjectedVolumeSource
 defaultMode int32
 sources [VolumeProjection]
QuobyteVolumeSource
 group string
 readOnly boolean
 registry! string
 tenant string
 user string
 volume! string
RBDVolumeSource
 fsType string
 image! string
 keyring string
 monitors! [string]
 pool string
 readOnly boolean
 secretRef LocalObjectReference
 user string
ResourceClaim
 name! string
 request string
ResourceFieldSelector
 containerName string
 divisor Quantity
 resource! string
ResourceRequirements
 claims [ResourceClaim]
 limits {Quantity}
 requests {Quantity}
SELinuxOptions
 level string
 role string
 type string
 user string
ScaleIOVolumeSource
 fsType string
 gateway! string
 protectionDomain string
 readOnly boolean
 secretRef! LocalObjectReference
 sslEnabled boolean
 storageMode string
 storagePool string
 system! string
 volumeName string
SeccompProfile
 localhostProfile string
 type! SeccompProfileType
SecretEnvSource
 name string
 optional boolean
SecretKeySelector
 key! string
 name string
 optional boolean
SecretProjection
 items [KeyToPath]
 name string
 optional boolean
SecretVolumeSource
 defaultMode int32
 items [KeyToPath]
 optional boolean
 secretName string
SecurityContext
 allowPrivilegeEscalation boolean
 appArmorProfile AppArmorProfile
 capabilities Capabilities
 privileged boolean
 procMount ProcMountType
 readOnlyRootFilesystem boolean
 runAsGroup int64
 runAsNonRoot boolean
 runAsUser int64
 seLinuxOptions SELinuxOptions
 seccompProfile SeccompProfile
 windowsOptions WindowsSecurityContextOptions
ServiceAccountTokenProjection
 audience string
 expirationSeconds int64
 path! string
SleepAction
 seconds! int64
StorageOSVolumeSource
 fsType string
 readOnly boolean
 secretRef LocalObjectReference
 volumeName string
 volumeNamespace string
Sysctl
 name! string
 value! string
TCPSocketAction
 host string
 port! IntOrString
Toleration
 effect TaintEffect
 key string
 operator TolerationOperator
 tolerationSeconds int64
 value string
TopologySpreadConstraint
 labelSelector LabelSelector
 matchLabelKeys [string]
 maxSkew! int32
 minDomains int32
 nodeAffinityPolicy NodeInclusionPolicy
 nodeTaintsPolicy NodeInclusionPolicy
 topologyKey! string
 whenUnsatisfiable! UnsatisfiableConstraintAction
TypedLocalObjectReference
 apiGroup string
 kind! string
 name! string
TypedObjectReference
 apiGroup string
 kind! string
 name! string
 namespace string
Volume
 awsElasticBlockStore AWSElasticBlockStoreVolumeSource
 azureDisk AzureDiskVolumeSource
 azureFile AzureFileVolumeSource
 cephfs CephFSVolumeSource
 cinder CinderVolumeSource
 configMap ConfigMapVolumeSource
 csi CSIVolumeSource
 downwardAPI DownwardAPIVolumeSource
 emptyDir EmptyDirVolumeSource
 ephemeral EphemeralVolumeSource
 fc FCVolumeSource
 flexVolume FlexVolumeSource
 flocker FlockerVolumeSource
 gcePersistentDisk GCEPersistentDiskVolumeSource
 gitRepo GitRepoVolumeSource
 glusterfs GlusterfsVolumeSource
 hostPath HostPathVolumeSource
 image ImageVolumeSource
 iscsi ISCSIVolumeSource
 name! string
 nfs NFSVolumeSource
 persistentVolumeClaim PersistentVolumeClaimVolumeSource
 photonPersistentDisk PhotonPersistentDiskVolumeSource
 portworxVolume PortworxVolumeSource
 projected ProjectedVolumeSource
 quobyte QuobyteVolumeSource
 rbd RBDVolumeSource
 scaleIO ScaleIOVolumeSource
 secret SecretVolumeSource
 storageos StorageOSVolumeSource
 vsphereVolume VsphereVirtualDiskVolumeSource
VolumeDevice
 devicePath! string
 name! string
VolumeMount
 mountPath! string
 mountPropagation MountPropagationMode
 name! string
 readOnly boolean
 recursiveReadOnly string
 subPath string
 subPathExpr string
VolumeProjection
 clusterTrustBundle ClusterTrustBundleProjection
 configMap ConfigMapProjection
 downwardAPI DownwardAPIProjection
 podCertificate PodCertificateProjection
 secret SecretProjection
 serviceAccountToken ServiceAccountTokenProjection
VolumeResourceRequirements
 limits {Quantity}
 requests {Quantity}
VsphereVirtualDiskVolumeSource
 fsType string
 storagePolicyID string
 storagePolicyName string
 volumePath! string
WeightedPodAffinityTerm
 podAffinityTerm! PodAffinityTerm
 weight! int32
WindowsSecurityContextOptions
 gmsaCredentialSpec string
 gmsaCredentialSpecName string
 hostProcess boolean
 runAsUserName string
AppArmorProfileType =
 Localhost
 RuntimeDefault
 Unconfined
AzureDataDiskCachingMode =
 None
 ReadOnly
 ReadWrite
AzureDataDiskKind =
 Dedicated
 Managed
 Shared
DNSPolicy =
 ClusterFirst
 ClusterFirstWithHostNet
 Default
 None
HostPathType =
 BlockDevice
 CharDevice
 Directory
 DirectoryOrCreate
 File
 FileOrCreate
 Socket
MountPropagationMode =
 Bidirectional
 HostToContainer
 None
NodeInclusionPolicy =
 Honor
 Ignore
NodeSelectorOperator =
 DoesNotExist
 Exists
 Gt
 In
 Lt
 NotIn
PersistentVolumeAccessMode =
 ReadOnlyMany
 ReadWriteMany
 ReadWriteOnce
 ReadWriteOncePod
PersistentVolumeMode =
 Block
 Filesystem
PodFSGroupChangePolicy =
 Always
 OnRootMismatch
PreemptionPolicy =
 Never
 PreemptLowerPriority
ProcMountType =
 Default
 Unmasked
Protocol =
 SCTP
 TCP
 UDP
PullPolicy =
 Always
 IfNotPresent
 Never
RestartPolicy =
 Always
 Never
 OnFailure
SeccompProfileType =
 Localhost
 RuntimeDefault
 Unconfined
Signal =
 SIGABRT
 SIGALRM
 SIGBUS
 SIGCHLD
 SIGCLD
 SIGCONT
 SIGFPE
 SIGHUP
 SIGILL
 SIGINT
 SIGIO
 SIGIOT
 SIGKILL
 SIGPIPE
 SIGPOLL
 SIGPROF
 SIGPWR
 SIGQUIT
 SIGRTMAX
 SIGRTMAX-1
 SIGRTMAX-10
 SIGRTMAX-11
 SIGRTMAX-12
 SIGRTMAX-13
 SIGRTMAX-14
 SIGRTMAX-2
 SIGRTMAX-3
 SIGRTMAX-4
 SIGRTMAX-5
 SIGRTMAX-6
 SIGRTMAX-7
 SIGRTMAX-8
 SIGRTMAX-9
 SIGRTMIN
 SIGRTMIN+1
 SIGRTMIN+10
 SIGRTMIN+11
 SIGRTMIN+12
 SIGRTMIN+13
 SIGRTMIN+14
 SIGRTMIN+15
 SIGRTMIN+2
 SIGRTMIN+3
 SIGRTMIN+4
 SIGRTMIN+5
 SIGRTMIN+6
 SIGRTMIN+7
 SIGRTMIN+8
 SIGRTMIN+9
 SIGSEGV
 SIGSTKFLT
 SIGSTOP
 SIGSYS
 SIGTERM
 SIGTRAP
 SIGTSTP
 SIGTTIN
 SIGTTOU
 SIGURG
 SIGUSR1
 SIGUSR2
 SIGVTALRM
 SIGWINCH
 SIGXCPU
 SIGXFSZ
SupplementalGroupsPolicy =
 Merge
 Strict
TaintEffect =
 NoExecute
 NoSchedule
 PreferNoSchedule
TerminationMessagePolicy =
 FallbackToLogsOnError
 File
TolerationOperator =
 Equal
 Exists
URIScheme =
 HTTP
 HTTPS
UnsatisfiableConstraintAction =
 DoNotSchedule
 ScheduleAnyway)schema";

}  // namespace attune::api
