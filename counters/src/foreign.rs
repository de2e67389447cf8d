//! Serde for enums of crates that do without it.
//!
//! Serde matches each of these with the type that it names: a variant that is missing here is an
//! error of the compiler.

use gpucast_interpreter::AccessKind;
use gpucast_ptx_frontend::isa::InstructionClass;
use gpucast_ptx_frontend::types::StateSpace;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(remote = "StateSpace")]
pub(crate) enum SpaceName {
    Reg,
    Sreg,
    Const,
    Global,
    Local,
    Param,
    Shared,
    Tex,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "AccessKind")]
pub(crate) enum Access {
    Load,
    LoadReadOnly,
    Store,
    Atomic,
    Reduction,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "InstructionClass")]
pub(crate) enum Class {
    Fp16,
    Fp32,
    Fp64,
    Integer,
    BitConvert,
    LoadStore,
    Control,
    InterThread,
    Texture,
    Tensor,
    Misc,
}

/// A state space that may be missing.
pub(crate) mod optional_space {
    use gpucast_ptx_frontend::types::StateSpace;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::SpaceName;

    #[derive(Serialize, Deserialize)]
    struct Space(#[serde(with = "SpaceName")] StateSpace);

    pub(crate) fn serialize<S: Serializer>(
        space: &Option<StateSpace>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        space.map(Space).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<StateSpace>, D::Error> {
        Ok(Option::<Space>::deserialize(deserializer)?.map(|Space(space)| space))
    }
}
