{{/* The Lease of the election, and the value of the leader's label: operators of this namespace that watch the same jobs
share it, also those of another release. A label has at most 63 characters. */}}
{{- define "attune.lease" -}}
{{- if .Values.watch.namespace }}
{{- printf "attune-operator-%s" .Values.watch.namespace | trunc 63 | trimSuffix "-" }}
{{- else -}}
attune-operator
{{- end }}
{{- end }}
