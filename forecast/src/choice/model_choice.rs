//! The choice of models that predict: `--model`.

use gpucast_model::quantitative_roofline::refinements::Refinement;
use gpucast_model::{Model, QuantitativeRoofline, RefinedRoofline};

use crate::failure::{Failure, Report, suggest};

/// A model that is to predict.
#[derive(Clone, Copy)]
pub struct Chosen {
    /// The model.
    pub model: &'static dyn Model,
    /// True if the user named the model. A named model that lacks an input is an error.
    pub by_name: bool,
}

/// The word that stands for all models.
const ALL: &str = "all";

/// The models of `--model`, in the order of the command line, each once.
pub fn read(names: &[String]) -> Result<Vec<Chosen>, Failure> {
    let mut chosen: Vec<Chosen> = Vec::new();
    let mut add = |one: Chosen| match chosen
        .iter_mut()
        .find(|other| other.model.name() == one.model.name())
    {
        Some(other) => other.by_name |= one.by_name,
        None => chosen.push(one),
    };
    for name in names {
        if name == ALL {
            for &model in <dyn Model>::ALL {
                add(Chosen { model, by_name: false });
            }
        } else {
            add(Chosen { model: by_name(name)?, by_name: true });
        }
    }
    Ok(chosen)
}

/// Adds the refined model of `--refine` behind the one that it refines.
pub fn refine(chosen: &mut Vec<Chosen>, names: &[String]) -> Result<(), Failure> {
    if names.is_empty() {
        return Ok(());
    }
    let is_refined = |one: &Chosen| one.model.name() == QuantitativeRoofline.name();
    let Some(at) = chosen.iter().position(is_refined) else {
        let report = Report::new(format!("--refine is about {}", QuantitativeRoofline.name()));
        return Err(Failure::Usage(report.hint("add it to --model")));
    };
    let mut refinements = Vec::new();
    for name in names {
        if name == ALL {
            refinements.extend(Refinement::ALL);
            continue;
        }
        refinements.push(Refinement::by_name(name).map_err(|error| {
            let known = Refinement::ALL.map(Refinement::name).into_iter().chain([ALL]);
            Failure::Usage(Report::new(error.to_string()).maybe_hint(suggest(name, known)))
        })?);
    }
    // Models live as long as the program, and the command line makes one of these at most.
    let model: &'static dyn Model = Box::leak(Box::new(RefinedRoofline::new(&refinements)));
    let by_name = !names.iter().any(|name| name == ALL);
    chosen.insert(at + 1, Chosen { model, by_name });
    Ok(())
}

fn by_name(name: &str) -> Result<&'static dyn Model, Failure> {
    <dyn Model>::by_name(name).map_err(|_| {
        let known = <dyn Model>::ALL.iter().map(|model| model.name()).chain([ALL]);
        let report = Report::new(format!("there is no model named `{name}`"));
        Failure::Usage(report.maybe_hint(suggest(name, known)))
    })
}

/// Returns true if any of the models reads the counts between barriers.
pub fn reads_stages(chosen: &[Chosen]) -> bool {
    chosen.iter().any(|one| one.model.reads_stages())
}

/// Returns true if any of the models reads the order of events in CTAs.
pub fn reads_order(chosen: &[Chosen]) -> bool {
    chosen.iter().any(|one| one.model.reads_order())
}

/// Returns true if any of the models reads the features of accesses and operations.
pub fn reads_features(chosen: &[Chosen]) -> bool {
    chosen.iter().any(|one| one.model.reads_features())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(arguments: &[&str]) -> Vec<(&'static str, bool)> {
        let arguments: Vec<String> = arguments.iter().map(|&name| name.to_owned()).collect();
        let chosen = read(&arguments).expect("the names exist");
        chosen.iter().map(|one| (one.model.name(), one.by_name)).collect()
    }

    #[test]
    fn all_means_each_model_once_and_a_name_insists() {
        let all: Vec<(&str, bool)> =
            <dyn Model>::ALL.iter().map(|model| (model.name(), false)).collect();
        assert_eq!(names(&["all"]), all);
        assert_eq!(names(&["all", "all"]), all);
        let insisting = names(&["all", "quantitative-roofline"]);
        assert_eq!(insisting[0], ("quantitative-roofline", true));
        assert_eq!(insisting[1..], all[1..]);
        let repeated = ["quantitative-roofline", "quantitative-roofline"];
        assert_eq!(names(&repeated), [("quantitative-roofline", true)]);
    }

    #[test]
    fn an_unknown_name_gets_a_suggestion() {
        let Err(Failure::Usage(report)) = read(&["quantitative-rofline".to_owned()]) else {
            panic!("there is no such model");
        };
        assert!(report.hint.is_some_and(|hint| hint.contains("quantitative-roofline")));
    }
}
