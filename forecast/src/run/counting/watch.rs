//! One execution of a plan that is counted as each of several GPUs does.

use std::marker::PhantomData;
use std::time::Instant;

use gpucast_interpreter::{
    ByClasses, BySample, ClassEffort, DeviceMemory, FaultKind, Host, Launch, Options, Program,
    RunError, Several, StopReason, Summary,
};

use super::gpu::OfGpu;
use super::invocation::per_ptx;
use super::observer::{Counts, Launching, Sampling};
use super::{Counted, Counting, effort, rehearsal};
use crate::failure::{Failure, Report};
use crate::input::plan::Plan;
use crate::number;
use crate::run::execute::{Executed, Watch};
use crate::run::rung::{CountedBy, Rung};
use crate::settings::{CacheChoice, RungChoice};

/// Counts the launches of a plan.
pub(super) struct Count<'a, C> {
    plan: &'a Plan,
    /// The settings, which the GPUs have in common but for the GPU and its machine instructions.
    counting: &'a Counting<'a>,
    each: Vec<OfGpu<'a>>,
    counted_by: CountedBy,
    /// The programs of the plan's launches for CTAs that stand for others, or the reasons why none
    /// does; empty where everything is executed.
    followed: Vec<Result<Program, String>>,
    /// True if the programs of the plan's launches are slices.
    is_sliced: bool,
    /// The factor by which sums may still grow ([`Launching::times`]).
    times: u64,
    /// The plan's first launches, which are a rehearsal.
    rehearsed: usize,
    /// The launch that is running.
    launch: usize,
    /// The launch of which it was said that it is not sampled.
    told: Option<usize>,
    /// True while a sample of the launch is executed.
    is_sampling: bool,
    /// Set if a slice has turned out to leave out too much, and says where.
    not_computed: Option<String>,
    counter: PhantomData<C>,
}

impl<'a, C> Count<'a, C> {
    /// Counts slices of the launches; CTAs may stand for others in the programs `followed`.
    pub(super) fn of_slices(
        plan: &'a Plan,
        countings: &'a [Counting<'a>],
        first: &'a Counting<'a>,
        followed: Vec<Result<Program, String>>,
    ) -> Self {
        let count = Self::new(plan, countings, first, CountedBy::slice(None));
        Self { followed, is_sliced: true, ..count }
    }

    /// Counts the launches whole, for a reason.
    pub(super) fn of_everything(
        plan: &'a Plan,
        countings: &'a [Counting<'a>],
        first: &'a Counting<'a>,
        because: String,
    ) -> Self {
        Self::new(plan, countings, first, CountedBy::full(because))
    }

    fn new(
        plan: &'a Plan,
        countings: &'a [Counting<'a>],
        first: &'a Counting<'a>,
        counted_by: CountedBy,
    ) -> Self {
        Self {
            plan,
            counting: first,
            each: countings.iter().map(|counting| OfGpu::new(plan, counting)).collect(),
            counted_by,
            followed: Vec::new(),
            is_sliced: false,
            times: times(countings, plan),
            rehearsed: rehearsal::dropped(plan),
            launch: 0,
            told: None,
            is_sampling: false,
            not_computed: None,
            counter: PhantomData,
        }
    }

    /// The place where a slice has turned out to leave out too much.
    pub(super) fn not_computed(&self) -> Option<&str> {
        self.not_computed.as_deref()
    }

    /// The launches of each GPU.
    pub(super) fn into_counted(self) -> Vec<Vec<Counted>> {
        self.each.into_iter().map(OfGpu::into_counted).collect()
    }

    /// True if the counts of the running launch are dropped.
    fn is_rehearsal(&self) -> bool {
        self.launch < self.rehearsed
    }

    /// Repetitions of the running launch that have ended.
    fn repetitions(&self) -> u64 {
        self.each.first().map_or(0, OfGpu::repetitions)
    }

    fn kernel(&self) -> &'a str {
        &self.plan.launches[self.launch].kernel
    }

    /// Says once of a launch why no sample of it is taken.
    fn tell(&mut self, because: &str) {
        if !self.is_rehearsal() && self.told.replace(self.launch) != Some(self.launch) {
            let kernel = self.kernel();
            self.counting.supervisor.note(&format!("{kernel} is not sampled: {because}"));
        }
    }

    /// The options of a launch that is sampled. A sample takes what time there is. So each of the
    /// launches that are left, their repetitions counted, has an equal share of it.
    fn with_share(&self, options: &Options) -> Options {
        let share = |deadline: Instant| {
            let launches = self.plan.launches.iter().skip(self.launch);
            let left: u64 = launches.map(|launch| u64::from(launch.repeat)).sum();
            let left = left.saturating_sub(self.repetitions()).max(1);
            let (now, left) = (Instant::now(), u32::try_from(left).unwrap_or(u32::MAX));
            now + deadline.saturating_duration_since(now) / left
        };
        Options { deadline: options.deadline.map(share), ..*options }
    }

    /// Remembers how a repetition was sampled, and says if that was cut short.
    fn sampled(&mut self, sampled: &BySample, because: Option<String>) {
        let BySample { executed, is_cut_short, .. } = *sampled;
        let before = Some(&self.counted_by).filter(|_| self.repetitions() > 0);
        let was_cut_short = before.is_some_and(|before| before.is_cut_short);
        // Of several repetitions the smallest sample.
        let fewest = before.and_then(|before| before.sampled);
        let fewest = fewest.map_or(executed, |fewest| fewest.min(executed));
        if is_cut_short && !was_cut_short && !self.is_rehearsal() {
            self.counting.supervisor.note(&format!(
                "the sample of {} was cut short: its time was over after {} CTAs",
                self.kernel(),
                number::count(executed)
            ));
        }
        let because = because.unwrap_or_else(|| "it was asked for".to_owned());
        self.counted_by = CountedBy::sample(fewest, is_cut_short || was_cut_short, because);
    }
}

