//! `gpucast plot`.

use std::path::PathBuf;

use crate::gpucast::{gpucast, stdout};

/// A file for a picture, of this test alone.
fn file(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("gpucast-plot-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

/// Draws a picture and returns its bytes.
#[track_caller]
fn drawn(arguments: &str, name: &str) -> Vec<u8> {
    let path = file(name);
    assert_eq!(stdout(&format!("plot {arguments} -o {}", path.display())), "");
    std::fs::read(path).unwrap()
}

#[track_caller]
fn svg(arguments: &str, name: &str) -> String {
    String::from_utf8(drawn(arguments, name)).unwrap()
}

#[test]
fn a_quadrant_split_has_the_thesis_s_points() {
    let text = svg("quadrant-split --from-metrics sgemm-metrics.toml --gpu gtx-660", "split.svg");
    // Figure 4.6: 24.81 operations a byte, T_SP = 1940.8, T'_op = 202.8, 169.11 GFLOPS measured.
    for words in ["24.8 operations/byte", "measured peak 1,941", "E_instr 202.8", "predicted 202.8"]
    {
        assert!(text.contains(words), "{words}");
    }
}

#[test]
fn several_gpus_and_kernels_share_a_file() {
    let arguments =
        "roofline vector-add transpose --size small --machine rules --gpu gtx-480,gtx-660";
    let text = svg(arguments, "roofline.svg");
    for words in
        ["Roofline of the GeForce GTX 480", "Roofline of the GeForce GTX 660", "vector_add"]
    {
        assert!(text.contains(words), "{words}");
    }
    let again = svg(&format!("{arguments} --threads 1"), "again.svg");
    assert!(text == again, "the number of threads changes nothing");
}

#[test]
fn bars_show_components_and_classes() {
    let arguments = "breakdown --from-metrics sgemm-metrics.toml --gpu gtx-660,gtx-960";
    let text = svg(arguments, "breakdown.svg");
    // Thesis, table 5.14: 5.171 ms and 2.973 ms.
    for words in ["5.17 ms, compute", "2.97 ms, compute", ">sgemm, gtx-960: 2.97 ms"] {
        assert!(text.contains(words), "{words}");
    }
    let text = svg("mix --from-metrics sgemm-metrics.toml", "mix.svg");
    // 524,288,000 fp32, 721,715,200 loads and stores, 164,659,200 integer instructions.
    for words in [">37 %<", ">51 %<", ">12 %<", "sgemm lacks inst_control"] {
        assert!(text.contains(words), "{words}");
    }
}

#[test]
fn a_sweep_becomes_lines_or_a_heat_map_and_says_what_is_missing() {
    let lines = svg("sweep sweep.csv", "sweep.svg");
    for words in [
        "predicted time (ms) over memory_bandwidth",
        ">sm_count 8<",
        ">sm_count 16<",
        "1 rows have no value, the first because there is no such GPU",
    ] {
        assert!(lines.contains(words), "{words}");
    }
    let cells = svg("sweep sweep.csv --x memory_bandwidth --y sm_count", "cells.svg");
    for words in [">6.5<", ">3.2<", ">6.4<", ">3.1<", ">320<", ">16<"] {
        assert!(cells.contains(words), "{words}");
    }
}

#[test]
fn sensitivities_become_bars_to_both_sides() {
    let text = svg("sensitivity sensitivity.csv", "tornado.svg");
    // The legend has the usual step; other steps stand beside their names.
    for words in [
        "+25.0 %",
        "−16.7 %",
        "+0.8 %",
        "−0.8 %",
        "lowered by 1 %",
        ">sm_count (by 20 %, 20 %)<",
        "warp_size cannot be lowered",
    ] {
        assert!(text.contains(words), "{words}");
    }
}

#[test]
fn the_ending_of_the_file_says_the_format_and_the_theme_the_colours() {
    let arguments = "quadrant-split --from-metrics sgemm-metrics.toml --gpu gtx-660 --theme dark";
    assert!(drawn(arguments, "split.png").starts_with(b"\x89PNG\r\n\x1a\n"));
    let text = svg(&format!("{arguments} --title 'One & only'"), "dark.svg");
    assert!(text.contains("fill=\"#12161C\"") && text.contains(">One &amp; only</text>"));
}

#[test]
fn what_cannot_be_drawn_is_refused_with_a_hint() {
    let missing = file("missing/picture.svg");
    let transcripts = [
        "quadrant-split --from-metrics sgemm-metrics.toml --gpu gtx-660 -o picture.pdf".to_owned(),
        format!(
            "quadrant-split --from-metrics sgemm-metrics.toml --gpu gtx-285x -o {}",
            file("unknown.svg").display()
        ),
        "roofline --gpu gtx-660 -o picture.svg".to_owned(),
        format!(
            "stages vector-add --size small --model quantitative-roofline --gpu gtx-660 -o {}",
            file("st.svg").display()
        ),
        format!("stages sgemm --machine rules --gpu h100-sxm -o {}", file("st.svg").display()),
        format!(
            "stages vector-add --size small --machine rules --gpu gtx-660 -o {}",
            file("st.svg").display()
        ),
        format!(
            "roofline transpose --size small --gpu h100-sxm -o {}",
            file("empty.svg").display()
        ),
        format!("sweep sweep.csv --x memory_bandwith -o {}", file("sw.svg").display()),
        format!("sweep saxpy.ptx -o {}", file("noise.svg").display()),
        format!("errors vector-add --size small --gpu gtx-660 -o {}", file("errors.svg").display()),
        format!("roofline sgemm --gpu gtx-660 -o {}", missing.display()),
    ]
    .map(|arguments| {
        let outcome = gpucast(&format!("plot {arguments}"));
        let transcript = outcome.transcript();
        let folder = file("").display().to_string();
        transcript.replace(folder.trim_end_matches('/'), "FOLDER")
    });
    insta::assert_snapshot!("plot-errors", transcripts.join("\n"));
}

/// Cyclic reduction of 512 equations: a step in each of the stages that its barriers make.
#[test]
fn stages_are_those_of_the_model_that_tells_them_apart() {
    let text = svg(
        "stages cyclic-reduction --size small --machine none --gpu gtx-285 --count-on target",
        "stages.svg",
    );
    for words in [">compute<", ">shared<", "cyclic_reduction_64 on gtx-285"] {
        assert!(text.contains(words), "{words}");
    }
}

/// L1, L2 and DRAM have intensities of their own.
#[test]
fn a_roofline_has_a_point_for_each_level_of_memory() {
    let text = svg(
        "roofline stencil-7pt --size small --machine none --gpu tesla-v100-sxm2 --count-on target",
        "levels.svg",
    );
    for words in ["at L1", "at L2", "at DRAM"] {
        assert!(text.contains(words), "{words}");
    }
}

/// Counted once for each GPU, a kernel is placed on both and missing on none; one without
/// operations is missing.
#[test]
fn a_roofline_says_which_kernels_it_cannot_show() {
    let options = "--size small --machine none --gpu gtx-480,tesla-v100-sxm2 --count-on target \
                   --model hierarchical-roofline";
    let all = svg(&format!("roofline stencil-7pt {options}"), "shown.svg");
    assert!(!all.contains("Not shown"), "{all}");
    let some = svg(&format!("roofline stencil-7pt transpose {options}"), "missing.svg");
    assert_eq!(some.matches("Not shown").count(), 2, "a note for each GPU");
}

/// No result, no file; and an old one stays as it was.
#[test]
fn a_command_that_fails_leaves_files_as_they_were() {
    let (new, old) = (file("new.svg"), file("old.svg"));
    std::fs::write(&old, "old").unwrap();
    for path in [&new, &old] {
        let outcome = gpucast(&format!(
            "plot stages vector-add --size small --gpu gtx-480 --machine none --model quantitative-roofline -o {}",
            path.display()
        ));
        assert_eq!(outcome.status, 1);
    }
    assert!(!new.exists());
    assert_eq!(std::fs::read(&old).unwrap(), b"old");
    stdout(&format!("corpus list --format csv -o {}", old.display()));
    assert!(std::fs::read_to_string(&old).unwrap().starts_with("name,"));
}

/// Four bytes a lane down a column take a sector each; in a row eight lanes share one.
#[test]
fn accesses_are_shown_in_their_sectors() {
    let text = svg("access transpose-direct-16 --size small --gpu h100-sxm", "access.svg");
    for words in ["load of 4 bytes a lane", "4 sectors of 32 bytes", "store of 4 bytes a lane"] {
        assert!(text.contains(words), "{words}");
    }
    insta::assert_snapshot!(words(&text));
}

/// A tile of 32 columns without padding: all lanes of a warp meet in one bank.
#[test]
fn accesses_are_shown_in_their_banks() {
    let unpadded = svg("banks transpose-unpadded --size small --gpu h100-sxm", "banks.svg");
    assert!(unpadded.contains("32 passes over the banks; 1 without conflicts"));
    assert!(unpadded.contains(">pass 32<"));
    let padded = svg("banks transpose --size small --gpu h100-sxm", "banks.svg");
    assert!(!padded.contains(">pass 2<"), "{}", words(&padded));
}

/// A tree in which half of the lanes go on at each level.
#[test]
fn lanes_are_shown_step_by_step() {
    let text = svg("divergence block-sums-sequential --size small --warp 0", "lanes.svg");
    insta::assert_snapshot!(words(&text));
}

#[test]
fn a_warp_that_does_not_exist_is_refused() {
    let path = file("none.svg");
    for (arguments, message) in [
        ("access transpose --size small --cta 4096", "lies outside the grid"),
        ("access transpose --size small --warp 8", "there is no warp 8"),
        ("access transpose --size small --line 9999", "in line 9999"),
        ("banks vector-add --size small", "no such access to shared memory"),
        ("access transpose --size small --launch 2", "there is no launch 2"),
        ("access transpose --size small --execution 1000000", "no such access to global memory"),
    ] {
        let outcome = gpucast(&format!("plot {arguments} -o {}", path.display()));
        assert_eq!(outcome.status, 1, "{arguments}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(message), "{arguments}: {}", outcome.stderr);
        assert!(!path.exists());
    }
}

/// A picture of a launch that a GPU would end with an error is none.
#[test]
fn a_fault_of_the_kernel_is_told_instead_of_a_picture() {
    let path = file("fault.svg");
    let outcome = gpucast(&format!(
        "plot access saxpy.ptx --kernel saxpy --grid 1 --block 64 --arg u32:64 --arg f32:2 \
         --arg buf:f32[8] --arg buf:f32[8] --gpu h100-sxm -o {}",
        path.display()
    ));
    assert_eq!(outcome.status, 1);
    assert!(outcome.stderr.contains("out-of-bounds load of 4 bytes"), "{}", outcome.stderr);
    assert!(!path.exists());
}

/// A curve over each of the three resources, with the launch on it.
#[test]
fn occupancy_is_drawn_over_what_limits_it() {
    let text = svg("occupancy vector-add --size small --gpu h100-sxm", "occupancy.svg");
    for title in ["threads of a block", "registers of a thread", "shared memory of a block (KiB)"] {
        assert!(text.contains(&format!("Occupancy over {title}")), "{title}");
    }
    assert!(text.contains("this launch"), "{}", words(&text));
}

#[test]
fn warps_are_drawn_over_time() {
    let of = |more: &str, name: &str| {
        svg(&format!("timeline sgemm --size small --gpu h100-sxm --machine rules {more}"), name)
    };
    let whole = of("", "timeline.svg");
    for words in [
        "SM 0, CTA 0",
        "warp 31, sub-core 3",
        "waits at a barrier",
        "waits for shared memory or a special function",
    ] {
        assert!(whole.contains(words), "{words}");
    }
    // Neither the clocks nor the colours of a part differ from those of the whole.
    let part = of("--clocks 1000..2000", "part.svg");
    assert!(part.contains("1,000 to ") && !part.contains("3,000 to "), "{part}");
    let refused = gpucast(
        "plot timeline sgemm --size small --gpu h100-sxm --machine rules --ctas 7 -o never.svg",
    );
    assert_eq!(refused.status, 1);
    assert!(refused.stderr.contains("no simulated CTA"), "{}", refused.stderr);
    assert!(!crate::gpucast::inputs().join("never.svg").exists());
}

/// The texts of a picture, a line each.
fn words(svg: &str) -> String {
    let texts = svg.split("<text").skip(1).filter_map(|text| text.split_once('>'));
    let contents = texts.filter_map(|(_, rest)| rest.split_once('<'));
    contents.map(|(content, _)| content).collect::<Vec<_>>().join("\n")
}
