{{/* Fails for values that contradict each other or cannot work, with what to do. */}}
{{- define "sojourn.check" -}}
{{- if not .Values.image.registry }}
{{- fail "image.registry: unset; expected the registry that has the images, such as --set image.registry=registry.example.org (make push REGISTRY=… fills it), or localhost for images that were loaded into the nodes" }}
{{- end }}
{{- if and .Values.lab.enabled .Values.flexricBridge.enabled }}
{{- fail "lab.enabled and flexricBridge.enabled: both serve the E2 gateway; set one of them to false" }}
{{- end }}
{{- if and .Values.gateway.address (or .Values.lab.enabled .Values.flexricBridge.enabled) }}
{{- fail "gateway.address: names a gateway outside this release; set lab.enabled and flexricBridge.enabled to false" }}
{{- end }}
{{- $xapps := or .Values.controller.enabled .Values.forecaster.enabled .Values.training.enabled }}
{{- if and $xapps (not .Values.gateway.address) (not .Values.lab.enabled) (not .Values.flexricBridge.enabled) }}
{{- fail "no E2 gateway: set flexricBridge.enabled or lab.enabled to true, or gateway.address" }}
{{- end }}
{{- include "sojourn.checkRicHost" .Values.flexricBridge.ric.host }}
{{- if and .Values.training.enabled (ne .Values.forecaster.model.source "volume") }}
{{- fail "training.enabled: promotes to the models volume; set forecaster.model.source to volume" }}
{{- end }}
{{- if and .Values.training.tune.enabled (not .Values.training.volume.existingClaim) }}
{{- fail "training.tune.enabled: chief and workers share a volume; set training.volume.existingClaim" }}
{{- end }}
{{- if and .Values.controller.enabled .Values.controller.a1.enabled (gt (int .Values.controller.replicas) 1) (not .Values.controller.persistence.enabled) }}
{{- fail "controller.a1.enabled with several replicas: set controller.persistence.enabled to true, so that each keeps the A1 policies sent to it" }}
{{- end }}
{{- if .Values.controller.enabled }}{{ include "sojourn.checkIdentity" . }}{{ end }}
{{- end }}

{{/* The host of the near-RT RIC is a name or an IPv4 address. */}}
{{- define "sojourn.checkRicHost" -}}
{{- $host := . }}
{{- $expected := "expected a name or an IPv4 address, without a port" }}
{{- if regexMatch "^\\[?[0-9A-Fa-f]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*\\]?(:[0-9]+)?$" $host }}
{{- fail (printf "flexricBridge.ric.host: %s is an IPv6 address, FlexRIC has IPv4 alone; %s" $host $expected) }}
{{- else if contains ":" $host }}
{{- fail (printf "flexricBridge.ric.host: %s has a port; %s: the bridge connects to E42, whose port in FlexRIC is always 36422; 36421 is E2, for gNBs" $host $expected) }}
{{- else if not (regexMatch "^[A-Za-z0-9.-]*$" $host) }}
{{- fail (printf "flexricBridge.ric.host: %s; %s" $host $expected) }}
{{- end }}
{{- end }}

{{/* Two controllers of one identity would hold a node at once: the chart alone gives identities. */}}
{{- define "sojourn.checkIdentity" -}}
{{- $pod := include "sojourn.podSettings" (list . "controller") | fromYaml }}
{{- $expected := "expected controller.settings.identity: the chart adds the number of the replica" }}
{{- range $pod.extraArgs }}
{{- if regexMatch "^--(identity|replica-index|replica-count)(=|$)" . }}
{{- fail (printf "pod.extraArgs: %s is the same for every replica; %s" . $expected) }}
{{- end }}
{{- end }}
{{- range $pod.extraEnv }}
{{- if has .name (list "SOJOURN_IDENTITY" "SOJOURN_REPLICA__INDEX" "SOJOURN_REPLICA__COUNT") }}
{{- fail (printf "pod.extraEnv: %s is the same for every replica; %s" .name $expected) }}
{{- end }}
{{- end }}
{{- if hasKey .Values.controller.settings "replica" }}
{{- range $key := list "index" "count" }}
{{- if hasKey $.Values.controller.settings.replica $key }}
{{- fail (printf "controller.settings.replica.%s: the chart sets it; expected controller.replicas" $key) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
