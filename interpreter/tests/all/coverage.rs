//! What is parsed and what is executed, found by writing down every variant of every row of the
//! instruction table and lowering it. The result is the page `docs/evidence/ptx-coverage.md`.
//!
//! `GPUCAST_UPDATE=1 cargo test --workspace --release --all-features --test all coverage` writes
//! the page anew; `GPUCAST_REFUSED=1` prints the variants that are parsed and not executed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests may fail loudly, like the tests, and print what is asked for"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use gpucast_interpreter::Program;
use gpucast_ptx_frontend::isa::{Form, Modifier, Opcode, forms, sample};
use gpucast_ptx_frontend::load;
use gpucast_ptx_frontend::source::LineIndex;

/// Combinations of one row that are all looked at, at most; beyond, modifiers that are not types
/// vary two at a time. Some go with others only: a mode for images needs three dimensions.
const MOST_VARIANTS: usize = 4096;

/// Reasons that a line of the page shows.
const MOST_REASONS: usize = 4;

/// What became of the variants of one mnemonic.
#[derive(Default)]
struct Coverage {
    rows: usize,
    executed_rows: usize,
    partly_executed_rows: usize,
    parsed: usize,
    executed: usize,
    reasons: BTreeMap<String, usize>,
}

/// The tier: what is ordinary, what is tensor and asynchronous, what came with clusters, the rest,
/// and what needs several nodes.
fn tier(opcode: Opcode) -> u8 {
    let text = opcode.text();
    let is = |prefixes: &[&str]| prefixes.iter().any(|prefix| text.starts_with(prefix));
    let video =
        ["vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vmad", "vset", "vavrg"];
    match () {
        () if is(&["fabric"]) => 5,
        () if is(&[
            "tex",
            "tld4",
            "txq",
            "suld",
            "sust",
            "sured",
            "suq",
            "istypep",
            "tcgen05",
            "clusterlaunchcontrol",
            "spcompress",
            "spdecompress",
            "trace.mark",
        ]) || is(&video) =>
        {
            4
        }
        () if is(&[
            "cp.async.bulk",
            "cp.reduce",
            "applypriority.async",
            "tensormap",
            "wgmma",
            "multimem",
            "barrier.cluster",
            "getctarank",
            "st.async",
            "red.async",
            "st.bulk",
            "mapa",
        ]) =>
        {
            3
        }
        () if is(&["wmma", "mma", "ldmatrix", "stmatrix", "movmatrix", "cp.async", "mbarrier"]) => {
            2
        }
        () => 1,
    }
}

