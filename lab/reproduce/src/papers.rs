//! The papers: what their files say, as experiments.

use std::collections::HashSet;

use serde_json::Value;

use super::ReproduceError;
use super::cells::{Cells, Maker};
use super::document::{ComparisonRow, Comparisons, ExperimentFile, PaperFile};
use super::files::{document, names};
use super::measure::Measure;
use super::ordered::Ordered;
use super::plan::{Cell, Comparison, Experiment, Inputs};

/// A paper with its experiments.
#[derive(Clone, Debug)]
pub struct Paper {
    /// Name on the command line.
    pub name: String,
    /// Authors, title and venue.
    pub citation: String,
    /// Assumptions where the paper is not explicit, the same for every row.
    pub assumptions: Vec<String>,
    /// Numbers of bearers that a trained forecaster forecasts at a time in its experiments; none
    /// if they take no trained forecaster.
    pub model_bearers: Vec<u32>,
    file: PaperFile,
}

/// All papers, by name.
///
/// # Errors
/// [`ReproduceError::Paper`] if a file is invalid.
pub fn all() -> Result<Vec<Paper>, ReproduceError> {
    names().map(read).collect()
}

/// Finds a paper by name.
///
/// # Errors
/// [`ReproduceError::UnknownPaper`] with the known names; [`ReproduceError::Paper`] if its file is
/// invalid.
pub fn by_name(name: &str) -> Result<Paper, ReproduceError> {
    if names().any(|known| known == name) {
        return read(name);
    }
    let known = names().collect::<Vec<_>>().join(", ");
    Err(ReproduceError::UnknownPaper { name: name.to_owned(), known })
}

fn read(name: &str) -> Result<Paper, ReproduceError> {
    let file: PaperFile = document(&format!("papers/{name}/paper.yaml"))?;
    Ok(Paper {
        name: name.to_owned(),
        citation: file.citation.clone(),
        assumptions: file.assumptions.clone(),
        model_bearers: file.model_bearers.clone(),
        file,
    })
}

impl Paper {
    /// Its experiments, in the paper's order.
    ///
    /// # Errors
    /// [`ReproduceError::Paper`] with the place of what is wrong in a file; others if recordings
    /// cannot be read.
    pub fn experiments(&self, inputs: &Inputs) -> Result<Vec<Experiment>, ReproduceError> {
        self.file.experiments.iter().map(|name| self.experiment(name, inputs)).collect()
    }

    fn experiment(&self, name: &str, inputs: &Inputs) -> Result<Experiment, ReproduceError> {
        let path = format!("papers/{}/{name}.yaml", self.name);
        self.planned(name, &path, document(&path)?, inputs)
    }

    fn planned(
        &self,
        name: &str,
        path: &str,
        file: ExperimentFile,
        inputs: &Inputs,
    ) -> Result<Experiment, ReproduceError> {
        let (paper_name, paper) = (self.name.as_str(), &self.file);
        let metrics = self.metrics(&file, path)?;
        let occupancy = metrics.iter().any(|(_, measure)| measure.reads_occupancy())
            || file.curves.iter().any(|(_, series)| series.reads_occupancy());
        let experiment = &file;
        let maker = Maker { paper_name, file: path, paper, experiment, occupancy, inputs };
        let made = maker.cells()?;
        let comparisons = compared(&file.comparisons);
        check(&file, path, &metrics, &made, &comparisons)?;
        let here: HashSet<&str> = made.cells.iter().map(|cell| cell.scheme.as_str()).collect();
        let comparisons = comparisons
            .into_iter()
            .filter(|row| [&row.of, &row.over].iter().all(|name| here.contains(name.as_str())))
            .collect();
        Ok(Experiment {
            name: name.to_owned(),
            source: file.source,
            title: file.title,
            repeats: file.repeats,
            metrics,
            curves: file.curves,
            comparisons,
            reported: file.reported,
            figures: file.figures,
            cells: made.cells,
        })
    }

