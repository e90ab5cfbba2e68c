//! Published orders hold, and a reproduction can be interrupted, resumed and repeated.

// clippy.toml allows these in test functions; shared functions of tests need them as well.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use lab_reproduce::{
    Inputs, Options, Paper, Progress, ReproduceError, Reproduction, Table, papers, reproduce,
    write_json,
};
use serde_json::Value;

fn run(paper: &str, options: &Options) -> Result<Reproduction, ReproduceError> {
    reproduce(&papers::by_name(paper).unwrap(), options, &AtomicBool::new(false), &|_| {})
}

fn experiment(name: &str, repeats: u32) -> Options {
    Options {
        experiment: Some(name.to_owned()),
        repeats: Some(repeats),
        seed: 1,
        ..Options::default()
    }
}

fn only(reproduction: Reproduction) -> Table {
    assert_eq!(reproduction.tables.len(), 1);
    reproduction.tables.into_iter().next().unwrap()
}

/// The static cell for a short time, for what holds however long a run is.
fn short(repeats: u32) -> Options {
    Options { duration_us: Some(10_000_000), ..experiment("static", repeats) }
}

/// Experiments that several tests read.
static STATIC: LazyLock<Table> =
    LazyLock::new(|| only(run("irazabal2021", &experiment("static", 5)).unwrap()));
static TRAIN: LazyLock<Table> =
    LazyLock::new(|| only(run("irazabal2021", &experiment("train", 3)).unwrap()));
static PEDESTRIAN: LazyLock<Table> =
    LazyLock::new(|| only(run("irazabal2021", &experiment("pedestrian", 3)).unwrap()));
static DYNAMIC_MCS: LazyLock<Table> =
    LazyLock::new(|| only(run("irazabal2024", &experiment("dynamic_mcs", 1)).unwrap()));

/// Schemes have the paper's order in a metric, except some.
fn assert_order(table: &Table, metric: &str, except: &[&str]) {
    let mut rows: Vec<_> = table
        .rows
        .iter()
        .filter(|row| row.metric == metric && row.paper.is_some() && row.here.is_some())
        .filter(|row| !except.contains(&row.scheme.as_str()))
        .collect();
    assert!(rows.len() > 2, "{metric}: {} rows", rows.len());
    rows.sort_by(|a, b| a.paper.unwrap().total_cmp(&b.paper.unwrap()));
    for pair in rows.windows(2) {
        assert!(
            pair[0].here < pair[1].here || pair[0].paper == pair[1].paper,
            "{metric}: {} {:?} is not below {} {:?}",
            pair[0].scheme,
            pair[0].here,
            pair[1].scheme,
            pair[1].here
        );
    }
}

#[test]
fn the_schemes_of_irazabal2021_have_the_order_of_table_2() {
    for metric in ["voip_below_1ms", "tcp_goodput", "used_rb"] {
        // DynRLC stays at its target of 3 ms here, far below it in the paper.
        assert_order(&STATIC, metric, &["DynRLC"]);
    }
}

#[test]
fn the_delays_of_train_and_pedestrian_have_the_order_of_table_3() {
    for table in [&TRAIN, &PEDESTRIAN] {
        assert_order(table, "voip_mean", &[]);
    }
}

#[test]
fn the_sojourn_template_beats_the_best_scheme_of_irazabal2021_and_is_near_the_floor() {
    for (name, table) in [("static", &STATIC), ("train", &TRAIN), ("pedestrian", &PEDESTRIAN)] {
        let here = |scheme, metric| table.here(scheme, metric).unwrap();
        // A queue that is short for the download too runs empty at times where the rate changes tenfold;
        // the download of e5G-BDP waits without a bound.
        let part = if name == "static" { 0.99 } else { 0.95 };
        assert!(here("Sojourn", "used_rb") >= 100.0 * part, "{name}");
        let goodput = here("e5G-BDP", "tcp_goodput");
        assert!(here("Sojourn", "tcp_goodput") >= part * goodput, "{name}");
        if name == "static" {
            // Answers of calls do not come at equal intervals behind an uplink that is granted on request:
            // no packet of the download is kept back for them.
            let shared = here("Floor, shared RLC", "voip_below_1ms");
            let own = here("Sojourn", "voip_below_1ms");
            assert!(own >= shared - 1.0, "{own} {shared}");
            assert_eq!(here("Floor", "voip_below_1ms"), 100.0);
        } else {
            // Below it with the MCS of a train; with a pedestrian's where calls keep their intervals.
            let part = if name == "train" { 1.0 } else { 1.05 };
            assert!(here("Sojourn", "voip_mean") < part * here("e5G-BDP", "voip_mean"), "{name}");
            assert!(here("Floor", "voip_mean") < here("Sojourn", "voip_mean"), "{name}");
            let shared = here("Floor, shared RLC", "voip_mean");
            let own = here("Sojourn", "voip_mean");
            assert!(own < 1.05 * shared, "{name}: {own} {shared}");
        }
        assert_eq!(here("Floor", "used_rb").round(), 100.0);
        let goodput_of_a_floor =
            table.rows.iter().find(|row| row.scheme == "Floor" && row.metric == "tcp_goodput");
        assert_eq!(goodput_of_a_floor.unwrap().here, None, "a floor has no sender");
    }
}

