//! What threads do, step by step.

use super::{Array, Expression, Variable};

/// A step of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// A variable begins; one that is never assigned again is a name for its value.
    Declare {
        /// The variable.
        variable: Variable,
        /// Its first value.
        value: Expression,
    },
    /// A variable gets another value.
    Assign {
        /// The variable.
        variable: Variable,
        /// Its value.
        value: Expression,
    },
    /// Consecutive elements of an array go to variables: two or four for a vector access.
    Load {
        /// The variables.
        into: Vec<Variable>,
        /// True if the variables begin here.
        declares: bool,
        /// The array.
        array: Array,
        /// The first element's index.
        index: Expression,
        /// The caches that keep it.
        caching: Caching,
    },
    /// Values go to consecutive elements of an array.
    Store {
        /// The array.
        array: Array,
        /// The first element's index.
        index: Expression,
        /// The values.
        values: Vec<Expression>,
    },
    /// An atomic operation without a result.
    Reduce {
        /// The operation as PTX names it: `add`, `max`.
        operation: &'static str,
        /// The array.
        array: Array,
        /// The element's index.
        index: Expression,
        /// The operand.
        value: Expression,
    },
    /// All threads of the block wait for each other.
    Barrier,
    /// A loop.
    Loop(Loop),
    /// Steps of the threads that satisfy a condition.
    If {
        /// The condition.
        condition: Expression,
        /// The steps.
        body: Vec<Statement>,
    },
    /// An instruction that CUDA has no word for; CUDA writes it as inline assembly.
    Assembly {
        /// The instruction, with `$0`, `$1`, … for the outputs and then the inputs.
        ptx: String,
        /// The variables that it changes; all have values before.
        outputs: Vec<Variable>,
        /// The values that it reads besides.
        inputs: Vec<Expression>,
    },
}

/// `for (variable = from; variable < to; variable += step)`. It runs at least once.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// The counter.
    pub variable: Variable,
    /// The first value.
    pub from: i64,
    /// The value that is not reached.
    pub to: Expression,
    /// The difference between passes.
    pub step: i64,
    /// Copies of the body.
    pub unroll: Unroll,
    /// The steps.
    pub body: Vec<Statement>,
}

/// Copies of a loop's body in the PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unroll {
    /// One.
    No,
    /// This many, which divide the passes.
    By(u32),
    /// One for each pass; the passes are a number.
    Whole,
}

/// The caches that keep a load, and what compilers may do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caching {
    /// Those that the GPU uses by default.
    Usual,
    /// All: `.ca`.
    All,
    /// The L2 alone: `.cg`.
    SecondLevel,
    /// All, the first level of read-only data among them: `.nc`.
    ReadOnly,
    /// Whatever holds it, it happens where it is written: no compiler moves it or leaves it out.
    Volatile,
}
