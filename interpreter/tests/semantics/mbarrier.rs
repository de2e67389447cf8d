//! mbarrier objects against a second state machine, written from the manual's definitions of the
//! expect-tx, complete-tx and arrive-on operations and of the completion of a phase.

use gpucast_interpreter::semantics::mbarrier::{Mbarrier, MbarrierError};
use proptest::prelude::*;

/// The object as the manual describes it: whole numbers without an encoding, phases counted from
/// zero, transactions and arrivals added up instead of counted down.
#[derive(Clone, Debug)]
struct Model {
    phase: u64,
    participants: i64,
    /// Arrivals that this phase needs, and those that it has had.
    needed: i64,
    arrived: i64,
    announced: i64,
    transferred: i64,
}

const LIMIT: i64 = (1 << 20) - 1;

impl Model {
    fn new(count: i64) -> Option<Self> {
        (1..=LIMIT).contains(&count).then_some(Self {
            phase: 0,
            participants: count,
            needed: count,
            arrived: 0,
            announced: 0,
            transferred: 0,
        })
    }

    /// What an operation makes of the object; `None` where the manual leaves it undefined.
    fn apply(&self, operation: &Operation) -> Option<Self> {
        let mut next = self.clone();
        let mut may_complete = true;
        match *operation {
            Operation::ExpectTx(bytes) => {
                next.announced += i64::from(bytes);
                may_complete = false;
            }
            Operation::CompleteTx(bytes) => next.transferred += i64::from(bytes),
            Operation::Arrive(count) => {
                next.arrived += i64::from(count);
                may_complete = count != 0;
            }
            Operation::ArriveNoComplete(count) => {
                next.arrived += i64::from(count);
                if next.complete() {
                    return None;
                }
            }
            Operation::ArriveDrop(count) => {
                next.participants -= i64::from(count);
                next.arrived += i64::from(count);
                may_complete = count != 0;
            }
            Operation::AddPending => {
                next.needed += 1;
                may_complete = false;
            }
        }
        let outstanding = next.announced - next.transferred;
        let missing = next.needed - next.arrived;
        if outstanding.abs() > LIMIT || !(0..=LIMIT).contains(&missing) || next.participants < 0 {
            return None;
        }
        if may_complete && next.complete() {
            next = Self {
                phase: next.phase + 1,
                needed: next.participants,
                arrived: 0,
                announced: 0,
                transferred: 0,
                ..next
            };
        }
        Some(next)
    }

    fn complete(&self) -> bool {
        self.arrived == self.needed && self.announced == self.transferred
    }

    fn agrees(&self, object: Mbarrier) -> bool {
        object.odd_phase == (self.phase % 2 == 1)
            && i64::from(object.expected) == self.participants
            && i64::from(object.pending) == self.needed - self.arrived
            && i64::from(object.tx_count) == self.announced - self.transferred
    }
}

#[derive(Clone, Debug)]
enum Operation {
    ExpectTx(u32),
    CompleteTx(u32),
    Arrive(u32),
    ArriveNoComplete(u32),
    ArriveDrop(u32),
    AddPending,
}

/// The same operation of the implementation, through the 64 bits.
fn apply(word: u64, operation: &Operation) -> Result<u64, MbarrierError> {
    let mut object = Mbarrier::decode(word)?;
    match *operation {
        Operation::ExpectTx(bytes) => object.expect_tx(bytes)?,
        Operation::CompleteTx(bytes) => object.complete_tx(bytes)?,
        Operation::Arrive(count) => object.arrive(count)?,
        Operation::ArriveNoComplete(count) => object.arrive_without_completing(count)?,
        Operation::ArriveDrop(count) => {
            object.drop_out(count)?;
            object.arrive(count)?;
        }
        Operation::AddPending => object.add_pending()?,
    }
    Ok(object.encode())
}

fn count() -> impl Strategy<Value = u32> {
    prop_oneof![
        8 => 0..4u32,
        1 => Just((1 << 20) - 2),
        1 => Just((1 << 20) - 1),
        1 => Just(1 << 20),
        1 => any::<u32>(),
    ]
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        2 => count().prop_map(Operation::ExpectTx),
        2 => count().prop_map(Operation::CompleteTx),
        6 => count().prop_map(Operation::Arrive),
        2 => count().prop_map(Operation::ArriveNoComplete),
        1 => count().prop_map(Operation::ArriveDrop),
        2 => Just(Operation::AddPending),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]
    #[test]
    fn any_sequence_of_operations_agrees_with_the_definition(
        first in prop_oneof![4 => 1..6u32, 1 => count()],
        operations in prop::collection::vec(operation(), 1..60),
    ) {
        let mut model = Model::new(i64::from(first));
        let mut word = Mbarrier::init(first).map(Mbarrier::encode).ok();
        prop_assert_eq!(model.is_some(), word.is_some());
        for operation in &operations {
            let (Some(before), Some(bits)) = (&model, word) else { break };
            let state_phase = Mbarrier::phase_of_state(bits).unwrap();
            prop_assert_eq!(state_phase, before.phase % 2 == 1);
            // An operation that is undefined leaves the object as it was: try the next one.
            let (after, outcome) = (before.apply(operation), apply(bits, operation));
            prop_assert_eq!(after.is_some(), outcome.is_ok(), "{:?} of {:?}", operation, before);
            let (Some(after), Ok(bits)) = (after, outcome) else { continue };
            let object = Mbarrier::decode(bits).unwrap();
            prop_assert!(after.agrees(object), "{:?} is not {:?}", object, after);
            // The phase of the state is over exactly if the phase number has grown.
            prop_assert_eq!(object.has_completed(state_phase), after.phase != before.phase);
            (model, word) = (Some(after), Some(bits));
        }
    }

    #[test]
    fn what_is_no_object_is_not_taken_for_one(word in any::<u64>()) {
        match Mbarrier::decode(word) {
            Ok(object) => prop_assert_eq!(object.encode(), word),
            Err(error) => prop_assert!(
                error == MbarrierError::NotInitialised || error == MbarrierError::Invalidated
            ),
        }
    }
}

#[test]
fn memory_that_was_never_written_holds_no_object() {
    assert_eq!(Mbarrier::decode(0), Err(MbarrierError::NotInitialised));
    assert_eq!(Mbarrier::decode(u64::MAX), Err(MbarrierError::NotInitialised));
    assert_eq!(Mbarrier::decode(Mbarrier::INVALIDATED), Err(MbarrierError::Invalidated));
    assert_eq!(Mbarrier::phase_of_state(0), Err(MbarrierError::BadState));
}
