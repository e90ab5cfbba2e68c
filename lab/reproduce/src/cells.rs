//! The cells of an experiment: the products of its axes.

use std::collections::HashSet;

use serde_json::Value;

use super::compose::{scenario, variables, xapp};
use super::document::{Axis, ExperimentFile, Grid, PaperFile};
use super::feed::forecasts;
use super::ordered::Ordered;
use super::plan::{At, Cell, Inputs, Work};
use super::recordings::{radios, recording};
use super::variant::{Forecaster, Variant};
use super::watch::Watch;
use super::{ReproduceError, files};

/// The cells, and the names of the rows that they would have with all inputs.
pub(super) struct Cells {
    pub(super) cells: Vec<Cell>,
    pub(super) rows: HashSet<String>,
}

/// A variant of an axis.
#[derive(Clone, Copy)]
struct Point<'a> {
    axis: &'a str,
    name: &'a str,
    variant: &'a Variant,
}

/// Makes the cells of one experiment.
pub(super) struct Maker<'a> {
    pub(super) paper_name: &'a str,
    pub(super) file: &'a str,
    pub(super) paper: &'a PaperFile,
    pub(super) experiment: &'a ExperimentFile,
    /// Whether the RLC occupancy over time is recorded.
    pub(super) occupancy: bool,
    pub(super) inputs: &'a Inputs,
}