    /// The metrics of an experiment, the paper's where it has none of its own.
    fn metrics(
        &self,
        file: &ExperimentFile,
        path: &str,
    ) -> Result<Ordered<Measure>, ReproduceError> {
        let measure = |(name, own): (&str, &Option<Measure>)| {
            let shared = &self.file.metrics;
            let measure = own.as_ref().or_else(|| shared.get(name)).ok_or_else(|| {
                let place = format!("metrics.{name}");
                unknown(path, &place, "metric of the paper", name, shared.names())
            })?;
            match measure.fault() {
                Some(fault) => Err(ReproduceError::paper(path, &format!("metrics.{name}"), fault)),
                None => Ok((name.to_owned(), measure.clone())),
            }
        };
        file.metrics.iter().map(measure).collect::<Result<_, _>>()
    }
}

/// The comparisons of each set for each of its names.
fn compared(comparisons: &Comparisons) -> Vec<Comparison> {
    let groups: Vec<String> = match comparisons.within.as_slice() {
        [] => vec![String::new()],
        names => names.iter().map(|name| format!("{name}, ")).collect(),
    };
    let mut all = Vec::new();
    for group in &groups {
        for set in &comparisons.sets {
            for name in &set.each {
                let comparison = |row: &ComparisonRow| {
                    let [of, over] = [&row.of, &row.over].map(|text| text.replace("{}", name));
                    Comparison {
                        row: format!("{group}{of} {} {over}", row.by.word()),
                        metric: row.metric.clone(),
                        by: row.by,
                        of: format!("{group}{of}"),
                        over: format!("{group}{over}"),
                    }
                };
                all.extend(set.rows.iter().map(comparison));
            }
        }
    }
    all
}

/// Checks that the flows, metrics, curves and rows named in a file are its own.
fn check(
    file: &ExperimentFile,
    path: &str,
    metrics: &Ordered<Measure>,
    made: &Cells,
    comparisons: &[Comparison],
) -> Result<(), ReproduceError> {
    let metric = |place: &str, name: &str| match metrics.get(name) {
        Some(_) => Ok(()),
        None => Err(unknown(path, place, "metric", name, metrics.names())),
    };
    let row = |place: &str, name: &str| match made.rows.contains(name) {
        true => Ok(()),
        false => Err(unknown(path, place, "row", name, made.rows.iter().map(String::as_str))),
    };
    let scenarios: Vec<&Value> = made.cells.iter().filter_map(Cell::scenario).collect();
    let measured = metrics.iter().map(|(name, m)| ("metrics", name, m.flows_fault(&scenarios)));
    let drawn = file.curves.iter().map(|(name, c)| ("curves", name, c.flows_fault(&scenarios)));
    for (part, name, fault) in measured.chain(drawn) {
        if let Some(fault) = fault {
            return Err(ReproduceError::paper(path, &format!("{part}.{name}"), fault));
        }
    }
    for comparison in comparisons {
        metric("comparisons", &comparison.metric)?;
        row("comparisons", &comparison.of)?;
        row("comparisons", &comparison.over)?;
    }
    for (name, values) in file.reported.iter() {
        let place = format!("reported.{name}");
        metric(&place, name)?;
        let is_comparison =
            |scheme: &str| comparisons.iter().any(|row| row.metric == name && row.row == scheme);
        values.names().filter(|scheme| !is_comparison(scheme)).try_for_each(|s| row(&place, s))?;
    }
    for (number, figure) in file.figures.iter().enumerate() {
        let (place, drawn) = (format!("figures[{number}]"), figure.drawn());
        if !figure.draws_curves() {
            metric(&place, drawn)?;
        } else if file.curves.get(drawn).is_none() {
            return Err(unknown(path, &place, "curve", drawn, file.curves.names()));
        }
    }
    Ok(())
}