/// The result of an attempt to do without executing all CTAs: a summary or an error of the launch,
/// or the reason why it has to be executed.
type Attempt = Result<Result<Summary, RunError>, String>;

impl<C: Counts> Count<'_, C> {
    /// Executes one CTA of each class.
    fn by_classes(
        &mut self,
        counters: &mut Several<C>,
        launch: &Launch,
        memory: &mut DeviceMemory,
        options: &Options,
        host: &dyn Host,
    ) -> Result<Option<Attempt>, Failure> {
        let (Some(followed), Some(effort)) =
            (self.followed.get(self.launch), effort(self.counting.rung))
        else {
            return Ok(None);
        };
        let no_classes = match followed {
            Err(because) => because.clone(),
            Ok(program) => {
                let (caches, times) = (self.counting.caches, self.times);
                let launching =
                    Launching { program, launch, memory, options, host, effort, caches, times };
                let counted = C::by_classes(counters, launching);
                // Each alone may be counted by classes or windows that are not those of all.
                if counters.have_parted() {
                    return Err(Failure::Explained);
                }
                match counted {
                    Ok(Ok(ByClasses { summary, classes, .. })) => {
                        self.counted_by = CountedBy::classes(classes);
                        return Ok(Some(Ok(Ok(summary))));
                    }
                    Ok(Err(because)) => because,
                    Err(error) => return Ok(Some(Ok(Err(error)))),
                }
            }
        };
        if effort == ClassEffort::ToTheEnd {
            let kernel = self.kernel();
            let message = format!("{kernel} is not counted by classes of CTAs: {no_classes}");
            return Err(Report::new(message).hint("--counting auto executes more then").into());
        }
        Ok(Some(Err(no_classes)))
    }
}

