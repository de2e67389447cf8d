//! The values of an SM that follow from a compute capability: `data/capabilities.toml`, read once.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::gpu::quantity::ComputeCapability;
use crate::gpu::source::Source;

/// The table as it was written.
const TEXT: &str = include_str!("../../../data/capabilities.toml");

/// A figure of a capability.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    /// The value in the first unit of the field.
    pub(super) value: f64,
    /// As the figure of a GPU: it follows from the capability, or was assumed for it.
    pub(super) source: Source,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    figures: Vec<Block>,
}

#[derive(Deserialize)]
struct Block {
    capabilities: Vec<String>,
    source: Origin,
    #[serde(flatten)]
    values: BTreeMap<String, f64>,
}

/// The origin of a value.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Origin {
    Datasheet(String),
    Benchmark(String),
    Assumed(String),
}

impl Origin {
    fn of(&self, capability: &str) -> Source {
        match self {
            Self::Datasheet(text) => {
                Source::Derived(format!("capability {capability}: {text}").into())
            }
            Self::Benchmark(text) => {
                Source::Derived(format!("capability {capability}, measured: {text}").into())
            }
            Self::Assumed(text) => {
                Source::Assumed(format!("capability {capability}: {text}").into())
            }
        }
    }
}

type Table = BTreeMap<(String, String), Entry>;

/// The table; a test rules out that it cannot be read.
static TABLE: LazyLock<Table> = LazyLock::new(|| read(TEXT).unwrap_or_default());

fn read(text: &str) -> Result<Table, String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
    let mut table = Table::new();
    for block in &file.figures {
        for capability in &block.capabilities {
            for (field, &value) in &block.values {
                let entry = Entry { value, source: block.source.of(capability) };
                if table.insert((capability.clone(), field.clone()), entry).is_some() {
                    return Err(format!("`{field}` of capability {capability} stands there twice"));
                }
            }
        }
    }
    Ok(table)
}

/// A figure of a capability, if it is known.
pub(super) fn entry(capability: ComputeCapability, field: &str) -> Option<&'static Entry> {
    TABLE.get(&(capability.to_string(), field.to_owned()))
}

#[cfg(test)]
mod tests {
    use gpucast_counters::device::KNOWN_CAPABILITIES;

    use super::*;
    use crate::gpu::Gpu;
    use crate::gpu::derive::rules::RULES;

    /// The fields that a capability may be without: what it cannot do, or does without a cache.
    const OPTIONAL: [&str; 8] = [
        "fp16_rate",
        "fp64_rate",
        "tensor_rate",
        "shuffle_rate",
        "wide_conversion_rate",
        "l1_bytes_rate",
        "l1_latency",
        "l2_bytes_rate",
    ];

    /// Formats that not all tensor cores multiply.
    const TENSOR_FORMATS: [&str; 6] = [
        "tensor_scaled_fp4_rate",
        "tensor_fp64_rate",
        "tensor_half_rate",
        "tensor_int8_rate",
        "tensor_int4_rate",
        "tensor_int1_rate",
    ];

    /// Figures of tensor memory, which few GPUs have.
    const TENSOR_MEMORY: [&str; 5] = [
        "tensor_memory_columns",
        "tensor_memory_latency",
        "tensor_pair_latency",
        "tensor_memory_read_rate",
        "tensor_memory_write_rate",
    ];

    /// Figures of energy, which few generations were measured for.
    const ENERGY: [&str; 16] = [
        "sm_power",
        "energy_clock",
        "voltage_floor",
        "voltage_floor_clock",
        "instruction_energy",
        "fp32_energy",
        "fp64_energy",
        "integer_energy",
        "special_energy",
        "tensor_energy",
        "shared_energy",
        "l1_energy",
        "l2_read_energy",
        "l2_write_energy",
        "dram_read_energy",
        "dram_write_energy",
    ];

    /// Fields that only the simulation of an SM reads, which begins with capability 3.0.
    fn is_of_simulation(field: &str) -> bool {
        let place = |name: &str| Gpu::FIELDS.iter().position(|field| *field == name);
        place(field) >= place("issue_width")
    }

    fn tabulated() -> Vec<&'static str> {
        RULES.iter().filter(|rule| rule.is_tabulated()).map(|rule| rule.field).collect()
    }

    #[test]
    fn the_table_can_be_read_and_names_fields_of_gpus_alone() {
        let table = read(TEXT).unwrap();
        for (capability, field) in table.keys() {
            assert!(tabulated().contains(&field.as_str()), "{field}");
            assert!(Gpu::units(field).is_some(), "{field}");
            assert!(
                KNOWN_CAPABILITIES.iter().any(|known| known.to_string() == *capability),
                "{capability}"
            );
        }
    }

    #[test]
    fn every_known_capability_has_every_figure_that_it_must_have() {
        for capability in KNOWN_CAPABILITIES {
            let major = capability.major;
            for field in tabulated() {
                let is_there = entry(capability, field).is_some();
                let may_lack = OPTIONAL.contains(&field)
                    || TENSOR_FORMATS.contains(&field)
                    || TENSOR_MEMORY.contains(&field)
                    || ENERGY.contains(&field)
                    || (major == 1 && field == "l2_latency")
                    || (major < 3 && is_of_simulation(field));
                assert!(is_there || may_lack, "{field} of {capability}");
            }
            // From Volta on nothing is optional but tensor cores, which not all cards of 7.5 have.
            if major >= 7 {
                for field in OPTIONAL.into_iter().filter(|field| *field != "tensor_rate") {
                    assert!(entry(capability, field).is_some(), "{field}");
                }
            }
        }
    }

    #[test]
    fn a_figure_that_stands_there_twice_is_refused() {
        let block = "[[figures]]\ncapabilities = [\"7.0\"]\nsource = { assumed = \"x\" }\n\
                     fp32_rate = 64\n";
        assert!(read(block).is_ok());
        assert!(read(&format!("{block}{block}")).is_err());
    }
}
