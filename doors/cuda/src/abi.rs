//! What C passes: pointers to results, texts and structures, and the way back.
//!
//! The types here are transparent pointers with safe methods. Only C callers make them, and CUDA's
//! contract holds for each: it is null, or valid for its type while the call lasts. The unsafe
//! blocks rely on that contract. A program that breaks it crashes with NVIDIA's libraries, too.

#![allow(unsafe_code, reason = "C passes pointers")]

use std::ffi::{CStr, c_char, c_void};

use gpucast_host::clock::StreamId;
use gpucast_host::graph::{GraphRun, HostCall};
use gpucast_host::{Device, Error, Extent, LaunchRequest, PitchedMemory};

/// The place of a result.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Writes the result.
    pub(crate) fn put(self, value: T) -> Result<(), Error> {
        if self.0.is_null() {
            return Err(Error::InvalidValue);
        }
        // SAFETY: not null, so valid for writes by the contract of the module.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    /// Fails as [`Out::put`] would, for functions that make something before they write.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.0.is_null() { Err(Error::InvalidValue) } else { Ok(()) }
    }

    /// Writes the result if the caller wants to have it.
    pub(crate) fn maybe_put(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: as in `put`.
            unsafe { self.0.write_unaligned(value) };
        }
    }

    /// Writes several results, one behind the other.
    pub(crate) fn put_all(self, values: impl IntoIterator<Item = T>) -> Result<(), Error> {
        if self.0.is_null() {
            return Err(Error::InvalidValue);
        }
        for (index, value) in values.into_iter().enumerate() {
            // SAFETY: the caller gives room for as many as the function is to write.
            unsafe { self.0.add(index).write_unaligned(value) };
        }
        Ok(())
    }
}

impl<T: Copy> Out<T> {
    /// The value before the call, of places that a caller fills, too.
    pub(crate) fn given(self) -> Result<T, Error> {
        if self.0.is_null() {
            return Err(Error::InvalidValue);
        }
        // SAFETY: as in `put`, and the caller has filled the place.
        Ok(unsafe { self.0.read_unaligned() })
    }
}

impl<T> Out<T> {
    /// The place at an address that C passed as a number.
    pub(crate) fn at_number(address: u64) -> Self {
        Self(std::ptr::with_exposed_provenance_mut(address as usize))
    }
}

impl Out<u8> {
    /// Writes a text with a zero behind it into `size` bytes, cut if it does not fit.
    pub(crate) fn put_text(self, text: &str, size: usize) -> Result<(), Error> {
        let fitting = text.bytes().take(size.saturating_sub(1));
        self.put_all(fitting.chain([0]).take(size))
    }
}

/// A value or an array that the caller owns.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct In<T>(*const T);

impl<T> In<T> {
    /// What C passed as an address of another kind.
    pub(crate) fn at_address(address: *const u8) -> Self {
        Self(address.cast())
    }

    /// What C passed as a number.
    pub(crate) fn at_number(address: u64) -> Self {
        Self(std::ptr::with_exposed_provenance(address as usize))
    }
}

impl<T: Copy> In<T> {
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The value.
    pub(crate) fn get(self) -> Result<T, Error> {
        self.at(0)
    }

    /// The element of an array.
    pub(crate) fn at(self, index: usize) -> Result<T, Error> {
        if self.0.is_null() {
            return Err(Error::InvalidValue);
        }
        // SAFETY: not null, so valid for reads by the contract of the module. The callers of this
        // function take no more elements than C's caller says there are.
        Ok(unsafe { self.0.add(index).read_unaligned() })
    }
}

/// A text that ends with a zero.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Text(*const c_char);

impl Text {
    /// What C passed as an address of bytes.
    pub(crate) fn at_address(address: *const u8) -> Self {
        Self(address.cast())
    }

    /// The text; null and other encodings are invalid.
    pub(crate) fn get<'a>(self) -> Result<&'a str, Error> {
        if self.0.is_null() {
            return Err(Error::InvalidValue);
        }
        // SAFETY: not null, so a text that ends, by the contract of the module.
        unsafe { CStr::from_ptr(self.0) }.to_str().map_err(|_| Error::InvalidValue)
    }
}

/// Three extents.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dim3 {
    pub(crate) x: u32,
    pub(crate) y: u32,
    pub(crate) z: u32,
}

impl From<Dim3> for [u32; 3] {
    fn from(Dim3 { x, y, z }: Dim3) -> Self {
        [x, y, z]
    }
}

/// A function of the caller that takes one pointer.
pub(crate) type Callback = extern "C" fn(*mut c_void);

