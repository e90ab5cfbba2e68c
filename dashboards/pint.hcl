# pint (github.com/cloudflare/pint): pint -c dashboards/pint.hcl -n -o lint dashboards/rules/*.yaml
checks {
  # Sums over days read the series of a faster group; one evaluation more or less does not matter.
  disabled = ["rule/dependency"]
}

rule {
  match {
    kind = "alerting"
  }
  annotation "summary" {
    severity = "bug"
    required = true
  }
  annotation "description" {
    severity = "bug"
    required = true
  }
  annotation "runbook_url" {
    severity = "bug"
    value    = "https://docs.sojourn.example/docs/runbooks/.+.html"
    required = true
  }
  annotation "dashboard_url" {
    severity = "bug"
    value    = "https://grafana.example/d/sojourn-.+"
    required = true
  }
  label "severity" {
    severity = "bug"
    value    = "critical|warning"
    required = true
  }
  for {
    severity = "bug"
    min      = "1m"
  }
}
