//! `gnb-lab reproduce`.

use std::io::{IsTerminal as _, Write as _};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;

use lab_forecast::{Program, Served};
use lab_gateway::cli::{Failure, command_line};
use lab_reproduce::{
    Inputs, Options, Paper, Progress, ReproduceError, Reproduction, Trained, papers,
};

use super::print_line;

/// Stands for every paper.
const ALL: &str = "all";
/// What serves a trained model.
const FORECASTER: &str = "rlc-forecaster";
const FORECASTER_ENV: &str = "GNB_LAB_FORECASTER";

/// Arguments of `gnb-lab reproduce`.
#[derive(Args, Debug)]
pub(super) struct ReproduceArgs {
    /// Paper, such as irazabal2021; `all` for every one.
    #[arg(value_name = "PAPER", required_unless_present = "list")]
    paper: Option<String>,

    /// List papers and experiments.
    #[arg(long)]
    list: bool,

    /// This experiment alone.
    #[arg(long, value_name = "E")]
    experiment: Option<String>,

    /// Seeds per scheme, in place of the experiment's own number.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeats: Option<u32>,

    /// Write the rows as a JSON array.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Folder for finished runs, rows, plots and a report, one within it per paper; a run that
    /// was interrupted goes on from there.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Runs at a time; as many as there are cores by default.
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    /// Folder with recorded radios, which some experiments need; `--list` says which files.
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,

    /// First seed.
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,

    /// End each run at this virtual time, s: to see all steps in short. What comes out is then not
    /// what the paper reports.
    #[arg(long, value_name = "S", value_parser = positive_s)]
    duration: Option<f64>,

    /// Model directory of rlc-train, for the rows of the trained model of stolidis2024; without it
    /// they are left out.
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,

    /// Program that serves the model; GNB_LAB_FORECASTER or rlc-forecaster by default, which is
    /// looked for beside this program and then on PATH.
    #[arg(long, value_name = "COMMAND", requires = "model")]
    forecaster: Option<PathBuf>,

    /// T_m of the model in place of the one measured at the start, µs. Rows depend on T_m; with this
    /// they are the same on any machine.
    #[arg(long, value_name = "US", requires = "model",
          value_parser = clap::value_parser!(u32).range(0..=10_000_000))]
    t_m_us: Option<u32>,
}

fn failure(error: ReproduceError) -> Failure {
    match error {
        ReproduceError::UnknownPaper { .. }
        | ReproduceError::UnknownExperiment { .. }
        | ReproduceError::TooShort { .. }
        | ReproduceError::Scenario { .. } => Failure::Input(error.to_string()),
        ReproduceError::Io { .. } | ReproduceError::Interrupted { .. } => {
            Failure::Machine(error.to_string())
        }
    }
}

/// Runs what was asked for and prints paper beside here.
pub(super) fn reproduce(args: &ReproduceArgs) -> Result<(), Failure> {
    if args.list {
        return list(args);
    }
    let wanted = args.paper.as_deref().unwrap_or(ALL);
    let chosen = match wanted {
        ALL => papers::ALL.to_vec(),
        name => vec![papers::by_name(name).map_err(failure)?],
    };
    if wanted == ALL && args.experiment.is_some() {
        return Err(Failure::Input("--experiment belongs to one paper, not to 'all'".to_owned()));
    }
    let stop = Arc::new(AtomicBool::new(false));
    let handler = Arc::clone(&stop);
    ctrlc::set_handler(move || handler.store(true, Ordering::Relaxed))
        .map_err(|error| Failure::Machine(format!("signal handler: {error}")))?;

    let command = command_line();
    let inputs = Inputs { trained: trained(args, &chosen)?, ..inputs(args) };
    let mut done = Vec::new();
    for paper in &chosen {
        let reproduction = one(paper, args, &inputs, &stop, &command)?;
        done.push(reproduction);
    }
    if let Some(path) = &args.json {
        lab_reproduce::write_json(path, &done).map_err(failure)?;
    }
    Ok(())
}

