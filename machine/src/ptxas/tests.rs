//! The opcode tables and the reading of cubins against `nvdisasm`, whose listings are committed.

#[path = "../../../tests/archive/mod.rs"]
mod archive;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use gpucast_ptx_frontend::container::Cubin;

use super::code::Code;
use super::image::Image;
use super::isa::{Decoder, Detail, Flow, Guard, meaning, mnemonics};

fn inputs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ptxas/inputs")
}

/// What a line of a listing, `section offset guard mnemonic target`, says of an instruction.
struct Listed<'a> {
    guard: &'a str,
    mnemonic: &'a str,
    target: Option<u64>,
}

fn listed(text: &str) -> BTreeMap<(&str, u64), Listed<'_>> {
    let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
    text.lines()
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let [section, offset, guard, mnemonic, target] = words[..] else {
                panic!("not a line of a listing: {line}")
            };
            let offset = hexadecimal(offset).unwrap();
            ((section, offset), Listed { guard, mnemonic, target: hexadecimal(target) })
        })
        .collect()
}

/// Everything in which a cubin's decoded code differs from its listing.
fn differences(cubin: &Path, listing: &str) -> Vec<String> {
    let data = fs::read(cubin).unwrap();
    let mut listing = listed(listing);
    let facts = Cubin::parse(&data).unwrap();
    // A module may have functions only.
    let Some(kernel) = facts.kernels.first() else { return Vec::new() };
    let image = Image::parse(&data, &kernel.name).unwrap();
    let decoder = Decoder::of(image.target).unwrap();
    let mut found = Vec::new();
    for section in &image.sections {
        for word in decoder.words(section.code) {
            let place = format!("{}+{:#x}", section.name, word.offset);
            let Some(one) = listing.remove(&(section.name, word.offset)) else {
                found.push(format!("{place} is not listed"));
                continue;
            };
            let Some(decoded) = decoder.decode(word) else {
                found.push(format!("{place} {} is unknown", one.mnemonic));
                continue;
            };
            if decoded.mnemonic != one.mnemonic {
                found.push(format!("{place} is {}, not {}", one.mnemonic, decoded.mnemonic));
            }
            let guard = match one.guard {
                "-" => Guard::Always,
                "@!PT" | "@!UPT" => Guard::Never,
                _ => Guard::Sometimes,
            };
            if decoded.guard != guard {
                found.push(format!("{place} has the guard {}, not {:?}", one.guard, decoded.guard));
            }
            let target = match decoded.flow {
                Flow::Branch(target) | Flow::Call(target) => target,
                Flow::Push(_, target) => Some(target),
                _ => None,
            };
            // Subroutines have names instead of places in listings. The address of an instruction
            // is no jump, and neither is the end of what a warp does collectively.
            let is_jump = !matches!(decoded.mnemonic, "LEPC" | "WARPSYNC");
            if let Some(expected) = one.target.filter(|_| is_jump)
                && target.map(|target| decoder.first_at(target)) != Some(decoder.first_at(expected))
            {
                found.push(format!("{place} goes to {expected:#x}, not {target:x?}"));
            }
        }
    }
    for ((section, offset), one) in listing {
        found.push(format!("{section}+{offset:#x} {} was not decoded", one.mnemonic));
    }
    found
}

#[test]
fn instructions_are_those_that_the_vendors_disassembler_lists() {
    let listings = archive::texts("tests/ptxas/listings.tar");
    for (name, listing) in &listings {
        let found = differences(&inputs().join(name).with_extension("cubin"), listing);
        assert!(found.is_empty(), "{name}:\n{}", found.join("\n"));
    }
    assert!(listings.len() >= 30, "only {} listings are there", listings.len());
}

