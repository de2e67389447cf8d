//! Modules, libraries, kernels, and the linker.

use std::ffi::{CStr, c_void};

use gpucast_host::{Error, FunctionId, Image, ModuleId, linking};

use super::driver_functions;
use crate::abi::{self, In, Out, Text};
use crate::both::{files, functions, limits};
use crate::notices;
use crate::runtime::{Wrapper, fatbin, fatbin_at};
use crate::state::{on_device, with};

/// `CUmodule` and `CUlibrary`: the module's number, from 1 on.
pub(super) type ModuleHandle = u64;

/// `CUfunction` and `CUkernel`: the function's number, from 1 on.
pub(super) type FunctionHandle = u64;

/// The module of a handle.
pub(super) fn module(handle: ModuleHandle) -> Result<ModuleId, Error> {
    let number = handle.checked_sub(1).ok_or(Error::InvalidHandle)?;
    usize::try_from(number).map(ModuleId).map_err(|_| Error::InvalidHandle)
}

/// The function of a handle.
pub(super) fn function(handle: FunctionHandle) -> Result<FunctionId, Error> {
    let number = handle.checked_sub(1).ok_or(Error::InvalidHandle)?;
    usize::try_from(number).map(FunctionId).map_err(|_| Error::InvalidHandle)
}

/// The handle of a function.
pub(super) fn function_handle(function: FunctionId) -> FunctionHandle {
    function.0 as u64 + 1
}

const WRAPPER_MAGIC: u32 = 0x4662_43B1;
const FATBIN_MAGIC: u32 = 0xBA55_ED50;
const ELF_MAGIC: u32 = u32::from_le_bytes(*b"\x7fELF");

/// The bytes of an image whose size nobody says: a wrapper, a fatbin, machine code, or PTX.
fn image(address: *const u8) -> Result<&'static [u8], Error> {
    match abi::magic(address).ok_or(Error::InvalidValue)? {
        WRAPPER_MAGIC => {
            let wrapper: In<Wrapper> = In::at_address(address);
            fatbin(wrapper).ok_or(Error::InvalidImage)
        }
        FATBIN_MAGIC => fatbin_at(address).ok_or(Error::InvalidImage),
        ELF_MAGIC => {
            // The table of sections stands at the end: e_shoff, e_shentsize, e_shnum.
            let header: [u8; 64] = abi::header(address).ok_or(Error::InvalidImage)?;
            let half = |at: usize| usize::from(u16::from_le_bytes([header[at], header[at + 1]]));
            let table =
                header[40..48].iter().rev().fold(0, |sum: usize, &b| sum << 8 | usize::from(b));
            let bytes = table.checked_add(half(58) * half(60)).ok_or(Error::InvalidImage)?;
            abi::bytes_of_program(address, bytes).ok_or(Error::InvalidImage)
        }
        _ => Ok(Text::at_address(address).get()?.as_bytes()),
    }
}

fn load(handle: Out<ModuleHandle>, bytes: &[u8]) -> Result<(), Error> {
    handle.check()?;
    let module = on_device(|device| device.load(Image::Given(bytes)))?;
    handle.put(module.0 as u64 + 1)
}

fn load_file(handle: Out<ModuleHandle>, path: Text) -> Result<(), Error> {
    handle.check()?;
    load(handle, &files::module(path)?)
}

/// Forgets a module with its variables, and what was said of its texture references.
fn unload(handle: ModuleHandle) -> Result<(), Error> {
    let module = module(handle)?;
    with(|state| {
        state.device()?.unload(module)?;
        let mut references = std::mem::take(&mut state.references);
        let device = state.device()?;
        references.retain(|&variable, _| device.block(variable).is_some());
        state.references = references;
        Ok(())
    })
}

fn find(handle: Out<FunctionHandle>, of: ModuleHandle, name: Text) -> Result<(), Error> {
    let name = name.get()?;
    let found = on_device(|device| device.function(module(of)?, name))?;
    handle.put(function_handle(found))
}

fn place(address: Out<u64>, bytes: Out<usize>, of: ModuleHandle, name: Text) -> Result<(), Error> {
    let name = name.get()?;
    let found = on_device(|device| device.variable(module(of)?, name))?;
    address.maybe_put(found.address);
    bytes.maybe_put(found.bytes as usize);
    Ok(())
}

