//! `gnb-lab reproduce`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use clap::Args;

use lab_forecast::{DRAIN_QUANTILE, Program, Served};
use lab_gateway::cli::{Failure, command_line, quantile};
use lab_reproduce::{
    IdentityError, Inputs, Options, Paper, ReproduceError, Reproduction, Trained, papers,
};

use super::progress::RunsLine;
use super::{positive_s, print_line, stop_on_signal};

/// Name for all papers.
const ALL: &str = "all";
/// Program that serves a trained model.
const FORECASTER: &str = "rlc-forecaster";
const FORECASTER_ENV: &str = "GNB_LAB_FORECASTER";

/// Arguments of `gnb-lab reproduce`.
#[derive(Args, Debug)]
pub(super) struct ReproduceArgs {
    /// Paper, such as irazabal2021, or `all`.
    #[arg(value_name = "PAPER", required_unless_present = "list")]
    paper: Option<String>,

    /// List papers and experiments.
    #[arg(long, help_heading = "Experiments")]
    list: bool,

    /// Run this experiment only.
    #[arg(long, value_name = "E", help_heading = "Experiments")]
    experiment: Option<String>,

    /// Seeds per scheme, instead of the experiment's number.
    #[arg(long, value_name = "N", help_heading = "Experiments",
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeats: Option<u32>,

    /// First seed.
    #[arg(long, value_name = "S", default_value_t = 1, help_heading = "Experiments")]
    seed: u64,

    /// End each run at this virtual time, to test all steps quickly; results then differ from the
    /// paper's.
    #[arg(long, value_name = "SECONDS", value_parser = positive_s,
          allow_negative_numbers = true, help_heading = "Experiments")]
    duration: Option<f64>,

    /// Folder with the recorded radio traces that some experiments need; `--list` names the files.
    #[arg(long, value_name = "DIR", help_heading = "Experiments")]
    traces: Option<PathBuf>,

    /// Number of runs in parallel. Default: number of cores.
    #[arg(long, value_name = "N", help_heading = "Experiments")]
    jobs: Option<NonZeroUsize>,

    /// Write the rows as a JSON array.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    json: Option<PathBuf>,

    /// Folder for finished runs, rows, plots and a report, with one subfolder per paper; an
    /// interrupted reproduction resumes from it.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,

    /// Model directory of rlc-train, for the trained-model rows of stolidis2024; these rows are
    /// omitted if unset.
    #[arg(long, value_name = "DIR", help_heading = "Trained model")]
    model: Option<PathBuf>,

    /// Program that serves the model. Default: GNB_LAB_FORECASTER if set, else rlc-forecaster beside
    /// this program, else rlc-forecaster on PATH.
    #[arg(long, value_name = "COMMAND", requires = "model", help_heading = "Trained model")]
    forecaster: Option<PathBuf>,

    /// T_m of the model, µs, instead of the one measured at the start. Rows depend on T_m; if set,
    /// they are the same on every machine.
    #[arg(long, value_name = "US", requires = "model", help_heading = "Trained model",
          value_parser = clap::value_parser!(u32).range(0..=10_000_000))]
    t_m_us: Option<u32>,

    /// Quantile of the forecast drain that the CU's pacer is fed, above 0 and below 1: higher loses
    /// less of the radio and delays more. Between the model's quantiles it is interpolated, beyond
    /// them it is refused.
    #[arg(long, value_name = "Q", requires = "model", help_heading = "Trained model",
          default_value_t = DRAIN_QUANTILE, value_parser = quantile)]
    drain_quantile: f32,
}

fn failure(error: ReproduceError) -> Failure {
    match error {
        ReproduceError::UnknownPaper { .. }
        | ReproduceError::Paper { .. }
        | ReproduceError::UnknownExperiment { .. }
        | ReproduceError::TooShort { .. }
        | ReproduceError::Scenario { .. }
        | ReproduceError::Identity(IdentityError::Input { .. }) => {
            Failure::Input(error.to_string())
        }
        ReproduceError::Identity(IdentityError::Program { .. })
        | ReproduceError::Io { .. }
        | ReproduceError::Interrupted { .. } => Failure::Machine(error.to_string()),
    }
}

