//! Work, time and advice of a candidate that is right and safe, at the given size.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpucast_buffers::init::Init;
use gpucast_forecast::input::cuda_source::CudaFile;
use gpucast_forecast::input::plan::{Buffer, Plan};
use gpucast_forecast::{Failure, Report};

use crate::inputs::Variation;
use crate::judgement::{Evidence, Fault, Judgement, LeftOut};
use crate::right::Compared;
use crate::time::{Forecast, Predicted, Times, filled};
use crate::work::{Shared, Work};
use crate::{Phase, Request};

/// Adds work, times and advice to a judgement.
pub(crate) fn compare(
    request: &Request<'_>,
    compared: &Compared<'_>,
    files: &BTreeMap<u32, CudaFile>,
    judgement: &mut Judgement,
) -> Result<(), Failure> {
    let mut work = moved(compared);
    if let Some(forecast) = &request.forecast {
        predict(request, forecast, compared, (&mut work, files), judgement)?;
    }
    judgement.work = Some(work);
    Ok(())
}

fn moved(compared: &Compared<'_>) -> Work {
    let stage = &compared.stage;
    let shared: Vec<Shared<'_>> = stage
        .pairs
        .iter()
        .map(|pair| {
            let buffer: &Buffer = &stage.reference.plan.buffers[pair.reference];
            Shared {
                buffer: &buffer.name,
                element: buffer.ty.bytes() as u64,
                is_input: !stage.written[pair.reference],
                reference: pair.reference,
                candidate: pair.candidate,
            }
        })
        .collect();
    Work::moved(&shared, [&compared.answer.ran.footprint, &compared.footprint])
}

fn predict(
    request: &Request<'_>,
    forecast: &Forecast<'_>,
    compared: &Compared<'_>,
    (work, files): (&mut Work, &BTreeMap<u32, CudaFile>),
    judgement: &mut Judgement,
) -> Result<(), Failure> {
    let (reference, candidate) = (&compared.stage.reference, &compared.stage.candidate);
    let predicted = |plan: Plan, loaded| Predicted::new(plan, loaded, forecast, request.supervisor);
    let own = filled(&candidate.plan, &contents(compared));
    (request.phase)(Phase::Reference);
    let reference = match predicted(reference.plan.clone(), &reference.loaded) {
        Ok(reference) => reference,
        Err(failure) => return leave_out(judgement, "the reference", failure),
    };
    (request.phase)(Phase::Candidate);
    let candidate = match predicted(own, &candidate.loaded) {
        Ok(candidate) => candidate,
        Err(failure) => return leave_out(judgement, "the candidate", failure),
    };
    work.add_operations(&reference, &candidate);
    if let (None, Some(refusal)) = (reference.refusal(), candidate.refusal()) {
        let size = judgement.cases.first().map_or_else(String::new, |case| case.size.clone());
        let fault = Fault::Launch(vec![Report::new(refusal)]);
        judgement.evidence.push(Evidence { at: Some((size, Variation::Given)), fault });
        return Ok(());
    }
    if let (Some(reference), Some(own)) = (reference.time(), candidate.time()) {
        judgement.times = Some(Times::new(&forecast.gpu.name, reference, own));
        judgement.advice = candidate.advice(files, forecast.gpu)?;
    }
    Ok(())
}

/// What the candidate's buffers hold before its first run, where the host fills them.
fn contents(compared: &Compared<'_>) -> Vec<(usize, Arc<[u8]>)> {
    let plan = &compared.stage.reference.plan;
    let is_filled = |buffer: &Buffer| buffer.init != Init::Unstated && buffer.pointers.is_empty();
    let pairs = compared.stage.pairs.iter().filter(|pair| is_filled(&plan.buffers[pair.reference]));
    pairs
        .map(|pair| (pair.candidate, Arc::from(&*compared.answer.contents[pair.reference])))
        .collect()
}

fn leave_out(judgement: &mut Judgement, side: &str, failure: Failure) -> Result<(), Failure> {
    let because = failure.in_one_line()?;
    judgement.left_out.push(LeftOut { what: format!("the time of {side}"), because });
    Ok(())
}
