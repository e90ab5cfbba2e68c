//! The metrics that clients of Prometheus export for every process.

use std::fmt;

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, NoLabelSet},
    metrics::MetricType,
};

/// Reads `/proc` at scrape time; exports nothing where there is none.
#[derive(Debug)]
pub(super) struct ProcessCollector;

/// CPU time, then name, help and value of each gauge.
type Measured = (f64, Vec<(&'static str, &'static str, f64)>);

#[cfg(target_os = "linux")]
#[allow(clippy::cast_precision_loss)] // far below 2^52
fn measure() -> procfs::ProcResult<Measured> {
    use procfs::process::{LimitValue, Process};
    let process = Process::myself()?;
    let stat = process.stat()?;
    let ticks_per_s = procfs::ticks_per_second() as f64;
    let started_s = procfs::boot_time_secs()? as f64 + stat.starttime as f64 / ticks_per_s;
    let resident_bytes = (stat.rss * procfs::page_size()) as f64;
    let open_fds = process.fd_count()? as f64;
    let mut gauges = vec![
        ("process_resident_memory_bytes", "Resident memory.", resident_bytes),
        ("process_virtual_memory_bytes", "Virtual memory.", stat.vsize as f64),
        ("process_start_time_seconds", "Start of the process, Unix time.", started_s),
        ("process_open_fds", "Open file descriptors.", open_fds),
    ];
    if let LimitValue::Value(most) = process.limits()?.max_open_files.soft_limit {
        gauges.push(("process_max_fds", "Limit of open file descriptors.", most as f64));
    }
    Ok(((stat.utime + stat.stime) as f64 / ticks_per_s, gauges))
}

#[cfg(not(target_os = "linux"))]
fn measure() -> Result<Measured, ()> {
    Err(())
}

impl Collector for ProcessCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Ok((cpu_s, gauges)) = measure() else { return Ok(()) };
        encoder
            .encode_descriptor(
                "process_cpu_seconds",
                "User and system CPU time.",
                None,
                MetricType::Counter,
            )?
            .encode_counter::<NoLabelSet, f64, u64>(&cpu_s, None)?;
        for (name, help, value) in gauges {
            encoder.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(&value)?;
        }
        Ok(())
    }
}
