//! `--count-on`: the GPU whose counters are modelled for a prediction.

use gpucast_model::{Gpu, GpuLibrary, Needs};

use super::gpu_argument;
use super::model_choice::{self, Chosen, Models};
use crate::failure::Report;

/// The word that `--count-on` takes for the GPUs of `--gpu` themselves.
pub const TARGET: &str = "target";

/// The GPU of the thesis's counts.
pub const OF_THESIS: &str = "gtx-480";

/// The GPUs whose counters are modelled.
pub enum CountOn {
    /// Each GPU's own. Where no model but the thesis's predicts, and where a GPU cannot be counted
    /// on, those of the thesis's GPU.
    Fitting {
        /// The thesis's GPU.
        of_thesis: Box<Gpu>,
    },
    /// Each GPU's own.
    Target,
    /// Those of one GPU, whichever is predicted.
    One(Box<Gpu>),
}

/// GPUs with the same counts.
pub struct Group {
    /// The GPU whose counters are modelled.
    pub counting_gpu: Gpu,
    /// The GPUs that are predicted from them.
    pub gpus: Vec<Gpu>,
    /// The inputs that their models read beyond metrics.
    pub needs: Needs,
}

impl CountOn {
    /// Reads the argument of `--count-on`, if there is one.
    ///
    /// # Errors
    ///
    /// If it names no GPU.
    pub fn read(library: &GpuLibrary, argument: Option<&str>) -> Result<Self, Report> {
        Ok(match argument {
            None => Self::Fitting { of_thesis: gpu_argument::find(library, OF_THESIS)?.into() },
            Some(TARGET) => Self::Target,
            Some(name) => Self::One(gpu_argument::find(library, name)?.into()),
        })
    }

    /// The GPU whose counters are modelled when `models` predict for `gpu`.
    pub fn of<'a>(&'a self, gpu: &'a Gpu, models: &[Chosen]) -> &'a Gpu {
        match self {
            Self::One(one) => one,
            Self::Target => gpu,
            Self::Fitting { of_thesis } => {
                let is_thesis = models.iter().all(|model| model.model.reads_counts_of_gtx_480());
                if is_thesis || gpu.device_model().is_err() { of_thesis } else { gpu }
            }
        }
    }

    /// The GPU whose counters are modelled when counts of `gpu` are asked for, and no times.
    pub fn of_counts<'a>(&'a self, gpu: &'a Gpu) -> &'a Gpu {
        match self {
            Self::One(one) => one,
            Self::Target | Self::Fitting { .. } => gpu,
        }
    }

    /// The GPUs in groups of equal counts, in the order of their first members.
    ///
    /// # Errors
    ///
    /// If a GPU that must be counted on cannot be.
    pub fn groups(&self, gpus: Vec<Gpu>, models: &Models) -> Result<Vec<Group>, Report> {
        let mut groups: Vec<(_, Group)> = Vec::new();
        for gpu in gpus {
            let chosen = models.of(&gpu);
            let counting_gpu = self.of(&gpu, &chosen);
            let device = gpu_argument::device_model(counting_gpu)?;
            let needs = model_choice::needs(&chosen);
            match groups.iter_mut().find(|(other, _)| *other == device) {
                Some((_, group)) => {
                    group.gpus.push(gpu);
                    group.needs = group.needs | needs;
                }
                None => {
                    let counting_gpu = counting_gpu.clone();
                    let gpus = vec![gpu];
                    groups.push((device, Group { counting_gpu, gpus, needs }));
                }
            }
        }
        Ok(groups.into_iter().map(|(_, group)| group).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library() -> GpuLibrary {
        GpuLibrary::builtin().unwrap()
    }

    /// The names of counting GPUs with those of their groups.
    fn groups(argument: Option<&str>, gpus: &str, models: &[&str]) -> String {
        let library = library();
        let gpus = gpus.split(',').map(|name| library.get(name).unwrap()).collect();
        let models: Vec<String> = models.iter().map(|&name| name.to_owned()).collect();
        let models = Models::read(&models, &[]).map_err(|_| "wrong usage").unwrap();
        let count_on = CountOn::read(&library, argument).unwrap();
        let groups = count_on.groups(gpus, &models).unwrap();
        let text = |group: &Group| {
            let names: Vec<&str> = group.gpus.iter().map(|gpu| gpu.name.as_str()).collect();
            format!("{} for {}", group.counting_gpu.name, names.join(" "))
        };
        groups.iter().map(text).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn each_gpu_counts_for_itself_unless_the_thesis_predicts_it() {
        let gpus = "gtx-480,gtx-660,gtx-960,h100-sxm";
        assert_eq!(
            groups(None, gpus, &[]),
            "gtx-480 for gtx-480 gtx-660; gtx-960 for gtx-960; h100-sxm for h100-sxm"
        );
        let thesis = format!("gtx-480 for {}", gpus.replace(',', " "));
        assert_eq!(groups(None, gpus, &["quantitative-roofline"]), thesis);
        assert_eq!(groups(Some("gtx-480"), gpus, &["all"]), thesis);
        // A GPU that cannot be counted on has no counts of its own.
        assert_eq!(
            groups(None, "gtx-660,r9-nano", &["all"]),
            "gtx-660 for gtx-660; gtx-480 for r9-nano"
        );
    }

    #[test]
    fn gpus_with_equal_rules_of_counting_are_counted_once() {
        let library = library();
        let gpu = library.get("h100-sxm").unwrap();
        let faster = gpu.with_override("memory_bandwidth", "2x").unwrap();
        let larger = gpu.with_override("l2_size", "2x").unwrap();
        let models = Models::read(&[], &[]).map_err(|_| "wrong usage").unwrap();
        let gpus = vec![gpu, faster, larger];
        let groups = CountOn::Target.groups(gpus, &models).unwrap();
        let members: Vec<usize> = groups.iter().map(|group| group.gpus.len()).collect();
        assert_eq!(members, [2, 1]);
        assert!(groups.iter().all(|group| group.needs == Needs::ORDER));
    }
}