#[test]
fn where_calls_keep_their_intervals_the_sojourn_template_beats_the_best_scheme_and_the_shared_floor()
 {
    let table = only(run("irazabal2021", &experiment("prescheduled", 5)).unwrap());
    let here = |scheme: &str, radio: &str, metric: &str| {
        table.here(&format!("{scheme}, {radio}"), metric).unwrap()
    };
    let below_1ms = |scheme| here(scheme, "static", "voip_below_1ms");
    assert!(below_1ms("Sojourn") >= 99.0);
    assert!(below_1ms("Sojourn") > below_1ms("e5G-BDP"));
    assert!(here("Sojourn", "static", "used_rb") >= 99.5);
    let mean = |scheme| here(scheme, "pedestrian", "voip_mean");
    assert!(mean("Sojourn") < mean("e5G-BDP"));
    assert!(mean("Floor") < mean("Sojourn"));
    assert!(mean("Sojourn") < 1.05 * mean("Floor, shared RLC"));
}

#[test]
fn the_pings_of_irazabal2024_are_at_their_floor_with_the_sojourn_template() {
    let here = |scheme, metric| DYNAMIC_MCS.here(scheme, metric).unwrap();
    assert!(here("Sojourn", "used_rb") >= 90.0);
    assert!(here("Sojourn", "ping_mean") <= 15.0);
    assert!(here("Sojourn", "ping_mean") < here("FQ-CoDel, mended", "ping_mean"));
    assert!(here("Sojourn", "ping_mean") <= here("Floor", "ping_mean") + 0.1);
}

#[test]
fn the_elastic_partition_delays_calls_less_than_the_fixed_one() {
    let table = only(run("irazabal2021", &experiment("table6", 3)).unwrap());
    for share in [25, 50, 75] {
        let below_1ms =
            |scheduler| table.here(&format!("{share} % {scheduler}"), "voip_below_1ms").unwrap();
        assert!(below_1ms("EQP") > below_1ms("FP"), "{share} %");
    }
    let goodput = |share| table.here(&format!("{share} % EQP"), "tcp_goodput").unwrap();
    assert!(goodput(25) < goodput(50) && goodput(50) < goodput(75));
}

/// The schemes of a metric from the least to the greatest value here.
fn by_value<'a>(table: &'a Table, metric: &str) -> Vec<&'a str> {
    let rows = table.rows.iter().filter(|row| row.metric == metric && row.paper.is_some());
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by(|a, b| a.here.unwrap().total_cmp(&b.here.unwrap()));
    rows.into_iter().map(|row| row.scheme.as_str()).collect()
}

#[test]
fn flows_of_irazabal2024_share_by_their_pipelines() {
    for (name, scheme, own, others) in
        [("slicing", "50-50 %", 20.0, 20.0), ("shaper", "15 Mbit/s", 15.0, 25.0)]
    {
        let table = only(run("irazabal2024", &experiment(name, 1)).unwrap());
        for (metric, paper) in [("own_goodput", own), ("others_goodput", others)] {
            let here = table.here(scheme, metric).unwrap();
            assert!((here / paper - 1.0).abs() < 0.05, "{name}, {metric}: {here}");
            let vanilla = table.here("Vanilla", metric).unwrap();
            assert!((vanilla / paper - 1.0).abs() > 0.2, "{name}, {metric}: {vanilla} without it");
        }
    }
}

