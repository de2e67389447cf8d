//! Finding functions by name and version.

use std::ffi::c_void;

use gpucast_host::Error;

use super::{address, driver_functions};
use crate::abi::{In, Out, Text};
use crate::notices;

/// Functions that change with the version that a client asks for: the name, the first version of
/// CUDA, and the function from then on. `cudaTypedefs.h` has them for all versions.
const VERSIONS: &[(&str, i32, &str)] = &[
    ("cuCtxCreate", 3_020, "cuCtxCreate_v2"),
    ("cuCtxCreate", 12_050, "cuCtxCreate_v4"),
    ("cuDeviceGetUuid", 9_020, "cuDeviceGetUuid"),
    ("cuDeviceGetUuid", 11_040, "cuDeviceGetUuid_v2"),
    ("cuGetProcAddress", 11_030, "cuGetProcAddress"),
    ("cuGetProcAddress", 12_000, "cuGetProcAddress_v2"),
    ("cuEventElapsedTime", 2_000, "cuEventElapsedTime"),
    ("cuEventElapsedTime", 12_080, "cuEventElapsedTime_v2"),
    ("cuGraphAddDependencies", 10_000, "cuGraphAddDependencies"),
    ("cuGraphAddDependencies", 12_030, "cuGraphAddDependencies_v2"),
    ("cuGraphAddNode", 12_020, "cuGraphAddNode"),
    ("cuGraphAddNode", 12_030, "cuGraphAddNode_v2"),
    ("cuGraphAddNode", 13_040, "cuGraphAddNode_v3"),
    ("cuGraphExecUpdate", 10_020, "cuGraphExecUpdate"),
    ("cuGraphExecUpdate", 12_000, "cuGraphExecUpdate_v2"),
    ("cuGraphGetEdges", 10_000, "cuGraphGetEdges"),
    ("cuGraphGetEdges", 12_030, "cuGraphGetEdges_v2"),
    ("cuGraphNodeGetDependencies", 10_000, "cuGraphNodeGetDependencies"),
    ("cuGraphNodeGetDependencies", 12_030, "cuGraphNodeGetDependencies_v2"),
    ("cuGraphNodeGetDependentNodes", 10_000, "cuGraphNodeGetDependentNodes"),
    ("cuGraphNodeGetDependentNodes", 12_030, "cuGraphNodeGetDependentNodes_v2"),
    ("cuGraphRemoveDependencies", 10_000, "cuGraphRemoveDependencies"),
    ("cuGraphRemoveDependencies", 12_030, "cuGraphRemoveDependencies_v2"),
];

/// The function behind a name for clients of a version.
fn function(name: &str, version: i32) -> Option<&'static str> {
    let versions = VERSIONS.iter().filter(|(base, _, _)| *base == name);
    let newest = versions.clone().rfind(|&&(_, since, _)| since <= version);
    if versions.clone().next().is_some() {
        return newest.map(|&(_, _, function)| function);
    }
    let second = format!("{name}_v2");
    let known = |wanted: &str| super::names().find(|&known| known == wanted);
    known(&second).or_else(|| known(name))
}

/// `CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND`.
const NO_SYMBOL: i32 = 1;

fn look_up(
    name: Text,
    place: Out<*const c_void>,
    version: i32,
    status: Out<i32>,
) -> Result<(), Error> {
    let found = name.get().ok().and_then(|name| address(function(name, version)?));
    match found {
        Some(address) => {
            status.maybe_put(0);
            place.put(address)
        }
        None => {
            status.maybe_put(NO_SYMBOL);
            place.maybe_put(std::ptr::null());
            Err(Error::NotFound)
        }
    }
}

/// How the table begins that NVRTC and clients for Python ask for and do without, in both orders of
/// bytes.
const OPTIONAL: [[u8; 4]; 2] = [[0xD3, 0x51, 0x91, 0xDA], [0xDA, 0x91, 0x51, 0xD3]];

driver_functions! {
    /// The function of a name for clients of a version.
    fn cuGetProcAddress(name: Text, place: Out<*const c_void>, version: i32, _flags: u64) {
        let found = name.get().ok().and_then(|name| address(function(name, version)?));
        place.put(found.ok_or(Error::NotFound)?)
    }

    /// The function of a name for clients of a version, with a status.
    fn cuGetProcAddress_v2(
        name: Text,
        place: Out<*const c_void>,
        version: i32,
        _flags: u64,
        status: Out<i32>,
    ) {
        look_up(name, place, version, status)
    }

    /// Tables that no header documents: there are none. Through some of them NVIDIA's runtime asks
    /// for the proof that this is NVIDIA's driver.
    fn cuGetExportTable(_table: Out<*const c_void>, id: In<[u8; 16]>) {
        let id = id.get()?;
        if !OPTIONAL.iter().any(|known| id.starts_with(known)) {
            notices::once(
                "NVIDIA's own CUDA runtime, linked into a library of this program, works with \
                 NVIDIA's driver only; use a build with the shared runtime (libcudart.so), or the \
                 library's PTX with `gpucast predict`",
            );
        }
        Err(Error::NotFound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_a_name_lead_to_their_functions() {
        assert_eq!(function("cuMemAlloc", 13_000), Some("cuMemAlloc_v2"));
        assert_eq!(function("cuInit", 12_000), Some("cuInit"));
        assert_eq!(function("cuCtxCreate", 12_000), Some("cuCtxCreate_v2"));
        assert_eq!(function("cuCtxCreate", 13_000), Some("cuCtxCreate_v4"));
        assert_eq!(function("cuCtxCreate", 1), None);
        assert_eq!(function("cuGraphAddDependencies", 12_020), Some("cuGraphAddDependencies"));
        assert_eq!(function("cuGraphAddNode", 12_040), Some("cuGraphAddNode_v2"));
        assert_eq!(function("", 13_000), None);
        assert!(super::super::names().all(|name| address(name).is_some()));
    }
}
