//! What nvcc's code calls before `main` and at the end: fatbins, kernels and variables.

use std::ffi::c_void;

use super::plain_functions;
use crate::abi::{self, In, Text};
use crate::notices;
use crate::state::{self, State};

/// The structure that nvcc puts around a fatbin (`fatbinary_section.h`).
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Wrapper {
    magic: u32,
    version: u32,
    data: *const u8,
    others: *const c_void,
}

const WRAPPER_MAGIC: u32 = 0x4662_43B1;
const FATBIN_MAGIC: u32 = 0xBA55_ED50;

/// The head of a fatbin.
#[repr(C)]
#[derive(Clone, Copy)]
struct Header {
    magic: u32,
    version: u16,
    header_bytes: u16,
    bytes: u64,
}

/// The bytes of the fatbin in a wrapper; none if it is something else.
pub(crate) fn fatbin(wrapper: In<Wrapper>) -> Option<&'static [u8]> {
    let wrapper = wrapper.get().ok().filter(|wrapper| wrapper.magic == WRAPPER_MAGIC)?;
    fatbin_at(wrapper.data)
}

/// The bytes of a fatbin that begins at an address.
pub(crate) fn fatbin_at(data: *const u8) -> Option<&'static [u8]> {
    let header = abi::header::<Header>(data).filter(|header| header.magic == FATBIN_MAGIC)?;
    let bytes =
        usize::try_from(header.bytes).ok()?.checked_add(usize::from(header.header_bytes))?;
    abi::bytes_of_program(data, bytes)
}

/// The version of a wrapper around what is to be linked (`FATBINC_LINK_VERSION`): programs of
/// `nvcc -rdc=true` have one. Its last field is a list of fatbins that ends with a null pointer.
const LINKED: u32 = 2;

/// The most translation units of a program.
const MOST_UNITS: usize = 1 << 16;

/// The fatbins of a wrapper, one for each translation unit; none if it is something else.
fn units(wrapper: In<Wrapper>) -> Option<Vec<&'static [u8]>> {
    let of_wrapper = wrapper.get().ok().filter(|wrapper| wrapper.magic == WRAPPER_MAGIC)?;
    if of_wrapper.version != LINKED || of_wrapper.others.is_null() {
        return Some(vec![fatbin(wrapper)?]);
    }
    let list: In<*const u8> = In::at_address(of_wrapper.others.cast());
    let all = (0..MOST_UNITS).map_while(|at| list.at(at).ok().filter(|unit| !unit.is_null()));
    all.map(fatbin_at).collect()
}

/// A handle of a fatbin: the number behind its address.
type Handle = In<u64>;

pub(super) fn registered(handle: Handle, register: impl FnOnce(&mut State, usize)) {
    let Ok(image) = handle.get() else { return };
    // These functions return nothing; nothing here fails.
    let _ = state::with(|state| {
        register(state, image as usize);
        Ok(())
    });
}

plain_functions! {
    /// Takes up a fatbin; the result is its handle.
    fn __cudaRegisterFatBinary(wrapper: In<Wrapper>) -> *const u64 {
        let units = units(wrapper).unwrap_or_else(|| {
            notices::once("the program registers device code of an unknown form");
            vec![&[]]
        });
        let number = state::with(|state| Ok(state.register_image(units) as u64)).unwrap_or(u64::MAX);
        Box::leak(Box::new(number))
    }

    /// All functions and variables of a fatbin are registered.
    fn __cudaRegisterFatBinaryEnd(_handle: Handle) {}

    /// The program ends, or its library is unloaded.
    fn __cudaUnregisterFatBinary(handle: Handle) {
        state::report(false);
        registered(handle, State::unregister);
    }

    /// A kernel, by the address of its function on the host.
    fn __cudaRegisterFunction(
        handle: Handle,
        host: u64,
        _device: u64,
        name: Text,
        _thread_limit: i32,
        _thread: u64,
        _block: u64,
        _block_extents: u64,
        _grid_extents: u64,
        _warp_size: u64,
    ) {
        let Ok(name) = name.get() else { return };
        registered(handle, |state, image| state.register_function(image, host, name));
    }

    /// A variable of device or constant memory, by the address of its shadow on the host.
    fn __cudaRegisterVar(
        handle: Handle,
        host: u64,
        _device: u64,
        name: Text,
        _external: i32,
        _bytes: usize,
        _constant: i32,
        _global: i32,
    ) {
        let Ok(name) = name.get() else { return };
        registered(handle, |state, image| state.register_variable(image, host, name));
    }

    /// A managed variable: the host reaches it through a pointer.
    fn __cudaRegisterManagedVar(
        handle: Handle,
        pointer: u64,
        _device: u64,
        name: Text,
        _external: i32,
        _bytes: usize,
        _constant: i32,
        _global: i32,
    ) {
        let Ok(name) = name.get() else { return };
        registered(handle, |state, image| state.register_managed(image, pointer, name));
    }

    /// Managed variables are about to be used.
    fn __cudaInitModule(_handle: Handle) -> u8 {
        u8::from(state::with(State::place_managed).is_ok())
    }
}
