{{- define "attune.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* The release's name, with the chart's unless it is in there already. */}}
{{- define "attune.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains (include "attune.name" .) .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "attune.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "attune.selector" -}}
app.kubernetes.io/name: {{ include "attune.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end }}

{{- define "attune.labels" -}}
{{ include "attune.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: attune
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end }}

{{- define "attune.monitoringLabels" -}}
{{ include "attune.labels" . }}
{{- with .Values.monitoring.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "attune.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "attune.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- required "serviceAccount.name is needed when serviceAccount.create is false" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* The name of an image, from (list . IMAGE): its registry, else global.registry unless the repository names one itself; its
digest, else its tag, else image.tag. IMAGE may also be the name as a string. */}}
{{- define "attune.image" -}}
{{- $root := index . 0 }}
{{- $image := index . 1 }}
{{- $suffix := "" }}
{{- if kindIs "string" $image }}
{{- $image = dict "repository" $image }}
{{- else if $image.digest }}
{{- $suffix = printf "@%s" $image.digest }}
{{- else }}
{{- $suffix = printf ":%s" (default $root.Values.image.tag $image.tag) }}
{{- end }}
{{- $registry := default "" $image.registry }}
{{- $first := first (splitList "/" $image.repository) }}
{{- $named := and (contains "/" $image.repository) (or (contains "." $first) (contains ":" $first) (eq $first "localhost")) }}
{{- if not (or $registry $named) }}
{{- $registry = default "" $root.Values.global.registry }}
{{- end }}
{{- with $registry }}{{ trimSuffix "/" . }}/{{ end }}{{ $image.repository }}{{ $suffix }}
{{- end }}

{{/* A machine that is lost gives the operator up after 5 s instead of Kubernetes' five minutes, unless the values say
otherwise: meanwhile no job is looked after. */}}
{{- define "attune.tolerations" -}}
{{- $stated := list }}
{{- range .Values.tolerations }}
{{- $stated = append $stated (get . "key") }}
{{- end }}
{{- with .Values.tolerations }}
{{- toYaml . }}
{{- end }}
{{- range list "node.kubernetes.io/not-ready" "node.kubernetes.io/unreachable" }}
{{- if not (has . $stated) }}
- {key: {{ . }}, operator: Exists, effect: NoExecute, tolerationSeconds: 5}
{{- end }}
{{- end }}
{{- end }}

{{/* What PodSecurity "restricted" asks of a container, and a read-only root. */}}
{{- define "attune.containerSecurity" -}}
allowPrivilegeEscalation: false
capabilities: {drop: [ALL]}
readOnlyRootFilesystem: true
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{/* Made after everything else of the release is gone, in the order of this weight, and removed when it has succeeded. */}}
{{- define "attune.afterwards" -}}
helm.sh/hook: post-delete
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}

{{/* Made by `helm test`, in the order of this weight, and removed in the end; a pod that failed is left. Helm from 3.18 on prints
what the pods say. */}}
{{- define "attune.tested" -}}
helm.sh/hook: test
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
helm.sh/hook-output-log-policy: hook-succeeded,hook-failed
{{- end }}

{{- define "attune.testLabels" -}}
app.kubernetes.io/name: {{ include "attune.name" . }}-test
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "attune.testPod" -}}
restartPolicy: Never
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  seccompProfile: {type: RuntimeDefault}
{{- end }}

{{/* What the operator may do with namespaced objects: the same rules in a ClusterRole or in one namespace's Role. */}}
{{- define "attune.rules" -}}
- apiGroups: [attune.dev]
  resources: [trainingjobs]
  verbs: [get, list, watch, patch, update, delete]
- apiGroups: [attune.dev]
  resources: [trainingjobs/status]
  verbs: [get, patch, update]
- apiGroups: [attune.dev]
  resources: [trainingjobs/finalizers]
  verbs: [update]
# What platform teams allow tuning to do: read, but for the counts in their status.
- apiGroups: [attune.dev]
  resources: [tuningpolicies]
  verbs: [get, list, watch]
- apiGroups: [attune.dev]
  resources: [tuningpolicies/status]
  verbs: [patch]
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, create, patch, update, delete]
- apiGroups: [""]
  resources: [pods/log, pods/status]
  verbs: [get]
# Cpu and memory of pods that run.
- apiGroups: [""]
  resources: [pods/resize]
  verbs: [patch]
- apiGroups: [""]
  resources: [services]
  verbs: [get, list, watch, create, patch, delete]
# One per tuned job, for what its tuner must not forget: by name, so neither listed nor watched.
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, create, patch]
# One per job, for the token of its processes: made, never read.
- apiGroups: [""]
  resources: [secrets]
  verbs: [create]
{{- if .Values.networkPolicy.jobs.enabled }}
# One per job: made, never read.
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [create]
{{- end }}
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- if .Values.rbac.queues }}
# One per job that names a queue of Kueue: its place there.
- apiGroups: [kueue.x-k8s.io]
  resources: [workloads]
  verbs: [get, list, watch, create, delete]
- apiGroups: [kueue.x-k8s.io]
  resources: [workloads/status]
  verbs: [patch]
{{- end }}
{{- end }}