#[test]
fn codel_and_5g_bdp_reduce_the_delay_of_irazabal2024_without_throughput_loss() {
    let table = only(run("irazabal2024", &experiment("low_latency", 1)).unwrap());
    let here = |scheme, metric| table.here(scheme, metric).unwrap();
    assert!(here("Vanilla", "rlc_peak") > 1.5 && here("Vanilla", "ping_max") > 300.0);
    let (codel, shallow) = ("CoDel + 5G-BDP", "CoDel + 5G-BDP at 300 ms");
    assert!(here(codel, "rlc_peak") < 0.05 && here(shallow, "rlc_peak") < 0.05);
    assert!(here(codel, "ping_mean") < here("Vanilla", "ping_mean") / 10.0);
    assert!(here(shallow, "ping_max") < 60.0, "{}", here(shallow, "ping_max"));
    for scheme in [codel, shallow] {
        assert!(here(scheme, "tcp_goodput") > here("Vanilla", "tcp_goodput") * 0.98, "{scheme}");
    }
}

#[test]
fn the_xapp_of_irazabal2024_keeps_the_game_playable() {
    let table = only(run("irazabal2024", &experiment("game", 1)).unwrap());
    let here = |scheme, metric| table.here(scheme, metric).unwrap();
    assert!(here("Vanilla", "rlc_sojourn_max") > 1_000.0);
    assert!(here("xApp", "ping_mean") < 20.0);
    assert!(here("xApp", "tcp_goodput") >= 30.0);
    let to_screen = |scheme| here(scheme, "action_to_screen_p99");
    assert!(to_screen("Vanilla") > 1_000.0 && to_screen("xApp") < 200.0);
}

#[test]
fn cubic_alone_bloats_the_rlc_of_irazabal2024_while_the_channel_improves() {
    let table = &DYNAMIC_MCS;
    assert_eq!(by_value(table, "ping_mean").last(), Some(&"Cubic"));
    assert_eq!(by_value(table, "used_rb").last(), Some(&"Cubic"));
    let cubic = table.here("Cubic", "ping_mean").unwrap();
    for scheme in ["BBRv2", "Prague", "FQ-CoDel"] {
        let here = table.here(scheme, "ping_mean").unwrap();
        assert!(
            here < cubic / 7.0,
            "{scheme}: {here} ms beside {cubic} ms, in the paper a seventh"
        );
    }
}

#[test]
fn a_fixed_rlc_buffer_of_kumar2018_is_best_between_48_and_64_sdus() {
    let table = only(run("kumar2018", &experiment("buffer", 1)).unwrap());
    let here = |scheme, metric| table.here(scheme, metric).unwrap();
    let large = "large, no PDCP queues";
    assert!(here("32 SDUs", "tcp_goodput") < 0.85 * here(large, "tcp_goodput"));
    assert!(here("64 SDUs", "tcp_goodput") > 0.95 * here(large, "tcp_goodput"));
    assert!(here("64 SDUs", "ping_rtt") < 0.1 * here(large, "ping_rtt"));
    assert!(here("128 SDUs", "ping_rtt") > 1.5 * here("64 SDUs", "ping_rtt"));
}

#[test]
fn dyn_rlc_keeps_the_delay_when_another_ue_takes_half_the_cell() {
    let table = only(run("kumar2018", &experiment("second-ue", 1)).unwrap());
    let at = |mbps: u32, metric| table.here(&format!("γ 25 ms, {mbps} Mbit/s"), metric).unwrap();
    assert!(at(12, "tcp_goodput") < 0.55 * at(0, "tcp_goodput"));
    let ratio = at(12, "ping_rtt") / at(0, "ping_rtt");
    assert!((0.8..1.25).contains(&ratio), "{ratio}");
}

/// An experiment over recorded traces; `None` without them.
#[allow(clippy::print_stdout)]
fn over_traces(name: &str) -> Option<Table> {
    let root = std::env::var("SOJOURN_SHARED").map_or_else(
        |_| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        std::path::PathBuf::from,
    );
    let traces = Some(root.join("traces"));
    let options = Options { inputs: Inputs { traces, ..Inputs::default() }, ..experiment(name, 1) };
    let table = only(run("abbasloo2019", &options).unwrap());
    if let Some(missing) = table.missing.first() {
        println!("skipped: {missing}");
        return None;
    }
    Some(table)
}