fn attribute(value: Out<i32>, which: i32, handle: FunctionHandle) -> Result<(), Error> {
    value.put(on_device(|device| functions::attribute(device, function(handle)?, which))?)
}

fn set_attribute(handle: FunctionHandle, which: i32, value: i32) -> Result<(), Error> {
    on_device(|device| functions::set_attribute(device, function(handle)?, which, value))
}

/// What is to be linked. The result is one PTX text, which `cuModuleLoadData` takes, or the only
/// image that there is.
#[derive(Default)]
struct Link {
    images: Vec<Vec<u8>>,
    linked: Option<Vec<u8>>,
}

/// `CU_JIT_INPUT_PTX` and `CU_JIT_INPUT_FATBINARY`.
const PTX: i32 = 1;
const FATBIN: i32 = 2;

fn add(link: *mut c_void, kind: i32, bytes: &[u8]) -> Result<(), Error> {
    let link = abi::borrowed::<Link>(link)?;
    if kind != PTX && kind != FATBIN {
        notices::once(
            "the driver's linker was given machine code or LTO-IR; gpucast links PTX only. Without \
             the package nvidia-nvjitlink, Numba gives PTX",
        );
        return Err(Error::NoImageForDevice);
    }
    let mut image = bytes.to_vec();
    // A text ends with its first zero, whatever the buffer holds behind it.
    if kind == PTX
        && let Some(end) = image.iter().position(|&byte| byte == 0)
    {
        image.truncate(end);
    }
    if kind == PTX && image.last() != Some(&0) {
        image.push(0);
    }
    link.images.push(image);
    Ok(())
}

/// The result of a link.
fn complete(link: &mut Link) -> Result<&[u8], Error> {
    let linked = match link.images.as_slice() {
        [] => return Err(Error::InvalidImage),
        [only] => only.clone(),
        several => {
            let text = |image: &Vec<u8>| {
                Some(CStr::from_bytes_with_nul(image).ok()?.to_str().ok()?.to_owned())
            };
            let texts: Option<Vec<String>> = several.iter().map(text).collect();
            let texts = texts.ok_or_else(|| {
                notices::once("the driver's linker was given several fatbins; gpucast links PTX");
                Error::NotSupported
            })?;
            let linked = linking::link(&texts).map_err(|error| {
                notices::once(&format!("modules cannot be linked: {error}"));
                Error::InvalidPtx
            })?;
            linked.into_bytes().into_iter().chain([0]).collect()
        }
    };
    Ok(link.linked.insert(linked))
}