/// The bytes of an argument.
pub(crate) fn argument(address: *const u8, bytes: usize) -> Result<Vec<u8>, Error> {
    if address.is_null() || isize::try_from(bytes).is_err() {
        return Err(Error::InvalidValue);
    }
    // SAFETY: not null, so valid for as many bytes as C's caller says, by the contract.
    Ok(unsafe { std::slice::from_raw_parts(address, bytes) }.to_vec())
}

/// Bytes that live as long as the program: an image that it registers. `None` where it says that it
/// has more than any object.
pub(crate) fn bytes_of_program(address: *const u8, bytes: usize) -> Option<&'static [u8]> {
    let can_be = !address.is_null() && isize::try_from(bytes).is_ok();
    // SAFETY: registered images are constant data of the program or library, which stays loaded
    // until it unregisters them, and they have the size that their headers say.
    can_be.then(|| unsafe { std::slice::from_raw_parts(address, bytes) })
}

/// The number that an image begins with, whatever it is. Behind the end of a text, which may be
/// shorter, nothing is read.
pub(crate) fn magic(address: *const u8) -> Option<u32> {
    if address.is_null() {
        return None;
    }
    let mut bytes = [0; 4];
    for (at, byte) in bytes.iter_mut().enumerate() {
        // SAFETY: not null, so an image, or a text that ends in zero.
        *byte = unsafe { address.add(at).read() };
        if *byte == 0 {
            break;
        }
    }
    Some(u32::from_le_bytes(bytes))
}

/// Writes to C's standard output, so that the order with the program's own output is kept.
pub(crate) fn print(text: &[u8]) {
    unsafe extern "C" {
        static stdout: *mut c_void;
        fn fwrite(bytes: *const c_void, size: usize, count: usize, file: *mut c_void) -> usize;
    }
    // SAFETY: C's standard output exists as long as the program, and `text` has its length.
    unsafe { fwrite(text.as_ptr().cast(), 1, text.len(), stdout) };
}

/// Has `function` called when the program ends.
pub(crate) fn at_exit(function: extern "C" fn()) {
    unsafe extern "C" {
        fn atexit(function: extern "C" fn()) -> i32;
    }
    // SAFETY: the function lives in this library, which is never unloaded.
    // Where there is no room for it, the report is written at unregistration alone.
    unsafe { atexit(function) };
}

/// Gives a pointer variable of the program its value.
pub(crate) fn set_pointer(pointer: u64, value: u64) {
    let place: *mut u64 = std::ptr::with_exposed_provenance_mut(pointer as usize);
    // SAFETY: the program registered the address of a pointer for this.
    unsafe { place.write_unaligned(value) };
}

/// The first bytes of something that a program registers, as a structure of numbers.
pub(crate) fn header<T: Copy>(address: *const u8) -> Option<T> {
    // SAFETY: not null, so registered data of the program, which is longer than its header.
    (!address.is_null()).then(|| unsafe { address.cast::<T>().read_unaligned() })
}

/// Copies rows between places of a caller.
pub(crate) fn copy(
    device: &mut Device,
    to: PitchedMemory,
    from: PitchedMemory,
    extent: Extent,
    stream: StreamId,
) -> Result<(), Error> {
    // SAFETY: addresses that are not the device's are valid memory of the program, by the contract.
    unsafe { device.copy(to, from, extent, stream) }
}

/// Fills rows at a place of a caller.
pub(crate) fn fill(
    device: &mut Device,
    to: PitchedMemory,
    pattern: &[u8],
    extent: Extent,
    stream: StreamId,
) -> Result<(), Error> {
    // SAFETY: as in `copy`.
    unsafe { device.fill(to, pattern, extent, stream) }
}

/// Does the next step of a launch of a graph.
pub(crate) fn graph_step(
    device: &mut Device,
    run: &mut GraphRun,
) -> Result<Option<Option<HostCall>>, Error> {
    // SAFETY: as in `copy`: the program keeps what the graph's copies name.
    unsafe { device.graph_step(run) }
}

/// Calls a function of the program.
pub(crate) fn call(call: HostCall) {
    let function: *const c_void = std::ptr::with_exposed_provenance(call.function as usize);
    // SAFETY: the address was made of a function of this type (`both::graphs::call`), which stays
    // in the program.
    let function = unsafe { std::mem::transmute::<*const c_void, Callback>(function) };
    function(std::ptr::with_exposed_provenance_mut(call.data as usize));
}

/// Lets kernels reach memory of the program.
pub(crate) fn register_host(device: &mut Device, address: u64, bytes: u64) -> Result<(), Error> {
    // SAFETY: the program keeps the memory until it unregisters it, by the contract.
    unsafe { device.register_host(address, bytes) }
}