impl<C: Counts> Watch for Count<'_, C> {
    type Observer = Several<C>;

    fn launching(&mut self, index: usize, memory: &DeviceMemory) {
        self.launch = index;
        self.is_sampling = false;
        self.each.iter_mut().for_each(|gpu| gpu.launching(index, memory));
    }

    fn is_sliced(&self) -> bool {
        self.is_sliced
    }

    fn is_silent(&self) -> bool {
        self.is_rehearsal()
    }

    fn recurs(&mut self) -> bool {
        if self.repetitions() == 0 || self.counted_by.rung != Rung::Classes {
            return false;
        }
        // Each GPU is asked, so that it takes note of its L2.
        let others = self.each.iter_mut().map(OfGpu::recurs).filter(|recurs| !recurs).count();
        if others > 0 {
            return false;
        }
        self.each.iter_mut().for_each(OfGpu::repeat);
        true
    }

    fn begin(&mut self, program: &Program, launch: &Launch) -> Several<C> {
        let times = self.times;
        Several::new(self.each.iter_mut().map(|gpu| gpu.begin(program, launch, times)).collect())
    }

    fn without_executing(
        &mut self,
        counters: &mut Several<C>,
        program: &Program,
        launch: &Launch,
        memory: &mut DeviceMemory,
        options: &Options,
        host: &dyn Host,
    ) -> Result<Option<Result<Summary, RunError>>, Failure> {
        if !self.is_sliced {
            return Ok(None);
        }
        let mut because = match self.by_classes(counters, launch, memory, options, host)? {
            None => None,
            Some(Ok(ended)) => return Ok(Some(ended)),
            Some(Err(no_classes)) => Some(no_classes),
        };
        if let (Some(_), [counter]) = (self.counting.sample, counters.each_mut()) {
            let options = &self.with_share(options);
            let sampling = Sampling { program, launch, memory, options, host, times: self.times };
            self.is_sampling = true;
            match counter.by_sample(sampling) {
                Ok(Ok(sampled)) => {
                    self.sampled(&sampled, because);
                    return Ok(Some(Ok(sampled.summary)));
                }
                Ok(Err(no_sample)) => {
                    self.is_sampling = false;
                    self.tell(&no_sample);
                    because.get_or_insert(no_sample);
                }
                Err(error) => return Ok(Some(Err(error))),
            }
        }
        self.counted_by = CountedBy::slice(because);
        Ok(None)
    }

    fn end(
        &mut self,
        counters: Several<C>,
        program: &Program,
        memory: &DeviceMemory,
    ) -> Result<(), Failure> {
        let mut each = self.each.iter_mut().zip(counters.into_each());
        each.try_for_each(|(gpu, counter)| gpu.end(counter, program, memory))
    }

    fn failed(&mut self, _counters: Several<C>, error: &RunError) -> bool {
        if let RunError::Fault(fault) = error
            && matches!(fault.kind, FaultKind::NotComputed { .. })
        {
            self.not_computed = Some(fault.to_string());
        }
        self.not_computed.is_some()
    }

    fn hint(&self, error: &RunError) -> Option<String> {
        let RunError::Stopped { reason: StopReason::Deadline, .. } = error else { return None };
        let is_choice = self.is_sliced || self.counting.rung == RungChoice::Full;
        let hint = match self.counting.sample {
            Some(_) if self.is_sampling => {
                "the sample says nothing of the launch yet: give it more time"
            }
            None if is_choice => "--counting sample estimates counts from what is executed in time",
            Some(_) | None => return None,
        };
        Some(hint.to_owned())
    }

    fn shortcut(&self) -> Option<&'static str> {
        let is_whole = self.counting.caches == CacheChoice::Full && self.is_sliced;
        is_whole
            .then_some("--caches auto estimates what depends on caches from a part of the requests")
    }

    fn launched(&mut self, executed: Executed<'_>) {
        let Executed { index, timing, ordered_because, watched, memory } = executed;
        for gpu in &mut self.each {
            let ordered_because = ordered_because.clone();
            let executed = Executed { index, timing, ordered_because, watched, memory };
            gpu.launched(executed, &self.counted_by);
        }
    }
}

/// The factor by which sums of one launch may still grow: [`Launching::times`].
fn times(countings: &[Counting<'_>], plan: &Plan) -> u64 {
    let repetitions: u64 = plan.launches.iter().map(|launch| u64::from(launch.repeat)).sum();
    countings.iter().map(per_ptx).max().unwrap_or(1).saturating_mul(repetitions)
}
