{{/* Peers of NetworkPolicies. */}}

{{/* Peers of this release, as a YAML list. Arguments: root context, programs. */}}
{{- define "sojourn.peers" -}}
{{- $root := index . 0 -}}
- podSelector:
    matchLabels:
      app.kubernetes.io/name: {{ include "sojourn.name" $root }}
      app.kubernetes.io/instance: {{ $root.Release.Name }}
    matchExpressions:
      - {key: app.kubernetes.io/component, operator: In, values: [{{ index . 1 | join ", " }}]}
{{- end }}

{{/* Egress rules of a component. Arguments: root context, component. */}}
{{- define "sojourn.egress" -}}
{{- $root := index . 0 }}{{- $component := index . 1 }}{{- $egress := $root.Values.networkPolicy.egress -}}
- ports:
  {{- range $egress.dnsPorts }}
    - {port: {{ . }}, protocol: UDP}
    - {port: {{ . }}, protocol: TCP}
  {{- end }}
- to:
    - podSelector:
        matchLabels:
          app.kubernetes.io/name: {{ include "sojourn.name" $root }}
          app.kubernetes.io/instance: {{ $root.Release.Name }}
{{- if eq $component "flexricBridge" }}
{{- with include "sojourn.peerOf" (list $root (include "sojourn.ricHost" $root) "flexricBridge.ric.host") }}
# E42. A Service of another port leads to the same port of its pods.
- ports: [{port: 36422, protocol: SCTP}]
  to: {{- . | nindent 4 }}
{{- end }}
{{- end }}
{{- with $root.Values.gateway.address }}
{{- with include "sojourn.peerOf" (list $root (include "sojourn.hostOf" .) "gateway.address") }}
- to: {{- . | nindent 4 }}
{{- end }}
{{- end }}
{{- if and (eq $component "training") (regexMatch "^https?://" $root.Values.training.mlflowUri) }}
{{- with include "sojourn.peerOf" (list $root (include "sojourn.hostOf" (get (urlParse $root.Values.training.mlflowUri) "host")) "training.mlflowUri") }}
- to: {{- . | nindent 4 }}
{{- end }}
{{- end }}
{{- with $egress.to }}
- to: {{- toYaml . | nindent 4 }}
{{- end }}
{{- end }}

{{/* The host of `host:port`, also of `[IPv6]:port` and of a host alone. */}}
{{- define "sojourn.hostOf" -}}
{{- regexReplaceAll "^\\[|\\]$" (regexReplaceAll ":[0-9]+$" . "") "" }}
{{- end }}

{{/*
Peer at which a host is, as a YAML list: an address, or the pods of a Service's namespace. NetworkPolicies do not know names, so
those of hosts outside the cluster are to be given in networkPolicy.egress.to; then the list is empty.
Arguments: root context, host, value that it comes from.
*/}}
{{- define "sojourn.peerOf" -}}
{{- $root := index . 0 }}{{- $host := index . 1 | trimSuffix "." }}
{{- $service := $host | trimSuffix (printf ".svc.%s" $root.Values.clusterDomain) | trimSuffix ".svc" | splitList "." }}
{{- if regexMatch "^[0-9.]+$" $host -}}
- ipBlock: {cidr: {{ $host }}/32}
{{- else if contains ":" $host -}}
- ipBlock: {cidr: "{{ $host }}/128"}
{{- else if eq (len $service) 1 -}}
- podSelector: {}
{{- else if eq (len $service) 2 -}}
- namespaceSelector:
    matchLabels: {kubernetes.io/metadata.name: {{ index $service 1 }}}
{{- else if not $root.Values.networkPolicy.egress.to }}
{{- fail (printf "%s: %s is no Service of the cluster, and a NetworkPolicy knows addresses only; expected its address in networkPolicy.egress.to, such as [{ipBlock: {cidr: 10.20.30.40/32}}]" (index . 2) $host) }}
{{- end }}
{{- end }}
