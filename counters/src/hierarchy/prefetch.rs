//! Asks the CPU for data that is needed soon.
//!
//! Caches of a GPU are larger than those of a CPU's core, and each request looks at another place.
//! A load in advance would have to end before the CPU goes on for long; a prefetch need not.

/// Bytes of a line of the CPU's cache.
#[cfg(target_arch = "x86_64")]
const CPU_LINE_BYTES: usize = 64;

/// Asks for the element at `index`, if there is one.
#[inline(always)]
pub(crate) fn prefetch<T>(data: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(element) = data.get(index) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let first = std::ptr::from_ref(element).cast::<i8>();
        // Elements of other sizes may lie across two lines.
        let reaches = size_of::<T>() > 0 && !CPU_LINE_BYTES.is_multiple_of(size_of::<T>());
        let last = reaches.then(|| first.wrapping_add(size_of::<T>() - 1));
        for byte in std::iter::once(first).chain(last) {
            #[expect(unsafe_code, reason = "the instruction is not safe to call in general")]
            // SAFETY: the byte is one of an element, and a prefetch changes nothing but timing.
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(byte);
            }
        }
    }
    // Other CPUs find the data when they need it.
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (data, index);
}