#[test]
fn bode_alone_bounds_a_call_when_the_link_of_abbasloo2019_falls_to_a_tenth() {
    let table = only(run("abbasloo2019", &experiment("step", 1)).unwrap());
    let worst_s = |queue| table.here(queue, "queuing_delay_max").unwrap();
    assert!(worst_s("TailDrop") > 2.0, "{} s", worst_s("TailDrop"));
    // Packets of 1500 bytes take 20 ms each once the link is slow.
    assert!(worst_s("BoDe") < 0.16, "{} s", worst_s("BoDe"));
    assert!(worst_s("CoDel") > 2.0 * worst_s("BoDe") && worst_s("PIE") > worst_s("CoDel"));
}

#[test]
fn classes_of_abbasloo2019_keep_their_bounds_with_bode_and_not_with_fifo() {
    let Some(table) = over_traces("diffserv") else { return };
    for (class, bound_ms) in [("class_1", 50.0), ("class_2", 100.0)] {
        let p95_ms = |scheme| table.here(scheme, &format!("{class}_p95_delay")).unwrap();
        assert!(p95_ms("DiffServ+BoDe") <= bound_ms, "{class}: {}", p95_ms("DiffServ+BoDe"));
        assert!(p95_ms("DiffServ+FIFO") > bound_ms, "{class}: {}", p95_ms("DiffServ+FIFO"));
        let within = table.here("DiffServ+BoDe", &format!("{class}_within_bound")).unwrap();
        assert!(within > 99.0, "{class}: {within} %");
    }
}

#[test]
fn bode_of_abbasloo2019_drops_more_and_delivers_most_packets_sooner() {
    let Some(table) = over_traces("retransmissions") else { return };
    let here = |scheme, metric| table.here(scheme, metric).unwrap();
    for other in ["TailDrop", "HeadDrop", "CoDel", "PIE"] {
        assert!(here("BoDe", "retransmitted") > here(other, "retransmitted"), "{other}");
        assert!(here("BoDe", "p50_overall_delay") < here(other, "p50_overall_delay"), "{other}");
    }
}

#[test]
fn rows_are_the_same_whatever_the_number_of_jobs() {
    let rows = |jobs| {
        let jobs = NonZeroUsize::new(jobs);
        let options = Options { jobs, ..short(2) };
        only(run("irazabal2021", &options).unwrap()).rows
    };
    assert_eq!(rows(1), rows(7));
}

#[test]
fn another_seed_gives_other_rows() {
    let rows = |seed| only(run("irazabal2021", &Options { seed, ..short(1) }).unwrap()).rows;
    assert_ne!(rows(1), rows(2));
}

#[test]
fn json_rows_have_the_agreed_shape() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.json");
    let done = run("irazabal2021", &short(2)).unwrap();
    write_json(&file, &[done]).unwrap();
    let rows: Vec<Value> = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert!(rows.len() >= 12, "{}", rows.len());
    for row in &rows {
        for key in ["experiment", "scheme", "metric", "unit", "source"] {
            assert!(row[key].as_str().is_some_and(|text| !text.is_empty()), "{key}: {row}");
        }
        assert!(row["paper"].is_number() || row["paper"].is_null(), "{row}");
        if row["here"].is_null() {
            // A floor has no sender, so no rate.
            assert!(row["scheme"].as_str().unwrap().starts_with("Floor"), "{row}");
            continue;
        }
        let (min, here, max) = (
            row["min"].as_f64().unwrap(),
            row["here"].as_f64().unwrap(),
            row["max"].as_f64().unwrap(),
        );
        assert!(min <= here && here <= max, "{row}");
        assert_eq!(row["repeats"], 2);
    }
    assert!(rows.iter().any(|row| row["scheme"] == "e5G-BDP" && row["paper"] == 95.0));
}

/// Stops after a number of finished runs.
fn interrupted(paper: &Paper, options: &Options, after: usize) -> ReproduceError {
    let stop = AtomicBool::new(false);
    let progress = |at: Progress| {
        if at.finished >= after {
            stop.store(true, Ordering::Relaxed);
        }
    };
    reproduce(paper, options, &stop, &progress).unwrap_err()
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut all: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

#[test]
fn an_interrupted_reproduction_resumes() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("runs");
    let jobs = NonZeroUsize::new(1);
    let options = Options { cache: Some(cache.clone()), jobs, ..short(2) };
    let paper = papers::by_name("irazabal2021").unwrap();
    let error = interrupted(&paper, &options, 3);
    let ReproduceError::Interrupted { finished: 3, total, kept: Some(kept) } = &error else {
        panic!("{error}");
    };
    assert_eq!((kept, files(&cache).len()), (&cache, 3));

    let resumed = run("irazabal2021", &options).unwrap();
    assert_eq!((resumed.resumed, files(&cache).len()), (3, *total));
    let fresh = run("irazabal2021", &Options { cache: None, ..options }).unwrap();
    assert_eq!(fresh.resumed, 0);
    assert_eq!(only(resumed).rows, only(fresh).rows);
}

