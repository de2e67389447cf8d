//! The ways of values through a program, read off the code without regard to the order of
//! instructions: from where to where each instruction moves them ([`flow`]), and the variables that
//! an address may have been made from ([`roots`]).
//!
//! Two analyses stand on these: [`super::sharing`] finds what CTAs may exchange, and
//! [`super::slice`] finds what counts depend on.

pub(super) mod flow;
pub(super) mod roots;

use super::super::StaticInstruction;