driver_functions! {
    /// Loads a module from memory.
    fn cuModuleLoadData(handle: Out<ModuleHandle>, address: *const u8) {
        load(handle, image(address)?)
    }

    /// Loads a module from memory; options are for machine code.
    fn cuModuleLoadDataEx(
        handle: Out<ModuleHandle>,
        address: *const u8,
        _count: u32,
        _options: u64,
        _values: u64,
    ) {
        load(handle, image(address)?)
    }

    /// Loads a module from a fatbin in memory.
    fn cuModuleLoadFatBinary(handle: Out<ModuleHandle>, address: *const u8) {
        load(handle, image(address)?)
    }

    /// Loads a module from a file.
    fn cuModuleLoad(handle: Out<ModuleHandle>, path: Text) { load_file(handle, path) }

    /// Forgets a module.
    fn cuModuleUnload(handle: ModuleHandle) { unload(handle) }

    /// A kernel of a module.
    fn cuModuleGetFunction(found: Out<FunctionHandle>, of: ModuleHandle, name: Text) {
        find(found, of, name)
    }

    /// A variable of a module.
    fn cuModuleGetGlobal_v2(address: Out<u64>, bytes: Out<usize>, of: ModuleHandle, name: Text) {
        place(address, bytes, of, name)
    }

    /// Modules are read when they are needed.
    fn cuModuleGetLoadingMode(mode: Out<i32>) { mode.put(2) }

    /// Loads a library from memory; options are for machine code.
    fn cuLibraryLoadData(
        handle: Out<ModuleHandle>,
        address: *const u8,
        _jit_options: u64,
        _jit_values: u64,
        _jit_count: u32,
        _options: u64,
        _values: u64,
        _count: u32,
    ) {
        load(handle, image(address)?)
    }

    /// Loads a library from a file.
    fn cuLibraryLoadFromFile(
        handle: Out<ModuleHandle>,
        path: Text,
        _jit_options: u64,
        _jit_values: u64,
        _jit_count: u32,
        _options: u64,
        _values: u64,
        _count: u32,
    ) {
        load_file(handle, path)
    }

    /// Forgets a library.
    fn cuLibraryUnload(handle: ModuleHandle) { unload(handle) }

    /// A kernel of a library.
    fn cuLibraryGetKernel(found: Out<FunctionHandle>, of: ModuleHandle, name: Text) {
        find(found, of, name)
    }

    /// The module of a library: the same.
    fn cuLibraryGetModule(handle: Out<ModuleHandle>, of: ModuleHandle) {
        module(of)?;
        handle.put(of)
    }

    /// A variable of a library.
    fn cuLibraryGetGlobal(address: Out<u64>, bytes: Out<usize>, of: ModuleHandle, name: Text) {
        place(address, bytes, of, name)
    }

    /// A managed variable of a library.
    fn cuLibraryGetManaged(address: Out<u64>, bytes: Out<usize>, of: ModuleHandle, name: Text) {
        place(address, bytes, of, name)
    }

    /// The function of a kernel: the same.
    fn cuKernelGetFunction(found: Out<FunctionHandle>, kernel: FunctionHandle) {
        function(kernel)?;
        found.put(kernel)
    }

    /// A fact of a kernel.
    fn cuKernelGetAttribute(value: Out<i32>, which: i32, kernel: FunctionHandle, _device: i32) {
        attribute(value, which, kernel)
    }

    /// Changes an attribute of a kernel.
    fn cuKernelSetAttribute(which: i32, value: i32, kernel: FunctionHandle, _device: i32) {
        set_attribute(kernel, which, value)
    }

    /// A hint for the caches.
    fn cuKernelSetCacheConfig(kernel: FunctionHandle, config: i32, _device: i32) {
        function(kernel)?;
        limits::check_cache_choice(config)
    }

    /// A fact of a function.
    fn cuFuncGetAttribute(value: Out<i32>, which: i32, handle: FunctionHandle) {
        attribute(value, which, handle)
    }

    /// Changes an attribute of a function.
    fn cuFuncSetAttribute(handle: FunctionHandle, which: i32, value: i32) {
        set_attribute(handle, which, value)
    }

    /// A hint for the caches.
    fn cuFuncSetCacheConfig(handle: FunctionHandle, config: i32) {
        function(handle)?;
        limits::check_cache_choice(config)
    }

    /// A hint for the banks.
    fn cuFuncSetSharedMemConfig(handle: FunctionHandle, config: i32) {
        function(handle)?;
        limits::check_bank_choice(config)
    }

    /// Begins to link.
    fn cuLinkCreate_v2(_count: u32, _options: u64, _values: u64, link: Out<*mut c_void>) {
        link.put(Box::into_raw(Box::<Link>::default()).cast())
    }

    /// Adds a module from memory.
    fn cuLinkAddData_v2(
        link: *mut c_void,
        kind: i32,
        address: *const u8,
        bytes: usize,
        _name: Text,
        _count: u32,
        _options: u64,
        _values: u64,
    ) {
        add(link, kind, &abi::argument(address, bytes)?)
    }

    /// Adds a module from a file.
    fn cuLinkAddFile_v2(
        link: *mut c_void,
        kind: i32,
        path: Text,
        _count: u32,
        _options: u64,
        _values: u64,
    ) {
        add(link, kind, &files::module(path)?)
    }

    /// Ends linking; the result lives until `cuLinkDestroy`.
    fn cuLinkComplete(link: *mut c_void, image: Out<*const c_void>, bytes: Out<usize>) {
        let link = abi::borrowed::<Link>(link)?;
        let linked = complete(link)?;
        image.put(linked.as_ptr().cast())?;
        bytes.maybe_put(linked.len());
        Ok(())
    }

    /// Forgets a link with its result.
    fn cuLinkDestroy(link: *mut c_void) { abi::dropped::<Link>(link) }
}
