//! The choice of models that predict: `--model`, or the default of each GPU.

use gpucast_counters::KernelProfile;
use gpucast_model::cost_model::CostModels;
use gpucast_model::quantitative_roofline::refinements::Refinement;
use gpucast_model::{
    Conditions, Gpu, Model, ModelError, Needs, Prediction, QuantitativeRoofline, RefinedRoofline,
    Warning,
};

use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Report, suggest};

/// A model that is to predict.
#[derive(Clone, Copy)]
pub struct Chosen {
    /// The model.
    pub model: &'static dyn Model,
    /// True if the user named the model, or left the choice to the program. Such a model that lacks
    /// an input is an error.
    pub by_name: bool,
    /// The models that answer in its place if it lacks an input; none for a model that was asked
    /// for.
    pub stand_ins: &'static [&'static dyn Model],
}

/// A model's answer, or that of one that stands in for it.
pub struct Answer<T> {
    /// The model that answers.
    pub model: &'static dyn Model,
    /// The answer.
    pub value: T,
    /// The default model that declined, and why; a warning for whoever sees the answer.
    pub declined: Option<Warning>,
}

impl Chosen {
    /// A model that the user asked for.
    pub fn named(model: &'static dyn Model) -> Self {
        Self { model, by_name: true, stand_ins: &[] }
    }

    /// One of all models, which may lack its inputs.
    pub fn one_of_all(model: &'static dyn Model) -> Self {
        Self { model, by_name: false, stand_ins: &[] }
    }

    /// The default of a GPU.
    pub fn default_for(gpu: &Gpu) -> Self {
        let model = <dyn Model>::default_for(gpu);
        Self { model, by_name: true, stand_ins: <dyn Model>::STAND_INS }
    }

    /// The answer of the model, or of the first stand-in that has one if the model lacks an input.
    ///
    /// # Errors
    ///
    /// The model's own error if nobody has an answer, or if its input is wrong.
    pub fn answer<T>(
        &self,
        mut ask: impl FnMut(&'static dyn Model) -> Result<T, ModelError>,
    ) -> Result<Answer<T>, ModelError> {
        let error = match ask(self.model) {
            Ok(value) => return Ok(Answer { model: self.model, value, declined: None }),
            Err(error) => error,
        };
        if error.is_lack() {
            let others =
                self.stand_ins.iter().filter(|stand_in| stand_in.name() != self.model.name());
            for &model in others {
                if let Ok(value) = ask(model) {
                    let (name, reason) = (self.model.name(), error.to_string());
                    let declined = Some(Warning::DefaultDeclined { model: name, reason });
                    return Ok(Answer { model, value, declined });
                }
            }
        }
        Err(error)
    }

    /// The prediction of [`Chosen::answer`], with a warning if another model stands in.
    ///
    /// # Errors
    ///
    /// As [`Chosen::answer`].
    pub fn predict(
        &self,
        profile: &KernelProfile,
        gpu: &Gpu,
        conditions: &Conditions,
    ) -> Result<Prediction, ModelError> {
        let answer = self.answer(|model| model.predict(profile, gpu, conditions))?;
        let mut prediction = answer.value;
        prediction.warnings.extend(answer.declined);
        Ok(prediction)
    }
}

/// The models of a command: those that it names, or the default of each GPU.
#[derive(Clone)]
pub struct Models {
    /// None for the defaults.
    named: Option<Vec<Chosen>>,
    /// Models that predict for every GPU besides.
    further: Vec<Chosen>,
}

/// A choice of models in words, from which the same choice can be made elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelWords {
    /// As [`Models::read`] takes them.
    pub names: Vec<String>,
    /// As [`Models::read`] takes them.
    pub refinements: Vec<String>,
    /// True if the thesis's model takes the place of defaults ([`Models::or_thesis`]).
    pub or_thesis: bool,
}

/// The word that stands for all models.
const ALL: &str = "all";

