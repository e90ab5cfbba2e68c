{{/* Certificates and the access file. */}}

{{/* Identities that need a certificate, as YAML: Service of each (empty for clients alone). */}}
{{- define "sojourn.identities" -}}
{{- if .Values.controller.enabled }}
controller: controller
{{- end }}
{{- if .Values.forecaster.enabled }}
forecaster: forecaster
{{- end }}
{{- if include "sojourn.gatewayComponent" . }}
gateway: gateway
{{- end }}
{{- if .Values.training.enabled }}
training: training
{{- end }}
monitoring: monitoring
doctor: doctor
{{- end }}

{{/* Name of an identity in its certificate and in the access file. Arguments: root context, identity. */}}
{{- define "sojourn.certificateName" -}}
{{- include "sojourn.host" (list (index . 0) (printf "%s-%s" (include "sojourn.fullname" (index . 0)) (index . 1))) }}
{{- end }}

{{/* DNS names of a certificate, as a YAML list. Arguments: root context, identity. */}}
{{- define "sojourn.dnsNames" -}}
{{- $root := index . 0 }}{{- $name := printf "%s-%s" (include "sojourn.fullname" $root) (index . 1) -}}
- {{ include "sojourn.certificateName" . }}
- {{ $name }}
- {{ $name }}.{{ $root.Release.Namespace }}
- {{ $name }}.{{ $root.Release.Namespace }}.svc.{{ $root.Values.clusterDomain }}
- localhost
{{- end }}

{{/* Secret of an identity. */}}
{{- define "sojourn.tlsSecret" -}}
{{- $root := index . 0 }}{{- $identity := index . 1 }}
{{- if eq $root.Values.tls.mode "secrets" }}
{{- required (printf "tls.secrets.%s: missing; expected the name of a Secret with tls.crt, tls.key and ca.crt" $identity) (get $root.Values.tls.secrets $identity) }}
{{- else }}
{{- printf "%s-%s-tls" (include "sojourn.fullname" $root) $identity }}
{{- end }}
{{- end }}

{{- define "sojourn.accessUsed" -}}
{{- and .Values.access.enabled (ne .Values.tls.mode "none") }}
{{- end }}

{{- define "sojourn.accessSecret" -}}
{{- .Values.access.existingSecret | default (printf "%s-access" (include "sojourn.fullname" .)) }}
{{- end }}

{{/*
Settings of a server, to be merged into its section: IPv6 and IPv4, and IPv4 alone where there is no IPv6.
Arguments: root context, port.
*/}}
{{- define "sojourn.server" -}}
listen: "[::]:{{ index . 1 }}"
{{- if eq (index . 0).Values.tls.mode "none" }}
insecure: true
{{- else }}
certificate_file: /etc/sojourn/tls/tls.crt
key_file: /etc/sojourn/tls/tls.key
client_ca_file: /etc/sojourn/tls/ca.crt
{{- end }}
{{- end }}

{{/* The same of an HTTP server, with the names of its Service. Arguments: root context, port, name of the Service. */}}
{{- define "sojourn.httpServer" -}}
{{- include "sojourn.server" . }}
{{- if eq (index . 0).Values.tls.mode "none" }}
allowed_hosts: [{{ include "sojourn.serviceNames" (list (index . 0) (index . 2)) }}]
{{- end }}
{{- end }}

{{/* Settings of a client. Arguments: root context, address, expected name in the certificate (optional). */}}
{{- define "sojourn.client" -}}
address: {{ index . 1 }}
{{- if eq (index . 0).Values.tls.mode "none" }}
insecure: true
{{- else }}
tls:
  enabled: true
  ca_file: /etc/sojourn/tls/ca.crt
  certificate_file: /etc/sojourn/tls/tls.crt
  key_file: /etc/sojourn/tls/tls.key
  {{- with index . 2 }}
  server_name: {{ . }}
  {{- end }}
{{- end }}
{{- end }}

{{/* Section of the access file. */}}
{{- define "sojourn.accessSettings" -}}
{{- if eq (include "sojourn.accessUsed" .) "true" -}}
access:
  file: /etc/sojourn/access/access.yaml
{{- end }}
{{- end }}

{{/* Flags of a client of the E2 gateway, as a YAML list. */}}
{{- define "sojourn.gatewayFlags" -}}
- --gateway={{ include "sojourn.gatewayAddress" . }}
{{- if eq .Values.tls.mode "none" }}
- --gateway-insecure
{{- else }}
- --gateway-tls
- --gateway-tls-ca-file=/etc/sojourn/tls/ca.crt
- --gateway-tls-certificate-file=/etc/sojourn/tls/tls.crt
- --gateway-tls-key-file=/etc/sojourn/tls/tls.key
{{- with .Values.gateway.serverName }}
- --gateway-tls-server-name={{ . }}
{{- end }}
{{- end }}
{{- end }}
