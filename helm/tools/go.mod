// Helm and helm-unittest in versions that build together; `make chart-tools` builds them.
module sojourn/chart-tools

go 1.26

tool (
	github.com/helm-unittest/helm-unittest/cmd/helm-unittest
	helm.sh/helm/v3/cmd/helm
)

require (
	github.com/helm-unittest/helm-unittest v1.1.2
	helm.sh/helm/v3 v3.22.0
)

// `go install` ignores the replacement that helm-unittest needs.
replace github.com/vmware-labs/yaml-jsonpath => github.com/helm-unittest/yaml-jsonpath v0.4.0