/// Runs the chosen experiments and prints their rows beside the paper's.
pub(super) fn reproduce(args: &ReproduceArgs) -> Result<(), Failure> {
    if args.list {
        return list(args);
    }
    let wanted = args.paper.as_deref().unwrap_or(ALL);
    let chosen = match wanted {
        ALL => papers::all().map_err(failure)?,
        name => vec![papers::by_name(name).map_err(failure)?],
    };
    if wanted == ALL && args.experiment.is_some() {
        return Err(Failure::Input("--experiment belongs to one paper, not to 'all'".to_owned()));
    }
    let stop = stop_on_signal()?;
    let command = command_line();
    let inputs = Inputs { trained: trained(args, &chosen)?, ..inputs(args) };
    let done = chosen
        .iter()
        .map(|paper| reproduce_paper(paper, args, &inputs, &stop, &command))
        .collect::<Result<Vec<_>, _>>()?;
    if let Some(path) = &args.json {
        lab_reproduce::write_json(path, &done).map_err(failure)?;
    }
    Ok(())
}

fn reproduce_paper(
    paper: &Paper,
    args: &ReproduceArgs,
    inputs: &Inputs,
    stop: &AtomicBool,
    command: &str,
) -> Result<Reproduction, Failure> {
    let folder = args.out.as_ref().map(|out| out.join(&paper.name));
    let options = Options {
        experiment: args.experiment.clone(),
        repeats: args.repeats,
        jobs: args.jobs,
        seed: args.seed,
        duration_us: args.duration.map(|seconds| (seconds * 1e6).round() as u64),
        cache: folder.as_ref().map(|folder| folder.join("runs")),
        inputs: inputs.clone(),
    };
    let line = RunsLine::new(&paper.name);
    let result = lab_reproduce::reproduce(paper, &options, stop, &|at| line.show(at));
    line.clear();
    let reproduction = result.map_err(failure)?;
    for warning in &reproduction.warnings {
        tracing::warn!("{warning}");
    }
    if reproduction.resumed > 0 {
        tracing::info!(runs = reproduction.resumed, "finished runs were reused");
    }
    print_line(&lab_reproduce::text(&reproduction, command))?;
    if let Some(folder) = &folder {
        lab_reproduce::write_report(folder, &reproduction, command).map_err(failure)?;
        print_line(&format!("written to {}", folder.display()))?;
    }
    Ok(reproduction)
}

fn inputs(args: &ReproduceArgs) -> Inputs {
    Inputs { traces: args.traces.clone(), trained: None }
}

/// Queries the forecaster for its model and inference time.
fn trained(args: &ReproduceArgs, chosen: &[Paper]) -> Result<Option<Trained>, Failure> {
    let Some(model) = args.model.clone() else { return Ok(None) };
    let bearers: Vec<u32> =
        chosen.iter().flat_map(|paper| paper.model_bearers.iter().copied()).collect();
    if bearers.is_empty() {
        let mut papers = papers::all().map_err(failure)?;
        papers.retain(|paper| !paper.model_bearers.is_empty());
        let papers: Vec<String> = papers.into_iter().map(|paper| paper.name).collect();
        return Err(Failure::Input(format!("--model is for {}", papers.join(", "))));
    }
    let program = Program { command: forecaster(args.forecaster.clone()), model };
    let measured: &[u32] = if args.t_m_us.is_some() { &[] } else { &bearers };
    let hello = Served::probe(&program, measured)
        .map_err(|error| Failure::Input(format!("--model: {error}")))?;
    if !hello.has_quantile(args.drain_quantile) {
        return Err(Failure::Input(format!(
            "--drain-quantile: {} is beyond the quantiles of {}; expected within {:?}",
            args.drain_quantile, hello.model, hello.quantiles
        )));
    }
    let t_m: Vec<String> = match args.t_m_us {
        Some(us) => vec![format!("{us} µs as given")],
        None => measured
            .iter()
            .filter_map(|bearers| Some((bearers, hello.t_m_us(*bearers)?)))
            .map(|(bearers, us)| format!("{us} µs measured with {bearers} bearers"))
            .collect(),
    };
    tracing::info!("trained model {}, T_m {}", hello.model, t_m.join(", "));
    let (t_m_us, drain_quantile) = (args.t_m_us, args.drain_quantile);
    Ok(Some(Trained { program, hello, t_m_us, drain_quantile }))
}

/// The command of `--forecaster`, by its defaults if unset.
fn forecaster(named: Option<PathBuf>) -> PathBuf {
    let named = named.or_else(|| std::env::var_os(FORECASTER_ENV).map(PathBuf::from));
    named.unwrap_or_else(|| {
        let beside =
            std::env::current_exe().ok().and_then(|path| Some(path.parent()?.join(FORECASTER)));
        beside.filter(|path| path.is_file()).unwrap_or_else(|| PathBuf::from(FORECASTER))
    })
}

fn list(args: &ReproduceArgs) -> Result<(), Failure> {
    for paper in papers::all().map_err(failure)? {
        print_line(&format!("{}: {}", paper.name, paper.citation))?;
        for experiment in paper.experiments(&inputs(args)).map_err(failure)? {
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
