//! The metrics that the user asked for, and the profiler by whose names.

use gpucast_counters::definitions::{Definition, Nvprof, definition, definitions};
use gpucast_counters::{LaunchProfile, LeveledMetric, MetricValue, Number};
use wildmatch::WildMatch;

use crate::failure::suggest;

/// The argument of `--metrics`.
#[derive(Clone, Debug, PartialEq)]
pub enum MetricChoice {
    /// The metrics that nvprof has, by its names.
    Nvprof,
    /// The metrics that Nsight Compute has, by its names.
    Ncu,
    /// Every metric.
    All,
    /// Names of either, or patterns of names.
    Named(Vec<String>),
}

/// A metric that is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shown {
    /// The name that it was asked for by.
    pub name: &'static str,
    /// Its value and the level of code that it was counted on.
    pub metric: LeveledMetric,
    /// The same counted on PTX, if the machine's instructions were counted.
    pub on_ptx: Option<MetricValue>,
}

impl MetricChoice {
    /// Reads the argument; the error says which name is not known.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "nvprof" => return Ok(Self::Nvprof),
            "ncu" => return Ok(Self::Ncu),
            "all" => return Ok(Self::All),
            _ => {}
        }
        let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
        let known = || definitions().flat_map(names_of);
        for name in &names {
            let pattern = WildMatch::new(name);
            if !known().any(|known| pattern.matches(known)) {
                let computed = definitions().filter(|definition| definition.compute.is_some());
                let hint = suggest(name, computed.flat_map(names_of));
                let hint = hint.map_or(String::new(), |hint| format!(": {hint}"));
                return Err(format!("no metric is named `{name}`{hint}"));
            }
            let is_computed = |one: &'static Definition| {
                one.compute.is_some() && names_of(one).any(|known| pattern.matches(known))
            };
            if !definitions().any(is_computed) {
                return Err(format!("`{name}` needs hardware or time and cannot be computed"));
            }
        }
        Ok(Self::Named(names))
    }

    /// True if the metric of this name, nvprof's or ours, is chosen by any of its names.
    pub fn names(&self, name: &str) -> bool {
        let Some(definition) = definition(name) else { return false };
        match self {
            Self::All => true,
            Self::Nvprof => matches!(definition.nvprof, Nvprof::Metric(_) | Nvprof::Event),
            Self::Ncu => definition.nsight_names().next().is_some(),
            Self::Named(names) => names.iter().any(|pattern| {
                let pattern = WildMatch::new(pattern);
                names_of(definition).any(|name| pattern.matches(name))
            }),
        }
    }

    /// The names of the chosen metrics that can be computed, nvprof's or ours, in the order of the
    /// definitions.
    pub fn computed(&self) -> Vec<&'static str> {
        let all = definitions()
            .filter(|definition| definition.compute.is_some())
            .map(|definition| definition.name);
        all.filter(|name| self.names(name)).collect()
    }

    /// The chosen metrics of a profile, in the order of their names.
    pub fn of(&self, profile: &LaunchProfile) -> Vec<Shown> {
        let patterns: Vec<WildMatch> = match self {
            Self::Named(names) => names.iter().map(|name| WildMatch::new(name)).collect(),
            Self::Nvprof | Self::Ncu | Self::All => Vec::new(),
        };
        let mut shown = Vec::new();
        for (name, &figure) in &profile.metrics {
            let Some(definition) = definition(name) else { continue };
            let on_ptx = profile.ptx_metrics.get(name).copied();
            let level = profile.level(name);
            let interval = profile.intervals.get(name);
            let mut show = |name: &'static str, worth: f64| {
                let named = |figure| in_units_of(figure, name, worth);
                let figure = named(figure);
                let interval = interval.map(|bounds| bounds.map(|bound| bound / worth));
                let metric = LeveledMetric { figure, level, interval };
                shown.push(Shown { name, metric, on_ptx: on_ptx.map(named) });
            };
            let of_nvprof = || matches!(definition.nvprof, Nvprof::Metric(_) | Nvprof::Event);
            let asked = |name: &str| patterns.iter().any(|pattern| pattern.matches(name));
            match self {
                Self::All => show(definition.name, 1.0),
                Self::Nvprof if of_nvprof() => show(definition.name, 1.0),
                Self::Nvprof => {}
                Self::Ncu => {
                    definition.nsight_names().for_each(|(name, worth)| show(name, worth));
                }
                Self::Named(_) => {
                    if asked(definition.name) {
                        show(definition.name, 1.0);
                    }
                    definition
                        .nsight_names()
                        .filter(|(name, _)| asked(name))
                        .for_each(|(name, worth)| show(name, worth));
                }
            }
        }
        shown.sort_by_key(|shown| shown.name);
        shown
    }
}

/// Every name of a metric.
fn names_of(definition: &'static Definition) -> impl Iterator<Item = &'static str> {
    std::iter::once(definition.name).chain(definition.nsight_names().map(|(name, _)| name))
}

/// Converts a figure to the unit of `name`; one of that unit is worth `worth` of the figure's.
fn in_units_of(figure: MetricValue, name: &str, worth: f64) -> MetricValue {
    if worth == 1.0 {
        return figure;
    }
    let unit = if name.ends_with("pct") || name.contains(".pct_of_") { "percent" } else { "ratio" };
    MetricValue { value: Number::Real(figure.value.as_f64() / worth), unit, kind: figure.kind }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_both_profilers_and_patterns_are_understood() {
        for text in ["inst_executed", "flop_count_*,dram__sectors_read.sum", "gld_?fficiency", "*"]
        {
            let names = text.split(',').map(str::to_owned).collect();
            assert_eq!(MetricChoice::parse(text), Ok(MetricChoice::Named(names)));
        }
        assert_eq!(MetricChoice::parse("ncu"), Ok(MetricChoice::Ncu));
        let error = |text| MetricChoice::parse(text).unwrap_err();
        insta::assert_snapshot!(
            ["", "inst_exectued", "inst_executed,none_*", "ipc", "all,nvprof"].map(error).join("\n"),
            @r"
        no metric is named ``
        no metric is named `inst_exectued`: did you mean `inst_executed` or `ldst_executed` or `ptx_inst_executed`?
        no metric is named `none_*`
        `ipc` needs hardware or time and cannot be computed
        no metric is named `all`
        "
        );
    }
}
