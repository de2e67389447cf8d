//! Files of GPUs that contradict machine code.

use gpucast_model::Gpu;

/// The field whose clocks machine code carries from Maxwell on, and the first generation.
const FIELD: &str = "arithmetic_latency";
const MAXWELL: u32 = 5;

/// A latency of a GPU's file that machine code does not wait for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OtherStallCount {
    /// The field.
    pub field: &'static str,
    /// Clocks that the file says.
    pub given: f64,
    /// Clocks that machine code of its compute capability leaves.
    pub coded: f64,
}

/// The latency of a file that machine code does not wait for, if there is one.
///
/// Stall counts between dependent instructions are part of machine code. They are the same for all
/// GPUs of a compute capability, so no GPU can take longer, and none shows that it takes less.
#[must_use]
pub fn other_stall_count(gpu: &Gpu) -> Option<OtherStallCount> {
    let capability = gpu.compute_capability.as_ref()?.value;
    if capability.major < MAXWELL {
        return None;
    }
    let text = file(&capability.to_string(), "");
    let coded = Gpu::from_toml(&text).ok()?.completed().number(FIELD)?;
    let given = gpu.number(FIELD)?;
    (given != coded).then_some(OtherStallCount { field: FIELD, given, coded })
}

/// The file of a GPU of which nothing is known but its compute capability, and `further` fields.
fn file(capability: &str, further: &str) -> String {
    let source = "source = { datasheet = \"its compute capability\" }";
    format!(
        "name = \"capability\"\ndisplay_name = \"capability\"\n\
         vendor = {{ value = \"NVIDIA\", {source} }}\n\
         compute_capability = {{ value = \"{capability}\", {source} }}\n{further}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_may_not_change_what_machine_code_carries() {
        let found = |capability: &str, latency: u32| {
            let latency = format!(
                "arithmetic_latency = {{ value = {latency}, unit = \"clock\", \
                 source = {{ datasheet = \"mine\" }} }}\n"
            );
            let text = file(capability, &latency);
            other_stall_count(&Gpu::from_toml(&text).unwrap().completed())
        };
        let expected = OtherStallCount { field: "arithmetic_latency", given: 5.0, coded: 4.0 };
        assert_eq!(found("9.0", 5), Some(expected));
        assert_eq!((found("9.0", 4), found("6.1", 6)), (None, None));
        // Kepler waits in hardware.
        assert_eq!(found("3.5", 10), None);
    }
}