impl Models {
    /// The models of `--model` in the order of the command line, each once, with those of
    /// `--refine`. Without names each GPU has its default.
    ///
    /// A refinement without a model is one of the thesis's model.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] if a name is unknown, or if no model can be refined.
    pub fn read(names: &[String], refinements: &[String]) -> Result<Self, Failure> {
        let mut named = match (names, refinements) {
            ([], []) => return Ok(Self { named: None, further: Vec::new() }),
            ([], _) => Self::thesis().named.unwrap_or_default(),
            _ => by_names(names)?,
        };
        refine(&mut named, refinements)?;
        Ok(Self { named: Some(named), further: Vec::new() })
    }

    /// The models of a choice in words.
    ///
    /// # Errors
    ///
    /// As [`Models::read`].
    pub fn of_words(words: &ModelWords) -> Result<Self, Failure> {
        let models = Self::read(&words.names, &words.refinements)?;
        Ok(if words.or_thesis { models.or_thesis() } else { models })
    }

    /// The thesis's model, which reproduces the numbers of its tables.
    pub fn thesis() -> Self {
        let named = Some(vec![Chosen::named(&QuantitativeRoofline)]);
        Self { named, further: Vec::new() }
    }

    /// The same if models are named; otherwise the thesis's model.
    #[must_use]
    pub fn or_thesis(self) -> Self {
        if self.named.is_some() { self } else { Self::thesis() }
    }

    /// The same with a further model for every GPU.
    #[must_use]
    pub fn with(mut self, further: Chosen) -> Self {
        self.further.push(further);
        self
    }

    /// The models that predict for a GPU.
    pub fn of(&self, gpu: &Gpu) -> Vec<Chosen> {
        let named = self.named.clone();
        let mut chosen = named.unwrap_or_else(|| vec![Chosen::default_for(gpu)]);
        self.further.iter().for_each(|&model| add(&mut chosen, model));
        chosen
    }

    /// The most predictions that a GPU has.
    pub fn number(&self) -> usize {
        self.named.as_ref().map_or(1, Vec::len) + self.further.len()
    }
}

/// The models of names, each once.
fn by_names(names: &[String]) -> Result<Vec<Chosen>, Failure> {
    let mut chosen: Vec<Chosen> = Vec::new();
    for name in names {
        if name == ALL {
            <dyn Model>::ALL.iter().for_each(|&model| add(&mut chosen, Chosen::one_of_all(model)));
        } else {
            add(&mut chosen, Chosen::named(by_name(name)?));
        }
    }
    Ok(chosen)
}

fn add(chosen: &mut Vec<Chosen>, one: Chosen) {
    match chosen.iter_mut().find(|other| other.model.name() == one.model.name()) {
        Some(other) => other.by_name |= one.by_name,
        None => chosen.push(one),
    }
}

/// Adds the refined model of `--refine` behind the one that it refines.
fn refine(chosen: &mut Vec<Chosen>, names: &[String]) -> Result<(), Failure> {
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
    chosen.insert(at + 1, Chosen { by_name, ..Chosen::named(model) });
    Ok(())
}

fn by_name(name: &str) -> Result<&'static dyn Model, Failure> {
    <dyn Model>::by_name(name).map_err(|_| {
        let known = <dyn Model>::ALL.iter().map(|model| model.name()).chain([ALL]);
        let report = Report::new(format!("there is no model named `{name}`"));
        Failure::Usage(report.maybe_hint(suggest(name, known)))
    })
}

/// The inputs that the models read beyond metrics. Features are not among them: without a
/// calibrated cost model nobody reads them ([`reads_features`]).
pub fn needs(chosen: &[Chosen]) -> Needs {
    let all: Needs = chosen.iter().map(|entry| entry.model.needs()).sum();
    Needs { features: false, ..all }
}

/// Returns true if a model reads the features of a kernel on `gpu`, for which there may be a
/// calibrated cost model.
pub fn reads_features(chosen: &[Chosen], gpu: &Gpu, cost_models: Option<&CostModels>) -> bool {
    let is_calibrated = |models: &CostModels| models.files.iter().any(|file| file.gpu == gpu.name);
    let reads = chosen.iter().any(|entry| entry.model.needs().features);
    reads && cost_models.is_some_and(is_calibrated)
}

#[cfg(test)]
mod tests {
    use gpucast_model::GpuLibrary;
    use gpucast_model::cost_model::Names;

