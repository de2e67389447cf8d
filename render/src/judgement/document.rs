//! A judgement for programs.

use gpucast_judge::inputs::Variation;
use gpucast_judge::judgement::{Case, Evidence, Judgement, LeftOut, Output};
use serde_json::{Value, json};

use super::{SCHEMA, cost, evidence};

pub(super) fn value(judgement: &Judgement) -> Value {
    let mut value = json!({
        "schema": SCHEMA,
        "candidate": judgement.candidate,
        "reference": judgement.reference,
        "verdict": judgement.verdict.name(),
        "evidence": judgement.evidence.iter()
            .flat_map(|one| faults(one, judgement)).collect::<Vec<Value>>(),
        "cases": judgement.cases.iter().map(case).collect::<Vec<Value>>(),
        "left_out": judgement.left_out.iter().map(|LeftOut { what, because }| {
            json!({ "what": what, "because": because })
        }).collect::<Vec<Value>>(),
        "cut_short": judgement.is_cut_short,
        "results": judgement.outputs.iter().map(|Output { buffer, tolerance }| {
            json!({ "buffer": buffer, "rtol": tolerance.rtol, "atol": tolerance.atol })
        }).collect::<Vec<Value>>(),
    });
    if let Some(confinement) = &judgement.confinement {
        value["confinement"] = json!({
            "time_limit_s": confinement.seconds,
            "memory_limit_bytes": confinement.bytes,
            "holds_limits": confinement.holds_limits,
            "holds_files": confinement.holds_files,
            "holds_network": confinement.holds_network,
        });
    }
    if let Some(confidence) = judgement.confidence() {
        value["confidence"] = json!(confidence);
    }
    if let Some(work) = &judgement.work {
        value["work"] = cost::work_value(work);
    }
    if let Some(times) = &judgement.times {
        value["times"] = cost::times_value(times);
    }
    if let Some(advice) = &judgement.advice {
        value["advice"] = json!(advice);
    }
    value
}

fn case(case: &Case) -> Value {
    json!({ "size": case.size, "inputs": inputs(case.inputs), "agrees": case.agrees })
}

fn inputs(inputs: Variation) -> Value {
    match inputs {
        Variation::Given => json!({ "kind": "given" }),
        Variation::Seed(seed) => json!({ "kind": "seed", "seed": seed }),
        Variation::Sparse(seed) => json!({ "kind": "outliers", "seed": seed }),
    }
}

fn faults(one: &Evidence, judgement: &Judgement) -> Vec<Value> {
    let told = evidence::told(one, judgement).into_iter();
    told.map(|told| {
        let mut value = json!({
            "code": told.code,
            "verdict": one.fault.verdict().name(),
            "message": told.message,
            "facts": told.facts,
        });
        if let Some((size, variation)) = &one.at {
            value["size"] = json!(size);
            value["inputs"] = inputs(*variation);
        }
        if let Some(place) = told.place {
            value["file"] = json!(place.file);
            value["line"] = json!(place.line);
        }
        if let Some(hint) = told.hint {
            value["hint"] = json!(hint);
        }
        value
    })
    .collect()
}