/// The ways to write `form`: every combination of its modifiers, or, where those are too many,
/// every combination of its types with each two other modifiers.
pub(crate) fn variants(form: &Form) -> Vec<String> {
    let choices = |slot: usize| -> Vec<Option<Modifier>> {
        let slot = &form.slots[slot];
        let left_out = slot.optional.then_some(None);
        left_out.into_iter().chain(slot.choices.iter().copied().map(Some)).collect()
    };
    let all: Vec<Vec<Option<Modifier>>> = (0..form.slots.len()).map(choices).collect();
    let product = |slots: &[Vec<Option<Modifier>>]| {
        slots.iter().fold(vec![Vec::new()], |before: Vec<Vec<Option<Modifier>>>, slot| {
            let with = |chosen: &Vec<Option<Modifier>>| {
                let chosen = chosen.clone();
                slot.iter().map(move |&choice| [chosen.clone(), vec![choice]].concat())
            };
            before.iter().flat_map(with).collect()
        })
    };
    let size: usize = all.iter().map(Vec::len).product();
    let mut combinations = Vec::new();
    if size <= MOST_VARIANTS {
        combinations = product(&all);
    } else {
        let is_type = |slot: &[Option<Modifier>]| {
            slot.iter().flatten().all(|modifier| modifier.as_type().is_some())
        };
        let others = (0..all.len()).filter(|&at| !is_type(&all[at])).collect::<Vec<usize>>();
        let pairs = others.iter().flat_map(|one| others.iter().map(move |other| [one, other]));
        for varied in pairs.filter(|[one, other]| one <= other) {
            let narrow = |(at, slot): (usize, &Vec<Option<Modifier>>)| match is_type(slot) {
                false if !varied.contains(&&at) => slot[..1].to_vec(),
                _ => slot.clone(),
            };
            let narrowed: Vec<_> = all.iter().enumerate().map(narrow).collect();
            combinations.extend(product(&narrowed));
        }
    }
    let texts = combinations.into_iter().flat_map(|modifiers| {
        let modifiers: Vec<Modifier> = modifiers.into_iter().flatten().collect();
        let optional = form.operands.iter().any(|operand| operand.optional);
        let full = if optional { &[false, true][..] } else { &[false][..] };
        full.iter().map(|&full| sample::instruction(form, &modifiers, full)).collect::<Vec<_>>()
    });
    texts.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Look at the variants of a row: on a new target or, where that has none of them any more, on the
/// oldest; and those that it refuses on the newest.
fn look(form: &Form, texts: &[String], coverage: &mut Coverage) {
    coverage.rows += 1;
    let suffix = if form.min_target.specific { "a" } else { "" };
    let oldest = form.min_target.sm.max(20);
    let on = |sm: u32, texts: &[String], coverage: &mut Coverage| {
        look_on(form, &format!("sm_{sm}{suffix}"), texts, coverage)
    };
    let mut looked = on(oldest.max(90), texts, coverage);
    if looked.accepted == 0 {
        looked = on(oldest, texts, coverage);
    }
    let newest = look_on(form, NEWEST, &looked.rejected, coverage);
    let accepted = looked.accepted + newest.accepted;
    let refused = looked.refused + newest.refused;
    assert!(accepted > 0, "no variant of {} is accepted", form.text);
    coverage.parsed += accepted;
    coverage.executed += accepted - refused;
    match refused {
        0 => coverage.executed_rows += 1,
        n if n < accepted => coverage.partly_executed_rows += 1,
        _ => {}
    }
}

/// The target that has the newest modifiers.
const NEWEST: &str = "sm_107a";

/// What becomes of variants on a target.
struct Looked {
    /// Variants of the row that load.
    accepted: usize,
    /// Those of them that the lowering refuses.
    refused: usize,
    /// Those that a diagnostic rejects.
    rejected: Vec<String>,
}

fn look_on(form: &Form, target: &str, texts: &[String], coverage: &mut Coverage) -> Looked {
    let mut texts = texts.to_vec();
    let mut rejected = Vec::new();
    let (text, module) = loop {
        let text = sample::module(target, &texts);
        let lines = LineIndex::new(&text);
        let diagnostics = match load(&text) {
            Ok(module) => break (text, module),
            Err(diagnostics) => diagnostics,
        };
        let line = |at| (lines.position(&text, at).line.wrapping_sub(sample::FIRST_LINE)) as usize;
        let wrong: BTreeSet<usize> = diagnostics.iter().map(|d| line(d.span.start)).collect();
        let before = texts.len();
        let all = std::mem::take(&mut texts).into_iter().enumerate();
        let (bad, good): (Vec<_>, Vec<_>) = all.partition(|(at, _)| wrong.contains(at));
        texts = good.into_iter().map(|(_, text)| text).collect();
        rejected.extend(bad.into_iter().map(|(_, text)| text));
        assert!(texts.len() < before, "{}: {}", form.text, diagnostics[0]);
    };
    let lines = LineIndex::new(&text);
    let kernel = module.functions.iter().find(|function| function.name == "k").unwrap();
    let instructions = &kernel.body.as_ref().unwrap().instructions;
    let own: BTreeSet<u32> = instructions
        .iter()
        .filter(|instruction| instruction.form.form() == form)
        .map(|instruction| lines.position(&text, instruction.span.start).line)
        .filter(|line| (sample::FIRST_LINE..sample::FIRST_LINE + texts.len() as u32).contains(line))
        .collect();
    let unsupported = match Program::new(&module, &text, "k") {
        Ok(program) => program.unsupported().to_vec(),
        Err(other) => panic!("{}: {other}", form.text),
    };
    let mut refused = BTreeSet::new();
    for one in unsupported {
        assert!(!one.what.is_empty(), "{}: {}", form.text, one.reason);
        let line = lines.position(&text, one.span.start).line;
        if own.contains(&line) && refused.insert(line) {
            *coverage.reasons.entry(one.reason).or_default() += 1;
        }
    }
    if std::env::var_os("GPUCAST_REFUSED").is_some() {
        for line in &refused {
            println!("{}", texts[(line - sample::FIRST_LINE) as usize]);
        }
    }
    Looked { accepted: own.len(), refused: refused.len(), rejected }
}

fn page() -> String {
    let mut coverage: BTreeMap<(u8, &str), Coverage> = BTreeMap::new();
    for form in forms() {
        let key = (tier(form.opcode), form.opcode.text());
        look(form, &variants(form), coverage.entry(key).or_default());
    }
    let mut page = String::from(
        "# PTX coverage\n\n\
         `interpreter/tests/all/coverage.rs` makes this page from the instruction table, and keeps it true. \
         It writes down the variants of every row, loads them and lowers them. Variants are the combinations of modifiers, with and without \
         optional operands. Where a row has more than 4,096 combinations, types vary together and other modifiers two at a time. \
         *Parsed* counts the variants that the resolver accepts, *executed* those that the interpreter runs. What is parsed and not executed is named by \
         `gpucast check` and stops a run before its first warp.\n\n\
         | tier | rows | executed | in part | variants parsed | executed | |\n|---|--:|--:|--:|--:|--:|--:|\n",
    );
    let names = [
        "",
        "1 ordinary",
        "2 tensor and asynchronous",
        "3 Hopper",
        "4 textures, video, tensor memory",
        "5 fabric of several nodes",
    ];
    for tier in 1..names.len() as u8 {
        let total = |f: &dyn Fn(&Coverage) -> usize| -> usize {
            coverage.iter().filter(|((t, _), _)| *t == tier).map(|(_, found)| f(found)).sum()
        };
        let (parsed, executed) = (total(&|found| found.parsed), total(&|found| found.executed));
        writeln!(
            page,
            "| {} | {} | {} | {} | {parsed} | {executed} | {} % |",
            names[usize::from(tier)],
            total(&|found| found.rows),
            total(&|found| found.executed_rows),
            total(&|found| found.partly_executed_rows),
            executed * 100 / parsed.max(1),
        )
        .unwrap();
    }
    page += "\n`fabric.*` moves data through logical endpoints: objects of the driver that stand for memory of other nodes' GPUs. \
        A launch here has one device and no such object, so tier 5 is parsed and never executed.\n";
    for tier in 1..names.len() as u8 {
        write!(
            page,
            "\n## Tier {}\n\n| mnemonic | rows | variants parsed | executed | not executed because |\n|---|--:|--:|--:|---|\n",
            names[usize::from(tier)]
        )
        .unwrap();
        for ((_, name), one) in coverage.iter().filter(|((t, _), _)| *t == tier) {
            let mut reasons: Vec<(&String, &usize)> = one.reasons.iter().collect();
            reasons.sort_by_key(|&(reason, &count)| (std::cmp::Reverse(count), reason));
            let others = reasons.split_off(reasons.len().min(MOST_REASONS));
            let shown = |(reason, &count): (&String, &usize)| {
                let count = if count == one.parsed { String::new() } else { format!(" ({count})") };
                format!("{}{count}", reason.replace('|', "\\|"))
            };
            let mut reasons: Vec<String> = reasons.into_iter().map(shown).collect();
            if !others.is_empty() {
                let variants: usize = others.iter().map(|&(_, count)| count).sum();
                reasons.push(format!("and {} other reasons ({variants})", others.len()));
            }
            writeln!(
                page,
                "| `{name}` | {} | {} | {} | {} |",
                one.rows,
                one.parsed,
                one.executed,
                reasons.join("; ")
            )
            .unwrap();
        }
    }
    page
}

#[test]
fn the_page_says_what_is_parsed_and_executed() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/evidence/ptx-coverage.md");
    let page = page();
    if std::env::var_os("GPUCAST_UPDATE").is_some() {
        std::fs::write(path, &page).unwrap();
        return;
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    let changed = page.lines().zip(committed.lines()).find(|(new, old)| new != old);
    assert!(
        page == committed,
        "docs/evidence/ptx-coverage.md is not what the table and the lowering say (first difference {changed:?}); \
         GPUCAST_UPDATE=1 with this test writes it anew"
    );
}