    use super::*;

    fn names(arguments: &[&str]) -> Vec<(&'static str, bool)> {
        let arguments: Vec<String> = arguments.iter().map(|&name| name.to_owned()).collect();
        let chosen = by_names(&arguments).expect("the names exist");
        chosen.iter().map(|entry| (entry.model.name(), entry.by_name)).collect()
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
    fn features_are_read_where_a_cost_model_is_calibrated() {
        let (file, _) = crate::choice::cost_model::file("stevens-matmul").unwrap();
        let calibrated = CostModels { files: vec![file], names: Names::default() };
        let library = GpuLibrary::builtin().unwrap();
        let models = Models::read(&["all".to_owned()], &[]).map_err(|_| "wrong usage").unwrap();
        let reads = |gpu: &str, cost_models: Option<&CostModels>| {
            let gpu = library.get(gpu).unwrap();
            let chosen = models.of(&gpu);
            assert!(!needs(&chosen).features && needs(&chosen).order);
            reads_features(&chosen, &gpu, cost_models)
        };
        assert!(reads("titan-v", Some(&calibrated)));
        assert!(!reads("titan-v", None));
        assert!(!reads("h100-sxm", Some(&calibrated)));
    }

    #[test]
    fn an_unknown_name_gets_a_suggestion() {
        let Err(Failure::Usage(report)) = by_names(&["quantitative-rofline".to_owned()]) else {
            panic!("there is no such model");
        };
        assert!(report.hint.is_some_and(|hint| hint.contains("quantitative-roofline")));
    }

    /// The models of a GPU by name, without `--model`.
    fn defaults(gpu: &str, refinements: &[&str]) -> Vec<&'static str> {
        let gpu = GpuLibrary::builtin().unwrap().get(gpu).unwrap();
        let refinements: Vec<String> = refinements.iter().map(|&name| name.to_owned()).collect();
        let models = Models::read(&[], &refinements).map_err(|_| "wrong usage").unwrap();
        models.of(&gpu).iter().map(|entry| entry.model.name()).collect()
    }

    #[test]
    fn the_default_is_the_simulation_from_maxwell_on() {
        for gpu in ["gtx-750-ti", "gtx-960", "gtx-1060", "h100-sxm"] {
            assert_eq!(defaults(gpu, &[]), ["sm-simulation"], "{gpu}");
        }
        // Fermi, Kepler, and a GPU that has no capability.
        for gpu in ["gtx-480", "gtx-660", "tesla-k20c", "r9-nano"] {
            assert_eq!(defaults(gpu, &[]), ["quantitative-roofline"], "{gpu}");
        }
        let refined = ["quantitative-roofline", "refined-roofline"];
        assert_eq!(defaults("gtx-960", &["wide-shared"]), refined);
    }

    #[test]
    fn a_stand_in_answers_only_for_a_default_that_lacks_an_input() {
        let gpu = GpuLibrary::builtin().unwrap().get("h100-sxm").unwrap();
        let lack = || ModelError::MissingCondition { kernel: "k".to_owned(), what: "an order" };
        let ask = |model: &'static dyn Model| match model.name() {
            "sm-simulation" => Err(lack()),
            name => Ok(name),
        };
        let answer = Chosen::default_for(&gpu).answer(ask).unwrap();
        assert_eq!((answer.model.name(), answer.value), ("hierarchical-roofline", answer.value));
        let Some(Warning::DefaultDeclined { model, reason }) = answer.declined else {
            panic!("nothing says that the default declined");
        };
        assert_eq!((model, reason), ("sm-simulation", lack().to_string()));
        let named = Chosen::named(<dyn Model>::default_for(&gpu));
        assert_eq!(named.answer(ask).err(), Some(lack()));
        // Wrong input is an error whoever is asked.
        let wrong = || ModelError::NothingExecuted { kernel: "k".to_owned() };
        let error = Chosen::default_for(&gpu).answer(|model| match model.name() {
            "sm-simulation" => Err(wrong()),
            name => Ok(name),
        });
        assert_eq!(error.err(), Some(wrong()));
    }
}