#[test]
fn a_damaged_result_is_reported_and_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { cache: Some(folder.path().to_owned()), ..short(1) };
    let before = run("irazabal2021", &options).unwrap();
    let victim = &files(folder.path())[0];
    let whole = fs::read(victim).unwrap();
    fs::write(victim, &whole[..whole.len() / 2]).unwrap();
    let after = run("irazabal2021", &options).unwrap();
    assert_eq!(after.warnings.len(), 1, "{:?}", after.warnings);
    assert!(after.warnings[0].contains(&*victim.display().to_string()), "{}", after.warnings[0]);
    assert!(after.warnings[0].ends_with("it was run again"), "{}", after.warnings[0]);
    assert_eq!(fs::read(victim).unwrap(), whole, "it is whole again");
    assert_eq!(only(before).rows, only(after).rows);
}

#[test]
fn the_sets_of_stolidis2024_differ_as_in_its_figures() {
    let table = only(run("stolidis2024", &experiment("sets", 1)).unwrap());
    let here = |scheme, metric| table.here(scheme, metric).unwrap();
    let monolithic = here("DRQL, monolithic", "throughput");
    for original in ["original, monolithic", "original, disaggregated"] {
        assert!(here(original, "rtt_linearity") > 0.99 && here(original, "rtt_growth") > 50.0);
        assert!((here(original, "throughput") / monolithic - 1.0).abs() < 0.02);
    }
    let querying = "DRQL, disaggregated, asking the DU";
    assert!(here(querying, "throughput") < 0.05 * monolithic);
    // "The additional 20 ms of the average RTT in the disaggregated environment occurs due to the
    // additional T_c" (§IV-E2), and nothing else where the forecast makes no error.
    let perfect = "DRQL with forecast, perfect";
    assert!(here(perfect, "throughput") > 0.98 * monolithic);
    let more_ms = here(perfect, "ping_rtt") - here("DRQL, monolithic", "ping_rtt");
    assert!((15.0..26.0).contains(&more_ms), "{more_ms} ms");
    // On a radio that does not change, what was long ago is lost in more packets, no more.
    let late = "DRQL with forecast, 400 ms late";
    assert!(here(late, "throughput") > 0.9 * monolithic);
    assert!(here(late, "rlc_dropped") > here(perfect, "rlc_dropped"));
    assert_eq!(here("DRQL, monolithic", "rlc_dropped"), 0.0);
}

#[test]
fn sdus_of_kumar2018_leave_in_one_block_per_status_pdu() {
    let table = only(run("kumar2018", &experiment("blocks", 1)).unwrap());
    let here = |scheme, metric| table.here(scheme, metric).unwrap();
    let scheme = "γ 25 ms, DLT 40 ms";
    let gap_ms = here(scheme, "block_gap");
    // "Occasionally larger gaps between burst transmissions, never shorter ones" than γ and SRP.
    assert!((25.0..36.0).contains(&gap_ms), "{gap_ms} ms");
    let sdus = here(scheme, "block_sdus");
    assert!((30.0..50.0).contains(&sdus), "{sdus}");
    assert!(here("γ 10 ms, DLT 40 ms", "block_sdus") < 0.8 * sdus);
}

/// A folder with two recorded radios and a file that is none.
fn recorded_radios() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    // 12 Mbit/s for half a second, then 3.
    let fast = (1..=500).map(|ms| format!("{ms}\n"));
    let slow = (501..=1_000).step_by(4).map(|ms| format!("{ms}\n"));
    let lines: String = fast.chain(slow).collect();
    fs::create_dir(folder.path().join("drive")).unwrap();
    fs::write(folder.path().join("drive/radio.down"), lines).unwrap();
    let csv = "Timestamp,CQI\n2019.12.16_12.27.05,9\n2019.12.16_12.27.06,9\n";
    fs::write(folder.path().join("walk.csv"), csv).unwrap();
    fs::write(folder.path().join("README.md"), "# Radios\n").unwrap();
    folder
}