fn one(
    paper: &Paper,
    args: &ReproduceArgs,
    inputs: &Inputs,
    stop: &AtomicBool,
    command: &str,
) -> Result<Reproduction, Failure> {
    let folder = args.out.as_ref().map(|out| out.join(paper.name));
    let options = Options {
        experiment: args.experiment.clone(),
        repeats: args.repeats,
        jobs: args.jobs,
        seed: args.seed,
        duration_us: args.duration.map(|seconds| (seconds * 1e6).round() as u64),
        cache: folder.as_ref().map(|folder| folder.join("runs")),
        inputs: inputs.clone(),
    };
    let shown = std::io::stderr().is_terminal();
    let begun = std::time::Instant::now();
    let progress = |at: Progress| {
        if shown {
            let took_s = begun.elapsed().as_secs_f64();
            eprint!("\r{}: {} of {} runs, {took_s:.0} s ", paper.name, at.finished, at.total);
            // Progress that cannot be shown is not worth failing for.
            let _ = std::io::stderr().flush();
        }
    };
    let result = lab_reproduce::reproduce(paper, &options, stop, &progress);
    if shown {
        eprint!("\r{:60}\r", "");
    }
    let reproduction = result.map_err(failure)?;
    for note in &reproduction.notes {
        eprintln!("gnb-lab: {note}");
    }
    if reproduction.resumed > 0 {
        eprintln!("gnb-lab: {} finished runs were found and not run again", reproduction.resumed);
    }
    print_line(&lab_reproduce::text(&reproduction, command))?;
    if let Some(folder) = &folder {
        lab_reproduce::write_report(folder, &reproduction, command).map_err(failure)?;
        print_line(&format!("written to {}", folder.display()))?;
    }
    Ok(reproduction)
}

fn positive_s(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "expected a number of seconds".to_owned())?;
    if (1e-3..=1e6).contains(&seconds) {
        Ok(seconds)
    } else {
        Err("expected 0.001 to 1000000 s".to_owned())
    }
}

fn inputs(args: &ReproduceArgs) -> Inputs {
    Inputs { traces: args.traces.clone(), trained: None }
}

/// Asks the forecaster once what it serves and how long that takes.
fn trained(args: &ReproduceArgs, chosen: &[Paper]) -> Result<Option<Trained>, Failure> {
    let Some(model) = args.model.clone() else { return Ok(None) };
    if !chosen.iter().any(|paper| paper.takes_model) {
        let takers = papers::ALL.iter().filter(|paper| paper.takes_model).map(|paper| paper.name);
        let takers = takers.collect::<Vec<_>>().join(", ");
        return Err(Failure::Input(format!("--model is for {takers}")));
    }
    let program = Program { command: forecaster(args.forecaster.clone()), model };
    let measured: &[u32] = if args.t_m_us.is_some() { &[] } else { &papers::stolidis2024::BEARERS };
    let hello = Served::probe(&program, measured)
        .map_err(|error| Failure::Input(format!("--model: {error}")))?;
    let t_m: Vec<String> = match args.t_m_us {
        Some(us) => vec![format!("{us} µs as given")],
        None => measured
            .iter()
            .filter_map(|bearers| Some((bearers, hello.t_m_us(*bearers)?)))
            .map(|(bearers, us)| format!("{us} µs measured with {bearers} bearers"))
            .collect(),
    };
    eprintln!("gnb-lab: trained model {}, T_m {}", hello.model, t_m.join(", "));
    Ok(Some(Trained { program, hello, t_m_us: args.t_m_us }))
}

/// As named, or beside this program, or for the system to find on PATH.
fn forecaster(named: Option<PathBuf>) -> PathBuf {
    let named = named.or_else(|| std::env::var_os(FORECASTER_ENV).map(PathBuf::from));
    named.unwrap_or_else(|| {
        let beside =
            std::env::current_exe().ok().and_then(|path| Some(path.parent()?.join(FORECASTER)));
        beside.filter(|path| path.is_file()).unwrap_or_else(|| PathBuf::from(FORECASTER))
    })
}

fn list(args: &ReproduceArgs) -> Result<(), Failure> {
    for paper in papers::ALL {
        print_line(&format!("{}: {}", paper.name, paper.citation))?;
        for experiment in (paper.experiments)(&inputs(args)).map_err(failure)? {
            print_line(&format!(
                "  {:12} {} ({}; {} rows, {} seeds)",
                experiment.name,
                experiment.title,
                experiment.source,
                experiment.cells.len(),
                experiment.repeats,
            ))?;
        }
    }
    Ok(())
}
