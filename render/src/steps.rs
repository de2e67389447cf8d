//! The steps of a warp as a document that a page moves through.
//!
//! A warp of some thousand steps writes a hundred thousand values. Values that are the same in all
//! lanes, and those that grow by the same from lane to lane, are therefore told by one or two
//! numbers.

use std::collections::BTreeMap;

use gpucast_counters::LaneAccess;
use gpucast_forecast::Report;
use gpucast_forecast::input::cuda_source::CudaFile;
use gpucast_forecast::input::plan::Plan;
use gpucast_forecast::run::warp_steps::{StepInstruction, StepRegister, WarpStep, WarpSteps};
use gpucast_forecast::run::warp_way::{Object, WarpChoice};
use gpucast_interpreter::RegisterValues;
use serde_json::{Value, json};

use crate::json;

const SCHEMA: &str = "gpucast.steps/1";

/// The steps of a warp with what gives them names.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The launches.
    pub plan: &'a Plan,
    /// The warp, and the steps that are shown.
    pub choice: &'a WarpChoice,
    /// Its record.
    pub steps: &'a WarpSteps,
    /// The files of the source.
    pub files: &'a BTreeMap<u32, CudaFile>,
}

/// The document.
///
/// # Errors
///
/// If it has a value that JSON cannot hold, which no input brings about.
pub fn document(view: &View<'_>) -> Result<String, Report> {
    let View { plan, choice, steps, .. } = *view;
    let planned = &plan.launches[choice.launch];
    json::document(&json!({
        "schema": SCHEMA,
        "kernel": planned.kernel,
        "grid": planned.grid,
        "block": planned.block,
        "cta": choice.cta,
        "warp": choice.warp,
        "first": choice.steps.start,
        "all_steps": steps.all_steps,
        "has_ended": steps.has_ended,
        "faults": steps.faults.iter().map(|fault| fault.message.as_str()).collect::<Vec<_>>(),
        "instructions": steps.instructions.iter().map(|one| view.instruction(one)).collect::<Vec<_>>(),
        "registers": steps.registers.iter().map(register).collect::<Vec<_>>(),
        "objects": steps.objects.iter().map(object).collect::<Vec<_>>(),
        "steps": steps.steps.iter().map(step).collect::<Vec<_>>(),
    }))
}

impl View<'_> {
    fn instruction(&self, one: &StepInstruction) -> Value {
        let file = one.location.and_then(|place| self.files.get(&place.file));
        json!({
            "ptx_line": one.line,
            "ptx": one.text,
            "cuda_file": file.map(|file| file.name.as_str()),
            "cuda_line": one.location.map(|place| place.line),
        })
    }
}

/// The type is as in PTX, without its dot.
fn register(one: &StepRegister) -> Value {
    json!({ "name": one.name, "type": format!("{:?}", one.ty).to_lowercase() })
}

fn object(one: &Object) -> Value {
    let Object { space, name, address, bytes } = one;
    json!({ "space": space.text(), "name": name, "address": address, "bytes": bytes })
}

/// `[instruction, lanes, executing lanes, [[register, values], …], [access, …]]`.
fn step(step: &WarpStep) -> Value {
    let WarpStep { instruction, lanes, executing, writes, accesses } = step;
    let writes = writes.iter().map(|(register, all)| json!([register, values(all, *executing)]));
    let accesses = accesses.iter().map(access);
    json!([
        instruction,
        lanes,
        executing,
        writes.collect::<Vec<Value>>(),
        accesses.collect::<Vec<Value>>()
    ])
}

fn access(access: &LaneAccess) -> Value {
    json!({
        "space": access.space.text(),
        "kind": access.effect(),
        "bytes": access.bytes_per_lane,
        "lanes": access.mask,
        "addresses": lanes(&access.addresses.map(u128::from), access.mask),
    })
}

/// A predicate is the lanes in which it holds; other values are those of [`lanes`].
fn values(all: &RegisterValues, executing: u32) -> Value {
    match all {
        RegisterValues::Predicate(holds) => json!(holds & executing),
        RegisterValues::Bits32(bits) => lanes(&bits.map(u128::from), executing),
        RegisterValues::Bits64(bits) => lanes(&bits.map(u128::from), executing),
        RegisterValues::Bits128(bits) => lanes(bits, executing),
    }
}

/// Values as bits: one for all lanes, the first one and the step from lane to lane, or one for each
/// lane of the mask with `null` for the others. What JavaScript's numbers do not hold is a text.
fn lanes(bits: &[u128; 32], mask: u32) -> Value {
    let taking_part = || (0..32_usize).filter(|lane| mask >> lane & 1 == 1);
    let Some(first) = taking_part().next() else { return Value::Null };
    let from = bits[first];
    if taking_part().all(|lane| bits[lane] == from) {
        return number(from);
    }
    let second = taking_part().nth(1).unwrap_or(first);
    let span = (second - first) as u128;
    let stride = bits[second].wrapping_sub(from);
    let is_even = stride.is_multiple_of(span) && stride < 1 << 32;
    let stride = stride / span;
    let expected = |lane: usize| from.wrapping_add(stride.wrapping_mul((lane - first) as u128));
    if is_even && taking_part().all(|lane| bits[lane] == expected(lane)) {
        return json!([number(from), stride as u64]);
    }
    (0..32)
        .map(|lane| if mask >> lane & 1 == 1 { number(bits[lane]) } else { Value::Null })
        .collect()
}

/// The greatest number up to which a `f64` holds every whole one.
const MOST_EXACT: u128 = 1 << 53;

fn number(bits: u128) -> Value {
    match u64::try_from(bits) {
        Ok(small) if bits <= MOST_EXACT => json!(small),
        _ => json!(format!("{bits:#x}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a page makes of values again.
    fn read(value: &Value, mask: u32) -> Vec<Option<u128>> {
        let number = |value: &Value| match value {
            Value::String(text) => u128::from_str_radix(&text[2..], 16).unwrap(),
            value => u128::from(value.as_u64().unwrap()),
        };
        let first = mask.trailing_zeros();
        let of_lane = |lane: u32| match value {
            Value::Array(pair) if pair.len() == 2 => {
                number(&pair[0]) + u128::from(lane - first) * number(&pair[1])
            }
            Value::Array(all) => number(&all[lane as usize]),
            one => number(one),
        };
        (0..32).map(|lane| (mask >> lane & 1 == 1).then(|| of_lane(lane))).collect()
    }

    #[test]
    fn values_are_told_shortly_and_wholly() {
        let line = |at: usize| 1000 + 4 * at as u128;
        let cases: [([u128; 32], usize); 5] = [
            ([7; 32], 0),
            (std::array::from_fn(line), 2),
            (std::array::from_fn(|at| line(31 - at)), 32),
            (std::array::from_fn(|at| (at * at) as u128), 32),
            (std::array::from_fn(|at| u128::MAX - at as u128), 32),
        ];
        for (bits, length) in cases {
            for mask in [u32::MAX, 1, 0x8000_0001, 0xf0f0_0ff0] {
                let told = lanes(&bits, mask);
                let expected =
                    (0..32).map(|lane| (mask >> lane & 1 == 1).then(|| bits[lane as usize]));
                assert_eq!(read(&told, mask), expected.collect::<Vec<_>>(), "{mask:#x}");
            }
            let length_told = lanes(&bits, u32::MAX).as_array().map_or(0, Vec::len);
            assert_eq!(length_told, length);
        }
        assert_eq!(lanes(&[7; 32], 0), Value::Null);
    }
}