fn unknown<'a>(
    path: &str,
    place: &str,
    kind: &str,
    name: &str,
    known: impl Iterator<Item = &'a str>,
) -> ReproduceError {
    let mut known: Vec<&str> = known.collect();
    known.sort_unstable();
    let message = format!("no {kind} '{name}'; there are {}", known.join(", "));
    ReproduceError::paper(path, place, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::files_in;
    use lab_scenario::parse_yaml;

    const EXPERIMENT: &str = "{source: §1, title: t, with: {scenario: vanilla.yaml}, \
         axes: {sizes: {small: {set: {cell.n_prb: 25}}}}, cells: [{over: [sizes]}], \
         metrics: {rate: {goodput: {}}}, curves: {}, reported: {rate: {small: 1}}, \
         figures: [{bars: {metric: rate, title: b}}]}";

    /// An experiment of irazabal2021 by its text, with a part of it replaced.
    fn planned(part: &str, by: &str) -> Result<Experiment, String> {
        assert!(EXPERIMENT.contains(part), "{part}");
        let text = EXPERIMENT.replace(part, by);
        let file = parse_yaml(&text)?;
        let paper = by_name("irazabal2021").unwrap();
        let planned = paper.planned("e", "e.yaml", file, &Inputs::default());
        planned.map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_wrong_in_a_file_is_named_with_its_place() {
        for (part, by, place, message) in [
            ("rate: {goodput: {}}", "rate: {godput: {}}", "line 1, column", "unknown variant"),
            ("rate: {goodput: {}}", "rate:", "metrics.rate: ", "no metric of the paper 'rate'"),
            ("goodput: {}", "goodput: {flows: {kind: voipp}}", "metrics.rate: ", "no flow of kind"),
            ("goodput: {}", "lost: {kind: voipp}", "metrics.rate: ", "'voipp'; there are "),
            ("curves: {}", "curves: {c: {goodput: {names: [x]}}}", "curves.c: ", "no flow of name"),
            ("goodput: {}", "goodput: {within_s: [9, 3]}", "metrics.rate: within_s: ", "a start"),
            ("vanilla.yaml", "vanila.yaml", "cells[0], small: ", "no scenario 'vanila.yaml'"),
            ("title: t,", "title: t, from_s: 65,", "cells[0], small: from_s: 65", "end of the run"),
            ("over: [sizes]", "over: [size]", "cells[0]: ", "no axis 'size'; there are sizes, "),
            ("over: [sizes]", "over: [sizes], row: '{size}'", "cells[0]: ", "not in over"),
            ("cell.n_prb: 25", "'ues[9].rnti': 1", "set.ues[9].rnti: ", "[9] is not there"),
            ("cell.n_prb: 25", "cell.n_prb: $n", "set.cell.n_prb: ", "no variable 'n'"),
            ("cell.n_prb: 25", "'ues[+]': 1", "set.ues[+]: ", "expected a list"),
            ("{small: 1}", "{smal: 1}", "reported.rate: ", "no row 'smal'; there are small"),
            ("metric: rate", "metric: rat", "figures[0]: ", "no metric 'rat'; there are rate"),
        ] {
            let error = planned(part, by).unwrap_err();
            assert!(error.contains(place) && error.contains(message), "{by}: {error}");
        }
    }

    #[test]
    fn cells_are_the_product_of_their_axes() {
        let by = "over: [schemes, sizes], row: '{sizes} {schemes}'}, {over: [sizes]";
        let cells = planned("over: [sizes]", by).unwrap().cells;
        let names: Vec<&str> = cells.iter().map(|cell| cell.scheme.as_str()).collect();
        assert_eq!((names[0], names[6], names[7]), ("small Vanilla", "small Sojourn", "small"));
    }

    #[test]
    fn every_file_of_a_paper_is_an_experiment_of_it() {
        for paper in all().unwrap() {
            let known = paper.experiments(&Inputs::default()).unwrap();
            let folder = format!("papers/{}/", paper.name);
            assert_eq!(known.len() + 1, files_in(&folder), "{}", paper.name);
        }
    }
    // Without them a scheme that drops the packets that would be late has the shortest round trip.
    #[test]
    fn every_round_trip_has_the_lost_packets_of_its_flows_beside_it() {
        let mut checked = 0;
        for experiment in
            all().unwrap().iter().flat_map(|paper| paper.experiments(&Inputs::default()).unwrap())
        {
            let measures: Vec<_> = experiment.metrics.iter().map(|(_, measure)| measure).collect();
            for flows in measures.iter().filter_map(|measure| measure.round_trip_of()) {
                let kind = flows.kind.clone().unwrap_or_default();
                let lost = Measure::Lost { kind };
                assert!(measures.contains(&&lost), "{}: no {lost:?}", experiment.name);
                checked += 1;
            }
        }
        assert!(checked > 20, "{checked}");
    }
}
