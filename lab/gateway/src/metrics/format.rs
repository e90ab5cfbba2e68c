//! Text formats of the metrics: OpenMetrics 1.0, and the older one of Prometheus for scrapers that do not
//! ask for the other.

use std::fmt::Write as _;

/// A format that a scraper accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Prometheus text format, version 0.0.4.
    Prometheus,
    OpenMetrics,
}

impl Format {
    /// The format that the headers `Accept` of a request ask for (RFC 9110 §12.5.1): OpenMetrics if
    /// it is named and preferred.
    pub(crate) fn negotiated<'a>(accept: impl Iterator<Item = &'a str>) -> Self {
        let (mut open_metrics, mut text) = (0.0_f32, 0.0_f32);
        for range in accept.flat_map(|value| value.split(',')) {
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
            let weight = parts.filter_map(|part| part.split_once('=')).find_map(|(name, value)| {
                name.trim().eq_ignore_ascii_case("q").then(|| value.trim().parse().unwrap_or(0.0))
            });
            let weight: f32 = weight.unwrap_or(1.0);
            match kind.as_str() {
                "application/openmetrics-text" => open_metrics = open_metrics.max(weight),
                "text/plain" => text = text.max(weight),
                _ => {}
            }
        }
        if open_metrics > 0.0 && open_metrics >= text {
            Self::OpenMetrics
        } else {
            Self::Prometheus
        }
    }

    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// A text of OpenMetrics in the text format of Prometheus: families of counters and infos are called as
/// their samples, types that it lacks are the nearest, units are left out. Exemplars there are none.
pub(crate) fn prometheus_text(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len());
    // Written with the type, which tells the name of the family.
    let mut help: Option<(&str, &str)> = None;
    for line in open_metrics.lines() {
        if let Some(found) = line.strip_prefix("# HELP ") {
            help = found.split_once(' ');
        } else if let Some(found) = line.strip_prefix("# TYPE ") {
            let (family, kind) = found.split_once(' ').unwrap_or((found, "unknown"));
            let (suffix, kind) = match kind {
                "counter" => ("_total", "counter"),
                "info" => ("_info", "gauge"),
                "stateset" => ("", "gauge"),
                "gaugehistogram" | "unknown" => ("", "untyped"),
                kind => ("", kind),
            };
            if let Some((_, words)) = help.take().filter(|(of, _)| *of == family) {
                let _ = writeln!(text, "# HELP {family}{suffix} {words}");
            }
            let _ = writeln!(text, "# TYPE {family}{suffix} {kind}");
        } else if !line.starts_with('#') {
            let _ = writeln!(text, "{line}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_metrics_is_sent_to_those_who_ask_for_it() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.6,\
                          application/openmetrics-text;version=0.0.1;q=0.5,\
                          text/plain;version=1.0.0;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        for (accept, format) in [
            (&[prometheus][..], Format::OpenMetrics),
            (&["application/openmetrics-text"], Format::OpenMetrics),
            (&["text/plain", "Application/OpenMetrics-Text ; q=1"], Format::OpenMetrics),
            (&[], Format::Prometheus),
            (&["*/*"], Format::Prometheus),
            (&["text/plain;version=0.0.4"], Format::Prometheus),
            (&["text/html"], Format::Prometheus),
            (&["application/openmetrics-text;q=0, */*"], Format::Prometheus),
            (&["application/openmetrics-text;q=0.1, text/plain;q=0.9"], Format::Prometheus),
            (&["application/openmetrics-text;q=much"], Format::Prometheus),
        ] {
            assert_eq!(Format::negotiated(accept.iter().copied()), format, "{accept:?}");
        }
    }

    #[test]
    fn families_are_called_as_their_samples() {
        let open_metrics = "# HELP calls Calls.\n# TYPE calls counter\ncalls_total{a=\"# {\"} 1\n\
                            # HELP build Of it.\n# TYPE build info\nbuild_info{v=\"1\"} 1\n\
                            # HELP delay Delay.\n# TYPE delay histogram\n# UNIT delay seconds\n\
                            delay_bucket{le=\"1.0\"} 1\ndelay_count 1\n\
                            # TYPE raw unknown\nraw 3\n# EOF\n";
        let expected = "# HELP calls_total Calls.\n# TYPE calls_total counter\ncalls_total{a=\"# {\"} 1\n\
                        # HELP build_info Of it.\n# TYPE build_info gauge\nbuild_info{v=\"1\"} 1\n\
                        # HELP delay Delay.\n# TYPE delay histogram\n\
                        delay_bucket{le=\"1.0\"} 1\ndelay_count 1\n\
                        # TYPE raw untyped\nraw 3\n";
        assert_eq!(prometheus_text(open_metrics), expected);
    }
}