/// A folder of other cubins and listings, where somebody has one; `regenerate.py` says how
/// listings are made.
#[test]
fn instructions_of_a_folder_of_listings_are_known() {
    let Some(folder) = std::env::var_os("GPUCAST_LISTINGS") else {
        eprintln!("skipped: GPUCAST_LISTINGS names no folder");
        return;
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "listing") {
            let listing = fs::read_to_string(&path).unwrap();
            let here = differences(&path.with_extension("cubin"), &listing);
            found.extend(here.into_iter().map(|line| format!("{}: {line}", path.display())));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn every_mnemonic_has_a_meaning_and_every_meaning_a_mnemonic() {
    let all: BTreeSet<&str> = mnemonics().collect();
    let missing: Vec<_> = all.iter().filter(|mnemonic| meaning(mnemonic).is_none()).collect();
    assert!(missing.is_empty(), "{missing:?} have no meaning");
    let unused: Vec<_> =
        super::isa::meant().into_iter().filter(|mnemonic| !all.contains(mnemonic)).collect();
    assert!(unused.is_empty(), "{unused:?} are in no table of opcodes");
}

#[test]
fn kepler_code_has_the_instructions_that_its_ptx_asks_for() {
    // No published disassembler knows sm_35. The PTX of these kernels says how many of these
    // instructions there are: they are translated one to one.
    let counts = |file: &str| {
        let data = fs::read(inputs().join(file)).unwrap();
        let name = Cubin::parse(&data).unwrap().kernels[0].name.clone();
        let image = Image::parse(&data, &name).unwrap();
        let code = Code::read(&image).unwrap();
        move |mnemonic: &str| {
            code.instructions
                .iter()
                .filter(|instruction| instruction.decoded.mnemonic == mnemonic)
                .count()
        }
    };
    // 32 multiply-adds and 2 loads of a tile in the loop's body, two barriers, one result.
    let sgemm = counts("sgemm.sm_35.cubin");
    assert_eq!([sgemm("FFMA"), sgemm("LD"), sgemm("BAR"), sgemm("ST")], [32, 2, 2, 1]);
    // Two stores to shared memory; 32 loads of one operand, 8 of four elements of the other.
    assert_eq!([sgemm("STS"), sgemm("LDS")], [2, 40]);
    // One multiply-add, six additions and multiplications in doubles for each point.
    let sor = counts("sor-red-black.sm_35.cubin");
    assert!(sor("DFMA") >= 1 && sor("EXIT") >= 1);
}

#[test]
fn a_loop_may_be_left_by_a_call() {
    // Of this kernel's eight calls six are of the path for rare divisors, at the end of the code,
    // which returns; two lead out of the loops around them, where nothing returns.
    let data = fs::read(inputs().join("rounds.sm_80.cubin")).unwrap();
    let image = Image::parse(&data, "gpp_nw6_no_fma").unwrap();
    let code = Code::read(&image).unwrap();
    let calls = |is_one: fn(&Flow) -> bool| {
        let written =
            code.instructions.iter().filter(|instruction| instruction.decoded.mnemonic == "CALL");
        written.filter(|instruction| is_one(&instruction.decoded.flow)).count()
    };
    assert_eq!(calls(|flow| matches!(flow, Flow::Call(Some(_)))), 6);
    assert_eq!(calls(|flow| matches!(flow, Flow::Branch(Some(_)))), 2);
    let called: BTreeSet<usize> = code.blocks.iter().filter_map(|block| block.calls).collect();
    assert_eq!(called.len(), 1, "one subroutine");
}

#[test]
fn threads_that_leave_a_region_early_take_no_one_else_out_of_it() {
    // Read off the listing: SSY at 0x30 opens the region that ends at 0x7a8, those within it end at
    // 0x398 and 0x530. `@P0 SYNC` at 0x128 and `@!P1 SYNC` at 0x530 leave the outer one.
    let data = fs::read(inputs().join("nested.sm_50.cubin")).unwrap();
    let image = Image::parse(&data, "dot_product").unwrap();
    let code = Code::read(&image).unwrap();
    let offset = |block: usize| code.instructions[code.blocks[block].instructions.start].offset;
    let mut left = BTreeMap::new();
    for block in &code.blocks {
        let last = &code.instructions[block.instructions.end - 1];
        if last.decoded.mnemonic == "SYNC" {
            let taken = block.edges.iter().find(|edge| edge.taken).and_then(|edge| edge.to);
            left.insert(last.offset, taken.map(offset));
        }
    }
    let expected = [
        (0x128, 0x7a8),
        (0x238, 0x398),
        (0x390, 0x398),
        (0x3f8, 0x530),
        (0x528, 0x530),
        (0x530, 0x7a8),
        (0x798, 0x7a8),
    ];
    assert_eq!(left, expected.map(|(from, to)| (from, Some(to))).into());
    assert!(code.unresolved.is_empty());
}

/// Loads whose result a later instruction of the same block computes with, and those of them that
/// nothing waits for.
fn loads_and_unawaited(path: &Path) -> (usize, Vec<String>) {
    let data = fs::read(path).unwrap();
    let facts = Cubin::parse(&data).unwrap();
    let image = Image::parse(&data, &facts.kernels[0].name).unwrap();
    let decoder = Decoder::of(image.target).unwrap();
    // Where an encoding has its destination and its first source.
    let (to, from) = if image.target.sm < 70 { (0, 8) } else { (16, 24) };
    let computes = ["FFMA", "FADD", "FMUL", "DFMA", "DADD", "IADD", "IADD3", "IMAD", "FSETP"];
    let (mut loads, mut unawaited) = (0, Vec::new());
    for section in &image.sections {
        let words = decoder.words(section.code);
        let Some(controls) = decoder.controls(section.code) else { continue };
        assert_eq!(words.len(), controls.len());
        let decoded: Vec<_> = words.iter().map(|&word| decoder.decode(word)).collect();
        let register = |index: usize, first: u32| words[index].bits >> first & 0xff;
        for (at, load) in decoded.iter().enumerate() {
            let is_load = load
                .is_some_and(|instruction| ["LD", "LDG", "LDS"].contains(&instruction.mnemonic));
            let result = register(at, to);
            // The register that reads as zero takes no result.
            if !is_load || result == 0xff {
                continue;
            }
            let straight = |&next: &usize| {
                decoded[next].is_some_and(|instruction| instruction.flow == Flow::Next)
            };
            let mut behind = (at + 1..words.len()).take_while(straight);
            let uses = |&next: &usize| {
                decoded[next].is_some_and(|instruction| computes.contains(&instruction.mnemonic))
                    && register(next, from) == result
            };
            let Some(user) = behind.find(uses) else { continue };
            loads += 1;
            // Loads of a kind end in their order: the barrier of a later one does for both.
            let of_kind = (at..user).filter(|&index| {
                decoded[index].map(|instruction| instruction.mnemonic)
                    == load.map(|instruction| instruction.mnemonic)
            });
            let mut barriers =
                of_kind.filter_map(|index| Some((index, controls[index].write_barrier?)));
            let awaited = barriers.any(|(one, barrier)| {
                (one + 1..=user).any(|later| {
                    let mnemonic = decoded[later].map_or("", |instruction| instruction.mnemonic);
                    let counter = match decoder.detail(mnemonic, words[later]) {
                        Detail::Counter { counter, .. } => counter,
                        _ => None,
                    };
                    controls[later].wait_mask >> barrier & 1 == 1 || counter == Some(barrier)
                })
            });
            if !awaited {
                unawaited.push(format!("{}+{:#x}", section.name, words[at].offset));
            }
        }
    }
    (loads, unawaited)
}

#[test]
fn every_result_of_a_load_is_waited_for_by_its_barrier() {
    let mut all = 0;
    for entry in fs::read_dir(inputs()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "cubin") {
            let (loads, unawaited) = loads_and_unawaited(&path);
            assert!(unawaited.is_empty(), "{}: {unawaited:?}", path.display());
            all += loads;
        }
    }
    assert!(all > 500, "{all} loads");
}

#[test]
fn damaged_files_are_refused() {
    let data = fs::read(inputs().join("sgemm.sm_50.cubin")).unwrap();
    assert!(Image::parse(&[], "sgemm").is_err());
    assert!(Image::parse(&data, "no_such_kernel").is_err());
    // Whatever byte is damaged or wherever the file ends, reading returns.
    for end in (0..data.len()).step_by(97) {
        let _ = Image::parse(&data[..end], "sgemm").map(|image| Code::read(&image).is_ok());
    }
    for at in (0..data.len()).step_by(31) {
        let mut damaged = data.clone();
        damaged[at] ^= 0xff;
        let _ = Image::parse(&damaged, "sgemm").map(|image| Code::read(&image).is_ok());
    }
}
