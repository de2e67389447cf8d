//! What must hold for any input at all. The fuzz targets of `tests/fuzz/` and the short
//! deterministic runs of the tests share these functions.
#![allow(dead_code, reason = "each user takes a part")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "failing is how these functions report"
)]

use gpucast_ptx_frontend::container::{EntryKind, Limits, best_ptx_of_each_module, open_with};
use gpucast_ptx_frontend::{ControlFlowGraph, load, parse};

/// Longer texts take longer and find nothing else.
const LONGEST_TEXT: usize = 64 << 10;

/// Parsing and loading end without a panic; what is printed is sound text with the same meaning.
pub(crate) fn text(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(&data[..data.len().min(LONGEST_TEXT)]) else { return };
    let (file, diagnostics) = parse(text);
    let printed = file.to_string();
    let loaded = load(text);
    if !diagnostics.is_empty() {
        assert!(loaded.is_err(), "what does not parse does not load");
        return;
    }
    let (again, diagnostics) = parse(&printed);
    assert_eq!(diagnostics, [], "what is printed parses:\n{printed}");
    // The first line that differs says more than two whole texts.
    let twice = again.to_string();
    let difference = twice.lines().zip(printed.lines()).find(|(twice, once)| twice != once);
    assert_eq!((difference, twice.len()), (None, printed.len()), "printed twice and once differ");
    let Ok(module) = loaded else { return };
    for body in module.functions.iter().filter_map(|function| function.body.as_ref()) {
        ControlFlowGraph::new(body).expect("loaded branches have labels");
    }
    let reloaded = load(&printed).expect("what is printed loads");
    let count = |module: &gpucast_ptx_frontend::Module| {
        let bodies = module.functions.iter().filter_map(|function| function.body.as_ref());
        let instructions: Vec<_> = bodies
            .flat_map(|body| &body.instructions)
            .map(|instruction| {
                (
                    instruction.form,
                    instruction.modifiers.clone(),
                    instruction.guard,
                    instruction.operands.clone(),
                )
            })
            .collect();
        (module.variables.len(), module.functions.len(), instructions)
    };
    assert!(count(&reloaded) == count(&module), "what is printed means the same:\n{printed}");
}

/// What one input may ask for.
const LIMIT: u64 = 4 << 20;

/// Opening, listing and decompressing end within bounded memory, and without a panic.
pub(crate) fn container(data: &[u8]) {
    let limits = Limits { payload_bytes: LIMIT, ..Limits::default() };
    let Ok(contents) = open_with(data, limits) else { return };
    let mut total = 0;
    for entry in contents.entries.iter().take(64) {
        let Ok(payload) = entry.payload() else { continue };
        assert!(payload.len() as u64 <= LIMIT.max(data.len() as u64), "limits hold");
        total += payload.len();
        match entry.kind {
            EntryKind::Ptx => drop(entry.ptx_text()),
            EntryKind::Cubin => drop(entry.cubin()),
            EntryKind::LtoIr | EntryKind::Other(_) => {}
        }
        if total as u64 > 4 * LIMIT {
            break;
        }
    }
    if let Ok(chosen) = best_ptx_of_each_module(&contents, None) {
        for selection in chosen {
            assert_eq!(selection.entry.kind, EntryKind::Ptx);
            assert!(!selection.to_string().is_empty());
        }
    }
}
