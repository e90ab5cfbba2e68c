{{/* Names, labels and images. Components are named as their keys in values.yaml. */}}

{{- define "sojourn.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "sojourn.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains (include "sojourn.name" .) .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "sojourn.name" .) | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/* Program of a component: label `app.kubernetes.io/component`, job of Prometheus, name in the access file. */}}
{{- define "sojourn.program" -}}
{{- get (dict "controller" "tc-controller" "forecaster" "rlc-forecaster" "flexricBridge" "flexric-bridge" "lab" "gnb-lab" "training" "training") . }}
{{- end }}

{{/* Name of a component's objects. Arguments: list of the root context and the component. */}}
{{- define "sojourn.objectName" -}}
{{- $root := index . 0 }}{{- $component := index . 1 }}
{{- printf "%s-%s" (include "sojourn.fullname" $root) (get (dict "flexricBridge" "flexric-bridge") $component | default $component) }}
{{- end }}

{{/* Labels that never change. Arguments: root context, component. */}}
{{- define "sojourn.selectorLabels" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ include "sojourn.name" $root }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ include "sojourn.program" (index . 1) }}
{{- end }}

{{/* Labels of a release's object. Argument: root context. */}}
{{- define "sojourn.commonLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: sojourn
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Metadata of a component's object. Arguments: root context, component, name, annotations (optional). */}}
{{- define "sojourn.metadata" -}}
{{- $root := index . 0 -}}
name: {{ index . 2 }}
labels:
  {{- include "sojourn.selectorLabels" (list $root (index . 1)) | nindent 2 }}
  {{- include "sojourn.commonLabels" $root | nindent 2 }}
{{- $annotations := $root.Values.commonAnnotations }}
{{- if gt (len .) 3 }}{{- $annotations = merge (dict) (index . 3) $annotations }}{{- end }}
{{- with $annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Metadata of an object of no component. Arguments: root context, name, annotations (optional). */}}
{{- define "sojourn.releaseMetadata" -}}
{{- $root := index . 0 -}}
name: {{ index . 1 }}
labels:
  app.kubernetes.io/name: {{ include "sojourn.name" $root }}
  app.kubernetes.io/instance: {{ $root.Release.Name }}
  {{- include "sojourn.commonLabels" $root | nindent 2 }}
{{- $annotations := $root.Values.commonAnnotations }}
{{- if gt (len .) 2 }}{{- $annotations = merge (dict) (index . 2) $annotations }}{{- end }}
{{- with $annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Image of a component. Arguments: root context, component. */}}
{{- define "sojourn.image" -}}
{{- include "sojourn.imageReference" (list (index . 0) (index (index . 0).Values (index . 1)).image) }}
{{- end }}

{{/* Reference of an image. Arguments: root context, values of the image. */}}
{{- define "sojourn.imageReference" -}}
{{- $root := index . 0 }}{{- $image := index . 1 }}
{{- $root.Values.image.registry }}/{{ $image.repository }}
{{- if $image.digest }}@{{ $image.digest }}
{{- else }}:{{ coalesce $image.tag $root.Values.image.tag $root.Chart.AppVersion }}
{{- end }}
{{- end }}

{{- define "sojourn.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}{{ default (include "sojourn.fullname" .) .Values.serviceAccount.name }}
{{- else }}{{ default "default" .Values.serviceAccount.name }}{{ end }}
{{- end }}

{{/* Components that serve HTTP, by key, as YAML: Service and port of their metrics. */}}
{{- define "sojourn.servers" -}}
{{- $fullname := include "sojourn.fullname" . -}}
{{- if .Values.controller.enabled }}
controller: {service: {{ $fullname }}-controller, port: 9100, identity: controller}
{{- end }}
{{- if .Values.forecaster.enabled }}
forecaster: {service: {{ $fullname }}-forecaster, port: 9101, identity: forecaster}
{{- end }}
{{- if .Values.flexricBridge.enabled }}
flexricBridge: {service: {{ $fullname }}-gateway, port: 9102, identity: gateway}
{{- end }}
{{- if .Values.lab.enabled }}
lab: {service: {{ $fullname }}-gateway, port: 9103, identity: gateway}
{{- end }}
{{- end }}

{{/* Full name of a Service in the cluster. Arguments: root context, name of the Service. */}}
{{- define "sojourn.host" -}}
{{- printf "%s.%s.svc" (index . 1) (index . 0).Release.Namespace }}
{{- end }}

{{/* All names of a Service in the cluster, separated by commas. Arguments: root context, name of the Service. */}}
{{- define "sojourn.serviceNames" -}}
{{- $host := include "sojourn.host" . }}
{{- join "," (list (index . 1) (trimSuffix ".svc" $host) $host (printf "%s.%s" $host (index . 0).Values.clusterDomain)) }}
{{- end }}

{{/* Component that serves the E2 gateway; empty if it is outside this release. */}}
{{- define "sojourn.gatewayComponent" -}}
{{- if .Values.gateway.address }}
{{- else if .Values.flexricBridge.enabled }}flexricBridge
{{- else if .Values.lab.enabled }}lab
{{- end }}
{{- end }}

{{/* The mode. `off` in a values file is the boolean of YAML 1.1. */}}
{{- define "sojourn.mode" -}}
{{- ternary "off" .Values.mode (eq (toString .Values.mode) "false") }}
{{- end }}

{{/* All controllers: every address of the name is one. */}}
{{- define "sojourn.peersAddress" -}}
{{- printf "%s:9100" (include "sojourn.host" (list . (printf "%s-controller-replicas" (include "sojourn.fullname" .)))) }}
{{- end }}

{{- define "sojourn.gatewayAddress" -}}
{{- .Values.gateway.address | default (printf "%s:36421" (include "sojourn.host" (list . (printf "%s-gateway" (include "sojourn.fullname" .))))) }}
{{- end }}

{{- define "sojourn.forecasterAddress" -}}
{{- printf "%s:36422" (include "sojourn.host" (list . (printf "%s-forecaster" (include "sojourn.fullname" .)))) }}
{{- end }}

{{/* Host of the near-RT RIC: the value, else the Service that `helm install` finds, else the name of the chart
`oai-flexric`. `helm template` finds none. */}}
{{- define "sojourn.ricHost" -}}
{{- coalesce .Values.flexricBridge.ric.host (include "sojourn.ricService" .) "oai-flexric" }}
{{- end }}

{{/* Service of a FlexRIC near-RT RIC in the namespace, by its label or its SCTP port; empty if there is none. */}}
{{- define "sojourn.ricService" -}}
{{- $names := list }}
{{- range (lookup "v1" "Service" .Release.Namespace "").items }}
{{- $sctp := list }}
{{- range .spec.ports }}
{{- if eq (.protocol | default "TCP") "SCTP" }}{{- $sctp = append $sctp (int .port) }}{{- end }}
{{- end }}
{{- $labelled := eq (get (.metadata.labels | default dict) "app.kubernetes.io/name") "oai-flexric" }}
{{- if or $labelled (has 36422 $sctp) }}
{{- $names = append $names .metadata.name }}
{{- /* A headless Service is the address of the pod: its ports do not matter. */}}
{{- if not (or (has 36422 $sctp) (eq (get .spec "clusterIP") "None")) }}
{{- fail (printf "Service %s of the near-RT RIC: has no port 36422 with protocol SCTP; FlexRIC serves xApps (E42) on it alone; add it to the Service, or set flexricBridge.ric.host" .metadata.name) }}
{{- end }}
{{- end }}
{{- end }}
{{- if gt (len $names) 1 }}
{{- fail (printf "several Services of a near-RT RIC: %s; set flexricBridge.ric.host to one of them" (sortAlpha $names | join ", ")) }}
{{- end }}
{{- with $names }}{{ first . }}{{ end }}
{{- end }}

{{/* IP families of a Service, for its spec. Argument: root context. */}}
{{- define "sojourn.ipFamilies" -}}
{{- with .Values.service.ipFamilyPolicy }}
ipFamilyPolicy: {{ . }}
{{- end }}
{{- with .Values.service.ipFamilies }}
ipFamilies: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
