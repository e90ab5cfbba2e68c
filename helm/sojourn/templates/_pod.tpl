{{/* Parts of pods. Arguments of each: root context, component. */}}

{{/* Pod settings of a component: `pod`, with keys replaced by those of `<component>.pod`. */}}
{{- define "sojourn.podSettings" -}}
{{- $pod := deepCopy (index . 0).Values.pod }}
{{- range $key, $value := (index (index . 0).Values (index . 1)).pod }}
{{- $_ := set $pod $key $value }}
{{- end }}
{{- toYaml $pod }}
{{- end }}

{{/* Metadata of a pod. Third argument: annotations, such as checksums of what it reads at start only. */}}
{{- define "sojourn.podMetadata" -}}
{{- $root := index . 0 }}{{- $pod := include "sojourn.podSettings" . | fromYaml -}}
labels:
  {{- include "sojourn.selectorLabels" . | nindent 2 }}
  {{- include "sojourn.commonLabels" $root | nindent 2 }}
  {{- with $pod.labels }}{{- toYaml . | nindent 2 }}{{- end }}
{{- $annotations := $pod.annotations }}
{{- if gt (len .) 2 }}{{- $annotations = merge (dict) (index . 2) $annotations }}{{- end }}
{{- with $annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Spec of a pod, without containers, init containers and volumes. */}}
{{- define "sojourn.podSpec" -}}
{{- $root := index . 0 }}{{- $component := index . 1 }}
{{- $pod := include "sojourn.podSettings" . | fromYaml -}}
serviceAccountName: {{ include "sojourn.serviceAccountName" $root }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with $root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with $pod.securityContext }}
securityContext: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pod.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $pod.runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
{{- with $pod.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pod.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pod.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pod.hostAliases }}
hostAliases: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pod.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- range . }}
  - {{- toYaml . | nindent 4 }}
    {{- if not .labelSelector }}
    labelSelector:
      matchLabels:
        {{- include "sojourn.selectorLabels" (list $root $component) | nindent 8 }}
    {{- end }}
  {{- end }}
{{- end }}
{{- end }}

{{/* What every container has: image, security context, environment. */}}
{{- define "sojourn.container" -}}
{{- $root := index . 0 }}{{- $pod := include "sojourn.podSettings" . | fromYaml -}}
image: {{ include "sojourn.image" . | quote }}
imagePullPolicy: {{ $root.Values.image.pullPolicy }}
{{- with $pod.containerSecurityContext }}
securityContext: {{- toYaml . | nindent 2 }}
{{- end }}
terminationMessagePolicy: FallbackToLogsOnError
{{- end }}

{{/* Probes over HTTP. Third argument: port. A program is alive while it answers, ready while indications are fresh. */}}
{{- define "sojourn.probes" -}}
{{- $scheme := ternary "HTTP" "HTTPS" (eq (index . 0).Values.tls.mode "none") -}}
startupProbe:
  httpGet: {path: /healthz, port: http, scheme: {{ $scheme }}}
  periodSeconds: 1
  timeoutSeconds: 3
  # Longer than a start on a busy node.
  failureThreshold: 180
livenessProbe:
  httpGet: {path: /healthz, port: http, scheme: {{ $scheme }}}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
readinessProbe:
  httpGet: {path: /readyz, port: http, scheme: {{ $scheme }}}
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 3
{{- end }}

{{/* Init containers that copy FlexRIC's SDK onto the bridge's volume and try what the bridge needs. Arguments: root context, flags. */}}
{{- define "sojourn.preflight" -}}
{{- $root := index . 0 }}{{- $bridge := $root.Values.flexricBridge }}
{{- $small := dict "requests" (dict "cpu" "10m" "memory" "32Mi") "limits" (dict "memory" "192Mi") }}
{{- $container := include "sojourn.container" (list $root "flexricBridge") | fromYaml }}
{{- $mount := dict "name" "native" "mountPath" $bridge.native.mountPath }}
{{- $containers := list }}
{{- if not $bridge.native.volume }}
{{- $containers = append $containers (merge (dict "name" "sdk" "image" (include "sojourn.imageReference" (list $root $bridge.sdk.image))
  "command" (list "cp" "-rf" "/sdk/." $bridge.native.mountPath) "resources" $small "volumeMounts" (list $mount)) (deepCopy $container)) }}
{{- end }}
{{- if $bridge.preflight.enabled }}
{{- $libraries := printf "--libraries=%s/%s" $bridge.native.mountPath $bridge.native.libraries }}
{{- $args := concat (list "preflight" (printf "--ric=%s" (include "sojourn.ricHost" $root)) $libraries) (index . 1) }}
{{- $env := include "sojourn.nativeEnvironment" $root | fromYamlArray }}
{{- $containers = append $containers (merge (dict "name" "preflight" "args" $args "env" $env "resources" $small
  "volumeMounts" (list (merge (dict "readOnly" true) $mount))) $container) }}
{{- end }}
{{- with $containers }}{{ toYaml . }}{{ end }}
{{- end }}

{{/* Where Python and the linker find FlexRIC's SDK. */}}
{{- define "sojourn.nativeEnvironment" -}}
{{- $native := .Values.flexricBridge.native -}}
- {name: PYTHONPATH, value: {{ printf "%s/%s" $native.mountPath $native.pythonPath | quote }}}
- {name: LD_LIBRARY_PATH, value: {{ printf "%s/%s" $native.mountPath $native.libraryPath | quote }}}
{{- end }}

{{/* Volume of FlexRIC's SDK. */}}
{{- define "sojourn.nativeVolume" -}}
name: native
{{ toYaml (.Values.flexricBridge.native.volume | default (dict "emptyDir" (dict "sizeLimit" "256Mi"))) }}
{{- end }}

{{/* Volumes of certificates and access file. Third argument: identity (controller, forecaster, gateway, …). */}}
{{- define "sojourn.identityVolumes" -}}
{{- $root := index . 0 }}
{{- if ne $root.Values.tls.mode "none" }}
- name: tls
  secret:
    secretName: {{ include "sojourn.tlsSecret" (list $root (index . 2)) }}
    defaultMode: 0440
{{- end }}
{{- if eq (include "sojourn.accessUsed" $root) "true" }}
- name: access
  projected:
    defaultMode: 0440
    sources:
      - secret:
          name: {{ include "sojourn.accessSecret" $root }}
      {{- with $root.Values.access.tokensSecret }}
      - secret:
          name: {{ . }}
      {{- end }}
      {{- with $root.Values.access.nocTokenSecret }}
      - secret:
          name: {{ . }}
          items: [{key: noc.token, path: noc.token}]
      {{- end }}
{{- end }}
{{- end }}

{{- define "sojourn.identityMounts" -}}
{{- $root := index . 0 }}
{{- if ne $root.Values.tls.mode "none" }}
- name: tls
  mountPath: /etc/sojourn/tls
  readOnly: true
{{- end }}
{{- if eq (include "sojourn.accessUsed" $root) "true" }}
- name: access
  mountPath: /etc/sojourn/access
  readOnly: true
{{- end }}
{{- end }}

{{/* Spec of a PersistentVolumeClaim. Argument: list of its values. */}}
{{- define "sojourn.claim" -}}
{{- $persistence := index . 0 -}}
accessModes: {{- toYaml $persistence.accessModes | nindent 2 }}
{{- with $persistence.storageClass }}
storageClassName: {{ . | quote }}
{{- end }}
resources:
  requests:
    storage: {{ $persistence.size }}
{{- end }}
