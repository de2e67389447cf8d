//! The effect of each parameter of GPUs on the times of kernels.

use gpucast_model::Gpu;
use gpucast_model::sensitivity::{Analysis, analyse};

use super::refusal;
use crate::choice::count_on::Group;
use crate::choice::model_choice::Models;
use crate::failure::{Failure, Report, suggest};
use crate::run::sources::Source;
use crate::run::supervisor::Supervisor;

/// What is asked of which models and GPUs.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The models.
    pub models: &'a Models,
    /// The GPUs, by equal counts.
    pub groups: &'a [Group],
    /// The parameters, as descriptions of GPUs spell them; all if there are none.
    pub fields: &'a [&'static str],
    /// The change of each, as a fraction.
    pub step: f64,
}

/// The analyses of all launches that `count` returns for each group.
///
/// # Errors
///
/// What `count` returns, a refusal of a model that was named, and the first one if all refuse.
pub fn analyses<E: From<Report>>(
    question: &Question<'_>,
    mut count: impl FnMut(&Group) -> Result<Vec<Source>, E>,
    supervisor: &dyn Supervisor,
) -> Result<Vec<Analysis>, E> {
    let Question { models, groups, fields, step } = *question;
    let mut analyses: Vec<Analysis> = Vec::new();
    let mut first_refusal = None;
    for group in groups {
        let sources = count(group)?;
        for (source, gpu) in
            sources.iter().flat_map(|source| group.gpus.iter().map(move |gpu| (source, gpu)))
        {
            for chosen in models.of(gpu) {
                let answer = chosen.answer(|model| {
                    let Source { profile, conditions, .. } = source;
                    analyse(model, profile, gpu, conditions, fields, step)
                });
                match answer {
                    Ok(answer) => {
                        answer.declined.iter().for_each(|why| supervisor.note(&why.to_string()));
                        analyses.push(answer.value);
                    }
                    Err(error) if chosen.by_name || !error.is_lack() => {
                        return Err(refusal(&error, source).into());
                    }
                    Err(error) => {
                        first_refusal.get_or_insert_with(|| refusal(&error, source));
                    }
                }
            }
        }
    }
    match first_refusal {
        Some(refusal) if analyses.is_empty() => Err(refusal.into()),
        _ => Ok(analyses),
    }
}

/// Fields as descriptions of GPUs spell them.
///
/// # Errors
///
/// [`Failure::Usage`] names the first one that no GPU has.
pub fn fields(names: &[String]) -> Result<Vec<&'static str>, Failure> {
    let known = || Gpu::FIELDS.iter().copied();
    let field = |name: &String| {
        known().find(|field| field == name).ok_or_else(|| {
            let report = Report::new(format!("a GPU has no field `{name}`"));
            Failure::Usage(report.maybe_hint(suggest(name, known())))
        })
    };
    names.iter().map(field).collect()
}