/// Launches a kernel on memory of the program, around `addresses`.
pub(crate) fn launch_on_program_memory(
    device: &mut Device,
    request: LaunchRequest,
    addresses: &[u64],
) -> Result<(), Error> {
    // SAFETY: the program waits for the call and keeps the arrays that it passes, by the contract.
    unsafe { device.launch_on_program_memory(request, addresses) }
}

/// Something of this library that a handle points to.
pub(crate) fn borrowed<'a, T>(handle: *mut c_void) -> Result<&'a mut T, Error> {
    // SAFETY: not null, so a handle of this kind that the caller got here and has not destroyed.
    // Calls with one handle come one after the other.
    unsafe { handle.cast::<T>().as_mut() }.ok_or(Error::InvalidHandle)
}

/// Frees what a handle points to.
pub(crate) fn dropped<T>(handle: *mut c_void) -> Result<(), Error> {
    if handle.is_null() {
        return Err(Error::InvalidHandle);
    }
    // SAFETY: as in `borrowed`, and the handle is of no use any more.
    drop(unsafe { Box::from_raw(handle.cast::<T>()) });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_from_and_go_to_places_of_any_alignment() {
        // As a packed structure of C has them: behind one byte.
        let mut bytes = [0_u8; 1 + 3 * 8];
        for (at, value) in [7_u64, 8, 9].into_iter().enumerate() {
            bytes[1 + 8 * at..][..8].copy_from_slice(&value.to_le_bytes());
        }
        let number = bytes[1..].as_mut_ptr().expose_provenance() as u64;
        let list = In::<u64>::at_number(number);
        assert_eq!((0..3).map(|at| list.at(at)).collect::<Vec<_>>(), [Ok(7), Ok(8), Ok(9)]);
        assert_eq!(list.get(), Ok(7));

        let mut places = [0_u64; 2];
        let place = Out::at_number(places.as_mut_ptr().expose_provenance() as u64);
        place.put_all([3_u64, 4]).unwrap();
        assert_eq!(place.given(), Ok(3));
        place.maybe_put(5);
        assert_eq!(places, [5, 4]);
        let packed = Out::<u64>::at_number(number);
        packed.put(11).unwrap();
        packed.put_all([12, 13]).unwrap();
        assert_eq!((packed.given(), list.at(1)), (Ok(12), Ok(13)));
    }

    #[test]
    fn null_is_refused_and_nothing_is_read_there() {
        let none = In::<u32>::at_number(0);
        assert!(none.is_null());
        assert_eq!(none.get(), Err(Error::InvalidValue));
        let place = Out::<u32>::at_number(0);
        assert_eq!(place.put(1), Err(Error::InvalidValue));
        place.maybe_put(1);
        assert_eq!(Text::at_address(std::ptr::null()).get(), Err(Error::InvalidValue));
        assert_eq!(argument(std::ptr::null(), 4), Err(Error::InvalidValue));
        assert_eq!(header::<u64>(std::ptr::null()), None);
    }

    #[test]
    fn images_are_not_read_behind_their_ends() {
        // Miri finds out if they are.
        let short: Box<[u8]> = Box::new([b'a', 0]);
        assert_eq!(magic(short.as_ptr()), Some(u32::from(b'a')));
        assert_eq!(magic(b"\x7fELF".as_ptr()), Some(u32::from_le_bytes(*b"\x7fELF")));
        assert_eq!(magic(std::ptr::null()), None);
        // A header may say anything of the size.
        assert_eq!(bytes_of_program(short.as_ptr(), usize::MAX), None);
        assert_eq!(bytes_of_program(std::ptr::null(), 0), None);
        assert_eq!(argument(short.as_ptr(), usize::MAX), Err(Error::InvalidValue));
    }

    #[test]
    fn texts_end_with_a_zero_and_are_cut_to_their_room() {
        assert_eq!(Text::at_address(c"saxpy".as_ptr().cast()).get(), Ok("saxpy"));
        let mut room = [b'x'; 4];
        let place = Out::<u8>::at_number(room.as_mut_ptr().expose_provenance() as u64);
        place.put_text("longer", room.len()).unwrap();
        assert_eq!(&room, b"lon\0");
    }

    #[test]
    fn a_handle_is_borrowed_and_dropped_once() {
        let handle = Box::into_raw(Box::new(vec![1, 2])).cast::<c_void>();
        borrowed::<Vec<i32>>(handle).unwrap().push(3);
        assert_eq!(borrowed::<Vec<i32>>(handle).unwrap(), &[1, 2, 3]);
        dropped::<Vec<i32>>(handle).unwrap();
        assert_eq!(dropped::<Vec<i32>>(std::ptr::null_mut()), Err(Error::InvalidHandle));
    }
}
