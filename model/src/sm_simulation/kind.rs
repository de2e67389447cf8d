//! The kind of a simulated time: what measured kernels its errors are like.

use gpucast_simulation::states::State;

use crate::bound::Bound;
use crate::conformal::TimeClass;

/// A launch is bound by what launching costs where that is at least this share of a time that
/// includes it.
const LAUNCH_SHARE: f64 = 0.2;

/// The class of a simulated time.
///
/// `shares` are those of the time by state, `busy` is the server that works nearly all the time,
/// `launching` the share that launching would have of an invocation's time. `has_products` is true
/// of machine code with matrix products.
pub(super) fn class(
    shares: &[(State, f64)],
    busy: Option<Bound>,
    launching: f64,
    has_products: bool,
) -> TimeClass {
    match busy {
        _ if launching >= LAUNCH_SHARE => return TimeClass::Launch,
        Some(Bound::L2) => return TimeClass::L2,
        Some(_) => return TimeClass::Dram,
        None => {}
    }
    let mut sums = [0.0; TimeClass::ALL.len()];
    for &(state, share) in shares {
        sums[class_of(state, has_products) as usize] += share;
    }
    let by_share =
        TimeClass::ALL.into_iter().max_by(|&a, &b| sums[a as usize].total_cmp(&sums[b as usize]));
    by_share.unwrap_or(TimeClass::Issue)
}

/// What a slot in a state waits for.
fn class_of(state: State, has_products: bool) -> TimeClass {
    match state {
        State::Selected
        | State::NotSelected
        | State::Wait
        | State::MathPipe
        | State::NoInstruction => match has_products {
            true => TimeClass::Tensor,
            false => TimeClass::Issue,
        },
        State::Products => TimeClass::Tensor,
        State::LoadStoreQueue | State::LgThrottle | State::MioThrottle => TimeClass::FirstLevel,
        State::L2Queue => TimeClass::L2,
        State::DramQueue | State::Copies => TimeClass::Dram,
        State::ShortScoreboard
        | State::L1Latency
        | State::L2Latency
        | State::DramLatency
        | State::Barrier
        | State::Membar => TimeClass::Latency,
        State::ConstantMiss | State::Launch | State::Tail => TimeClass::Launch,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_works_binds_and_short_launches_are_bound_by_launching() {
        let shares = [(State::Selected, 0.4), (State::DramLatency, 0.35), (State::Barrier, 0.25)];
        let of = |busy, launching, products| class(&shares, busy, launching, products);
        assert_eq!(of(None, 0.0, false), TimeClass::Latency, "latencies add up");
        assert_eq!(of(Some(Bound::Memory), 0.1, false), TimeClass::Dram);
        assert_eq!(of(Some(Bound::L2), 0.1, false), TimeClass::L2);
        assert_eq!(of(Some(Bound::L2), 0.3, false), TimeClass::Launch);
        let issue = [(State::Selected, 0.3), (State::MathPipe, 0.3), (State::MioThrottle, 0.4)];
        assert_eq!(class(&issue, None, 0.0, false), TimeClass::Issue);
        assert_eq!(class(&issue, None, 0.0, true), TimeClass::Tensor);
    }
}
