//! Long work on threads of our own, while Python stays free: other Python threads run, Ctrl-C is
//! heard, and what kernels print arrives.

use std::any::Any;
use std::mem;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use gpucast_forecast::run::assembler::Toolchain;
use gpucast_forecast::{Failure, Report, Supervisor};
use gpucast_toolchain::Stop;
use gpucast_toolchain::assembler::Installed;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::failure;
use crate::settings::Settings;

/// Interval at which Python's signals are looked at.
const GLANCE: Duration = Duration::from_millis(20);
/// The parser and the lowering recurse; Python's own threads have as much.
const STACK_BYTES: usize = 16 << 20;

/// The caller of a run: Python.
pub(crate) struct Supervision {
    is_stopped: Arc<AtomicBool>,
    notes: Mutex<Vec<String>>,
    printed: Mutex<Vec<u8>>,
    assemblers: Installed,
}

impl Supervision {
    fn new(settings: &Settings) -> Self {
        let is_stopped = Arc::new(AtomicBool::new(false));
        let assemblers = Installed::new(stop(&is_stopped)).with_packages(settings.packages.clone());
        let (notes, printed) = (Mutex::default(), Mutex::default());
        Self { is_stopped, notes, printed, assemblers }
    }

    /// The question whether the work should end, for programs that it runs.
    pub(crate) fn stop(&self) -> Stop {
        stop(&self.is_stopped)
    }

    /// Writes what kernels have printed to Python's standard output.
    fn pass_on(&self, py: Python<'_>) -> PyResult<()> {
        let printed = mem::take(&mut *self.printed.lock().unwrap_or_else(PoisonError::into_inner));
        if printed.is_empty() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&printed);
        py.import("sys")?.getattr("stdout")?.call_method1("write", (text,))?;
        Ok(())
    }
}

fn stop(is_stopped: &Arc<AtomicBool>) -> Stop {
    let is_stopped = Arc::clone(is_stopped);
    Stop::when(move || is_stopped.load(Ordering::Relaxed))
}

impl Supervisor for Supervision {
    fn note(&self, text: &str) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
    }

    fn hears_notes(&self) -> bool {
        true
    }

    fn print(&self, text: &[u8]) {
        self.printed.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(text);
    }

    fn should_stop(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    fn toolchain(&self) -> Option<&dyn Toolchain> {
        Some(&self.assemblers)
    }
}

/// The outcome of supervised work.
pub(crate) struct Supervised<T> {
    pub(crate) value: T,
    /// What the user should know of how it came about.
    pub(crate) notes: Vec<String>,
}

/// Does work without Python's lock. A signal whose handler raises, such as Ctrl-C, stops the work
/// and raises here.
pub(crate) fn supervised<T: Send>(
    py: Python<'_>,
    settings: &Settings,
    work: impl FnOnce(&Supervision) -> Result<T, Failure> + Send,
) -> PyResult<Supervised<T>> {
    let supervision = Supervision::new(settings);
    let pool = pool(settings.threads).map_err(|report| failure::error(py, vec![report]))?;
    let has_ended = AtomicBool::new(false);
    let ending = Ending { has_ended: &has_ended, waiting: thread::current() };
    let (raised, outcome) = thread::scope(|scope| {
        let supervision = &supervision;
        let worker = scope.spawn(move || {
            let _ending = ending;
            pool.install(|| work(supervision))
        });
        let mut raised = None;
        while !has_ended.load(Ordering::Acquire) {
            py.detach(|| thread::park_timeout(GLANCE));
            if raised.is_none()
                && let Err(error) = supervision.pass_on(py).and_then(|()| py.check_signals())
            {
                supervision.is_stopped.store(true, Ordering::Relaxed);
                raised = Some(error);
            }
        }
        (raised, py.detach(|| worker.join()))
    });
    if let Some(error) = raised {
        return Err(error);
    }
    supervision.pass_on(py)?;
    let value = match outcome {
        Ok(Ok(value)) => value,
        Ok(Err(failure)) => return Err(failure::raised(py, failure)),
        Err(panic) => return Err(failure::error(py, vec![fault_of_ours(&*panic)])),
    };
    let notes = supervision.notes.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Supervised { value, notes })
}

/// Wakes the waiting thread when the work has ended, however it ends.
struct Ending<'a> {
    has_ended: &'a AtomicBool,
    waiting: Thread,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.has_ended.store(true, Ordering::Release);
        self.waiting.unpark();
    }
}

fn fault_of_ours(panic: &(dyn Any + Send)) -> Report {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    Report::new(format!("gpucast has a fault of its own: {text}"))
        .hint("please report it with the kernel and its launch")
}

/// Threads of one process.
struct Pool {
    process: u32,
    threads: Option<usize>,
    pool: Arc<ThreadPool>,
}

/// The threads that execute. A forked child has none of its parent's and gets its own.
fn pool(threads: Option<usize>) -> Result<Arc<ThreadPool>, Report> {
    static POOL: Mutex<Option<Pool>> = Mutex::new(None);
    let mut current = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let process = process::id();
    if let Some(one) = current.as_ref()
        && one.process == process
        && one.threads == threads
    {
        return Ok(Arc::clone(&one.pool));
    }
    let mut builder = ThreadPoolBuilder::new().stack_size(STACK_BYTES);
    if let Some(threads) = threads {
        builder = builder.num_threads(threads);
    }
    let pool = builder
        .thread_name(|index| format!("gpucast-{index}"))
        .build()
        .map_err(|error| Report::new(format!("cannot start threads: {error}")))?;
    let pool = Arc::new(pool);
    let earlier = current.replace(Pool { process, threads, pool: Arc::clone(&pool) });
    if let Some(earlier) = earlier
        && earlier.process != process
    {
        // Its threads did not come along; ending them would wait for them.
        mem::forget(earlier);
    }
    Ok(pool)
}
