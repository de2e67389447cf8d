//! The threads that execute launches.
//!
//! The thread that makes the device takes part in rayon's pool, so that short launches wait for no
//! other thread. But that thread is the program's: it works while it launches, and at no other
//! time. In a pool of one thread, others would wait for it for ever.

use std::cell::RefCell;

use rayon::{ThreadPool, ThreadPoolBuilder};

thread_local! {
    /// The pool of a thread that works for itself alone.
    static OWN: RefCell<Option<ThreadPool>> = const { RefCell::new(None) };
}

/// Makes the pool, with the calling thread in it. If somebody made the pool before, that one is
/// used.
pub(crate) fn set_up() {
    let _ = ThreadPoolBuilder::new().use_current_thread().build_global();
}

/// Has the calling thread do its work by itself if the pool has no thread that would: it is not in
/// the pool, and the only one that is belongs to the program, too.
pub(crate) fn take_part() {
    if rayon::current_thread_index().is_some() || rayon::current_num_threads() > 1 {
        return;
    }
    // A thread whose pool cannot be made waits for the pool's.
    let own = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().ok();
    OWN.with_borrow_mut(|slot| *slot = own);
}
