//! The help texts, and wrong usage.

use crate::gpucast::{gpucast, stdout};

#[test]
fn every_command_explains_itself() {
    for command in [
        "",
        "predict",
        "sweep",
        "sweep plan",
        "sweep work",
        "sweep status",
        "sweep merge",
        "sweep submit",
        "tune",
        "sensitivity",
        "compare",
        "profile",
        "trace",
        "run",
        "exec",
        "ncu",
        "bench",
        "plot",
        "plot roofline",
        "plot quadrant-split",
        "plot breakdown",
        "plot stages",
        "plot mix",
        "plot sweep",
        "plot sensitivity",
        "plot errors",
        "plot occupancy",
        "plot access",
        "plot banks",
        "plot divergence",
        "report",
        "check",
        "explain",
        "gpus",
        "gpus list",
        "gpus show",
        "gpus derive",
        "gpus import",
        "gpus diff",
        "calibrate",
        "calibrate offload",
        "corpus",
        "corpus list",
        "corpus show",
        "corpus export",
        "kernels",
        "kernels list",
        "kernels show",
        "kernels generate",
        "kernels strip",
        "completions",
        "man",
    ] {
        let name = format!("help {command}").trim().replace(' ', "-");
        insta::assert_snapshot!(name, stdout(&format!("{command} --help")));
    }
}

#[test]
fn wrong_usage_ends_with_status_two() {
    let mut transcript = String::new();
    for arguments in [
        "",
        "predikt",
        "predict",
        "predict --gpu gtx-660",
        "predict sgemm --gpu gtx-660 --format yaml",
        "predict sgemm --gpu gtx-660 --model oracle",
        "predict sgemm --gpu gtx-660 --reference gtx-480=soon",
        "predict sgemm --gpu gtx-660 --from-metrics x.csv",
        "predict --from-metrics x.csv --grid 4 --gpu gtx-660",
        "run sgemm --grid 4",
        "run saxpy.ptx --arch sm_80",
        "run saxpy.ptx --kernel saxpy",
        "run saxpy.ptx --kernel saxpy --grid 0 --block 256",
        "run saxpy.ptx --kernel saxpy --grid 4 --block 256 --arg u33:4",
        "run saxpy.ptx --kernel saxpy --grid 4 --block 256 --arg 'buf:f32[16]=uniform(0,1)'",
        "run saxpy.toml --dump y",
        "run saxpy.toml --dump y=y.txt",
        "run saxpy.toml --budget 0",
        "bench sgemm --counting slice",
        "bench sgemm --rounds 0",
    ] {
        let outcome = gpucast(arguments);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (2, ""), "gpucast {arguments}");
        transcript += &format!("$ gpucast {arguments}\n{}\n", outcome.stderr);
    }
    insta::assert_snapshot!(transcript);
}

/// A launch that is proposed is that of one module: the command to copy has it alone, and runs.
#[test]
fn a_command_to_copy_names_the_module_alone() {
    let refused = gpucast("predict sgemm saxpy.ptx transpose --gpu gtx-480 --machine rules");
    assert_eq!(refused.status, 2);
    let lines = refused.stderr.lines().map(str::trim);
    let proposed = lines.filter_map(|line| line.strip_prefix("gpucast ")).next_back().unwrap();
    let words = "predict saxpy.ptx --gpu gtx-480 --machine rules --grid";
    assert!(proposed.starts_with(words), "{proposed}");
    let ran = gpucast(proposed);
    assert_eq!(ran.status, 0, "{proposed}\n{}", ran.stderr);
}
