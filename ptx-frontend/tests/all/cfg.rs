//! Control-flow graphs of known shapes. Blocks are named by the labels that they begin with.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests may fail loudly, like the tests"
)]

use gpucast_ptx_frontend::cfg::{BlockId, ControlFlowGraph};
use gpucast_ptx_frontend::load;

/// The graph of a kernel with this body, and the name of each block.
fn graph(body: &str) -> (ControlFlowGraph, Vec<String>) {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{{\n\
         .reg .pred %p<4>;\n.reg .b32 %r<4>;\n{body}\n}}\n"
    );
    let module = load(&text).unwrap_or_else(|diagnostics| panic!("{diagnostics:?}"));
    let body = module.functions[0].body.as_ref().unwrap();
    let cfg = ControlFlowGraph::new(body).unwrap();
    let name = |start| {
        let label = body.labels.iter().find(|label| label.instruction == start);
        label.map_or_else(|| format!("#{start}"), |label| label.name.clone())
    };
    let names = cfg.blocks().iter().map(|block| name(block.instructions.start)).collect();
    (cfg, names)
}

/// One line for each block: successors, `exit`, dominator, post-dominator, reconvergence, loop.
fn describe(body: &str) -> String {
    let (cfg, names) = graph(body);
    let name = |block: Option<BlockId>| block.map_or("-", |block| &names[block.index()]);
    let mut text = String::new();
    for (index, block) in cfg.blocks().iter().enumerate() {
        let id = BlockId(index as u32);
        let mut ways: Vec<&str> = block.successors.iter().map(|&next| name(Some(next))).collect();
        if block.exits {
            ways.push("exit");
        }
        let depth = cfg.innermost_loop(id).map_or(0, |inner| cfg.loops()[inner].depth);
        text += &format!(
            "{} [{:?}] -> {}; idom {}, ipdom {}, reconverges {}, depth {depth}{}\n",
            names[index],
            block.instructions,
            ways.join(" "),
            name(cfg.immediate_dominator(id)),
            name(cfg.immediate_post_dominator(id)),
            name(cfg.reconvergence(id)),
            if cfg.is_reachable(id) { "" } else { ", unreachable" },
        );
    }
    let order: Vec<&str> =
        cfg.reverse_post_order().iter().map(|&block| name(Some(block))).collect();
    text + "order " + &order.join(" ")
}

#[test]
fn a_diamond_meets_behind_its_arms() {
    insta::assert_snapshot!(describe(
        "@%p1 bra ELSE;\nmov.b32 %r1, 1;\nbra.uni JOIN;\nELSE: mov.b32 %r1, 2;\nJOIN: ret;"
    ));
}

#[test]
fn a_loop_has_a_header_and_an_exit() {
    insta::assert_snapshot!(describe(
        "mov.b32 %r1, 0;\nLOOP: add.s32 %r1, %r1, 1;\n@%p1 bra LOOP;\nEND: ret;"
    ));
}

#[test]
fn nested_loops_have_depths_and_parents() {
    let body = "OUTER: mov.b32 %r1, 0;\nINNER: add.s32 %r1, %r1, 1;\n@%p1 bra INNER;\n\
                LATCH: @%p2 bra OUTER;\nEND: ret;";
    insta::assert_snapshot!(describe(body));
    let (cfg, names) = graph(body);
    let parents: Vec<_> = cfg.loops().iter().map(|found| found.parent).collect();
    assert_eq!(parents, [None, Some(0)]);
    let inside = |index: usize| -> Vec<&str> {
        cfg.loops()[index].blocks.iter().map(|block| &*names[block.index()]).collect()
    };
    assert_eq!(inside(0), ["OUTER", "INNER", "LATCH"]);
    assert_eq!(inside(1), ["INNER"]);
}

#[test]
fn what_follows_a_loop_comes_behind_it_in_the_order() {
    // The branch stays in the loop and the fall-through leaves it.
    let body = "HEAD: @%p1 bra BODY;\nEND: ret;\nBODY: add.s32 %r1, %r1, 1;\nbra HEAD;";
    assert!(describe(body).ends_with("order HEAD BODY END"), "{}", describe(body));
}

#[test]
fn an_irreducible_cycle_is_no_natural_loop() {
    let body = "@%p1 bra B;\nA: mov.b32 %r1, 1;\nB: mov.b32 %r1, 2;\n@%p2 bra A;\nret;";
    insta::assert_snapshot!(describe(body));
    assert!(graph(body).0.loops().is_empty());
}

#[test]
fn an_endless_loop_still_has_post_dominators() {
    insta::assert_snapshot!(describe(
        "@%p1 bra END;\nSPIN: @%p2 bra ODD;\nadd.s32 %r1, %r1, 1;\nODD: bra.uni SPIN;\nEND: ret;"
    ));
}

#[test]
fn a_guarded_exit_separates_lanes_that_never_meet_again() {
    insta::assert_snapshot!(describe("@%p1 exit;\nmov.b32 %r1, 1;\n@!%p1 ret;\ntrap;"));
}

#[test]
fn an_indexed_branch_lists_its_targets_in_order() {
    insta::assert_snapshot!(describe(
        "T: .branchtargets C, A, B, A;\nbrx.idx %r1, T;\nA: ret;\nB: ret;\nC: bra A;"
    ));
}

#[test]
fn code_behind_a_jump_is_unreachable() {
    insta::assert_snapshot!(describe("bra END;\nDEAD: bra DEAD;\nEND: ret;"));
    assert_eq!(graph("bra END;\nDEAD: bra DEAD;\nEND: ret;").0.unreachable().count(), 1);
}

#[test]
fn labels_at_the_end_and_empty_bodies_have_blocks() {
    insta::assert_snapshot!(describe("@%p1 bra END;\nmov.b32 %r1, 1;\nEND:"));
    let only = "#0 [0..0] -> exit; idom -, ipdom -, reconverges -, depth 0\norder #0";
    assert_eq!(describe(""), only);
}

#[test]
fn every_instruction_is_in_one_block() {
    let (cfg, _) = graph("A: @%p1 bra B;\nmov.b32 %r1, 1;\nB: @%p1 bra A;\nret;");
    let blocks: Vec<_> = (0..5).map(|at| cfg.block_of(at).map(|block| block.0)).collect();
    assert_eq!(blocks, [Some(0), Some(1), Some(2), Some(3), None]);
}