impl Maker<'_> {
    /// The cells in the order of the grids.
    ///
    /// # Errors
    /// [`ReproduceError::Paper`] with the place of what is wrong in the file.
    pub(super) fn cells(&self) -> Result<Cells, ReproduceError> {
        let radios = match &self.inputs.traces {
            Some(folder) if self.experiment.every_recorded_radio => radios(folder)?,
            _ => Vec::new(),
        };
        let mut made = Cells { cells: Vec::new(), rows: HashSet::new() };
        for (number, grid) in self.experiment.cells.iter().enumerate() {
            let place = format!("cells[{number}]");
            for points in self.points(grid, &place)? {
                let row = self.named(grid.row.as_deref(), &points, &place)?;
                made.rows.insert(row.clone());
                let is_trained = points.iter().any(|point| point.variant.is_trained());
                if is_trained && self.inputs.trained.is_none() {
                    continue;
                }
                let place = format!("{place}, {row}");
                if !self.experiment.every_recorded_radio {
                    made.cells.push(self.cell(grid, &points, row, None, &place)?);
                    continue;
                }
                for radio in &radios {
                    made.cells.push(self.cell(grid, &points, row.clone(), Some(radio), &place)?);
                }
            }
        }
        if self.experiment.every_recorded_radio && radios.is_empty() {
            let why = match &self.inputs.traces {
                Some(folder) => format!("no recorded radio in {}", folder.display()),
                None => "name their folder with --traces".to_owned(),
            };
            let scheme = "recorded radios".to_owned();
            made.cells.push(Cell { scheme, work: Work::Missing(why), at: None, condition: None });
        }
        Ok(made)
    }

    fn fault(&self, place: &str, message: impl Into<String>) -> ReproduceError {
        ReproduceError::paper(self.file, place, message)
    }

    fn axis(&self, name: &str, place: &str) -> Result<&Axis, ReproduceError> {
        let (own, shared) = (&self.experiment.axes, &self.paper.axes);
        own.get(name).or_else(|| shared.get(name)).ok_or_else(|| {
            let known: Vec<&str> = own.names().chain(shared.names()).collect();
            self.fault(place, format!("no axis '{name}'; there are {}", known.join(", ")))
        })
    }

    /// The product of the axes of a grid.
    fn points<'a>(
        &'a self,
        grid: &'a Grid,
        place: &str,
    ) -> Result<Vec<Vec<Point<'a>>>, ReproduceError> {
        grid.over.iter().try_fold(vec![Vec::new()], |product, name| {
            let axis = self.axis(name, place)?;
            let longer = product.iter().flat_map(|points: &Vec<Point<'a>>| {
                axis.iter().map(|(point, variant)| {
                    let mut points = points.clone();
                    points.push(Point { axis: name, name: point, variant });
                    points
                })
            });
            Ok(longer.collect())
        })
    }

    /// A name by a pattern, or that of all points.
    fn named(
        &self,
        pattern: Option<&str>,
        points: &[Point<'_>],
        place: &str,
    ) -> Result<String, ReproduceError> {
        let Some(pattern) = pattern else {
            return Ok(points.iter().map(|point| point.name).collect::<Vec<_>>().join(", "));
        };
        let name = points.iter().fold(pattern.to_owned(), |name, point| {
            name.replace(&format!("{{{}}}", point.axis), point.name)
        });
        match name.contains(['{', '}']) {
            true => {
                Err(self.fault(place, format!("'{pattern}' names an axis that is not in over")))
            }
            false => Ok(name),
        }
    }

    fn cell(
        &self,
        grid: &Grid,
        points: &[Point<'_>],
        scheme: String,
        radio: Option<&(String, Value)>,
        place: &str,
    ) -> Result<Cell, ReproduceError> {
        let channel = radio.map(|(_, channel)| ("ues[0].channel".to_owned(), channel.clone()));
        let radio_variant =
            Variant { set: channel.into_iter().collect::<Ordered<_>>(), ..Variant::default() };
        let bases = [&self.paper.base, &self.experiment.base, &radio_variant, &grid.base];
        let variants: Vec<&Variant> =
            bases.into_iter().chain(points.iter().map(|point| point.variant)).collect();
        let work = self.work(&variants, points, place)?;
        let x = variants.iter().rev().find_map(|variant| variant.x);
        let at = x.map(|x| {
            let others: Vec<Point<'_>> =
                points.iter().copied().filter(|point| point.variant.x.is_none()).collect();
            let series = self.named(grid.series.as_deref(), &others, place)?;
            Ok::<_, ReproduceError>(At { series, x })
        });
        let condition = radio.map(|(name, _)| name.clone());
        Ok(Cell { scheme, work, at: at.transpose()?, condition })
    }

    fn work(
        &self,
        variants: &[&Variant],
        points: &[Point<'_>],
        place: &str,
    ) -> Result<Work, ReproduceError> {
        let fault = |message| self.fault(place, message);
        let recorded = points
            .iter()
            .rev()
            .find_map(|point| point.variant.recording.as_deref().map(|file| (point.name, file)));
        let path = match recorded {
            None => None,
            Some((name, file)) => match recording(self.inputs.traces.as_deref(), name, file)? {
                Ok(path) => Some(path),
                Err(why) => return Ok(Work::Missing(why)),
            },
        };
        let names = variables(variants, path.as_deref());
        let file = |name: &str| files::scenario(self.paper_name, name);
        let value = scenario(variants, &names, file).map_err(fault)?;
        let from_s = self.experiment.from_s.unwrap_or(self.paper.from_s);
        let end_s = value.get("duration_s").and_then(Value::as_f64).unwrap_or(0.0);
        if !(0.0..end_s).contains(&from_s) {
            let why = format!("from_s: {from_s}; expected 0 to the end of the run at {end_s}");
            return Err(fault(why));
        }
        let us = |seconds: f64| (seconds * 1e6).round() as u64;
        let watch = Watch { from_us: us(from_s), to_us: us(end_s), occupancy: self.occupancy };
        let last = |variant: &&&Variant| variant.forecasts.is_some();
        let forecasts = match variants.iter().rev().find(last) {
            None => None,
            Some(forecasting) => {
                // What is recorded is the same cell with another variant in place of this one.
                let recorded = |other: &Variant| {
                    let others: Vec<&Variant> = variants
                        .iter()
                        .map(
                            |variant| {
                                if std::ptr::eq(*variant, *forecasting) { other } else { variant }
                            },
                        )
                        .collect();
                    scenario(&others, &variables(&others, path.as_deref()), file)
                };
                let Some(variant) = &forecasting.forecasts else {
                    return Err(fault(String::new()));
                };
                let perfect = match &variant.forecaster {
                    Forecaster::Perfect(other) => Some(recorded(other).map_err(fault)?),
                    _ => None,
                };
                let trained = self.inputs.trained.as_ref();
                match forecasts(variant, &value, watch.from_us, perfect, trained) {
                    Ok(forecasts) => Some(Box::new(forecasts)),
                    Err(why) => return Ok(Work::Missing(why)),
                }
            }
        };
        let deployed = variants.iter().rev().find_map(|variant| variant.xapp.as_ref());
        let xapp = deployed.map(|variant| xapp(variant, &names).map(Box::new));
        Ok(Work::Run {
            scenario: Box::new(value),
            watch,
            xapp: xapp.transpose().map_err(fault)?,
            forecasts,
            floor: variants.iter().rev().find_map(|variant| variant.floor.clone()),
        })
    }
}