#[test]
fn who_knows_a_recorded_radio_fills_it_and_leaves_less_in_the_rlc() {
    let folder = recorded_radios();
    let traces = Some(folder.path().to_owned());
    let options = Options {
        inputs: Inputs { traces, ..Inputs::default() },
        duration_us: Some(6_000_000),
        ..experiment("recorded", 1)
    };
    let table = only(run("stolidis2024", &options).unwrap());
    let here = |scheme: &str, metric| table.here(scheme, metric).unwrap();
    let radios = ["drive/radio.down", "walk.csv"];
    // Both ways over F1-U and two slots of the slow half.
    for (t_c, most_ms) in [("T_c 10 ms", 28.0), ("T_c 40 ms", 88.0)] {
        let future = format!("UDP, {t_c}, true future");
        for radio in radios {
            let share = format!("{future} over UDP, low_latency, monolithic, {radio}");
            let longer = format!("{future} less UDP, low_latency, monolithic, {radio}");
            assert!(here(&share, "goodput") > 0.98, "{share}: {}", here(&share, "goodput"));
            assert!(here(&longer, "ping_rtt") < most_ms, "{longer}: {}", here(&longer, "ping_rtt"));
        }
        let in_rlc_ms =
            |scheme| here(&format!("UDP, {t_c}, {scheme}, {}", radios[0]), "rlc_sojourn");
        for other in ["status each TTI", "persistence", "marginal distribution"] {
            assert!(in_rlc_ms("true future") < in_rlc_ms(other), "{t_c}: {other}");
        }
    }
    let each =
        |metric| radios.map(|radio| here(&format!("UDP, DRQL, monolithic, {radio}"), metric));
    let mean = each("goodput").iter().sum::<f64>() / 2.0;
    assert!((here("UDP, DRQL, monolithic", "goodput") - mean).abs() < 1e-9, "of both radios");
}

/// The targets of the round trip are met without a forecast, and a move at run time ends there.
#[test]
fn a_ping_on_a_drb_of_higher_priority_waits_for_f1_alone() {
    let folder = recorded_radios();
    let traces = Some(folder.path().to_owned());
    let options = Options {
        inputs: Inputs { traces, ..Inputs::default() },
        duration_us: Some(6_000_000),
        ..experiment("second-drb", 1)
    };
    let table = only(run("stolidis2024", &options).unwrap());
    let here = |scheme: &str, metric| table.here(scheme, metric).unwrap();
    for traffic in ["UDP", "TCP"] {
        for (t_c, most_ms) in [("T_c 10 ms", 25.0), ("T_c 40 ms", 85.0)] {
            let longer = |scheme: &str, radio: &str| {
                let of = format!("{traffic}, {t_c}, {scheme}");
                let over = format!("{traffic}, low_latency, monolithic");
                here(&format!("{of} less {over}, {radio}"), "ping_rtt")
            };
            for radio in ["drive/radio.down", "walk.csv"] {
                for scheme in ["second DRB", "second DRB, bulk unpaced"] {
                    let ms = longer(scheme, radio);
                    assert!(ms <= most_ms, "{traffic}, {t_c}, {scheme}, {radio}: {ms}");
                }
            }
            let radio = "drive/radio.down";
            let (one, second) = (longer("one DRB", radio), longer("second DRB", radio));
            assert!(one > second + 5.0, "{traffic}, {t_c}: {one} and {second}");
        }
    }
}

#[test]
fn without_recorded_radios_a_sentence_says_what_is_missing() {
    let table = only(run("stolidis2024", &experiment("recorded", 1)).unwrap());
    assert_eq!(table.missing, ["recorded radios: name their folder with --traces"]);
    let folder = tempfile::tempdir().unwrap();
    let options = |traces: &Path| Options {
        inputs: Inputs { traces: Some(traces.to_owned()), ..Inputs::default() },
        ..experiment("recorded", 1)
    };
    let table = only(run("stolidis2024", &options(folder.path())).unwrap());
    assert!(table.missing[0].contains("no recorded radio in"), "{:?}", table.missing);
    let error = run("stolidis2024", &options(&folder.path().join("none"))).unwrap_err();
    assert!(error.to_string().contains("none: "), "{error}");
}
