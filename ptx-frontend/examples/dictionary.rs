//! The words of PTX as a dictionary for fuzzers, from the instruction table.
#![allow(clippy::print_stdout, reason = "the dictionary is what this program is for")]

use std::collections::BTreeSet;

use gpucast_ptx_frontend::isa::{Opcode, SpecialRegister, forms};

/// Directives, and punctuation that seldom comes together by chance.
const OTHERS: &str = ".version .target .address_size .entry .func .visible .extern .weak .common \
    .global .const .shared .local .param .reg .align .ptr .maxntid .reqntid .minnctapersm \
    .maxnreg .maxclusterrank .reqnctapercluster .explicitcluster .noreturn .pragma .loc .file \
    .section .alias .branchtargets .calltargets .callprototype .managed .unified mask() \
    generic() inlined_at sm_90a {} () [] 0f3F800000 0d3FF0000000000000 @%p1 @!%p1 ]; }; {%r1,%r2}";

fn main() {
    let mut words: BTreeSet<String> = OTHERS.split_whitespace().map(str::to_owned).collect();
    words.extend(Opcode::ALL.iter().map(|opcode| opcode.text().to_owned()));
    let modifiers = forms().iter().flat_map(|form| &form.slots).flat_map(|slot| &slot.choices);
    words.extend(modifiers.map(|modifier| format!(".{modifier}")));
    words.extend(SpecialRegister::all().iter().map(ToString::to_string));
    for word in words {
        println!("\"{word}\"");
    }
}
