//! What is written here is read back by the importers, figure by figure.

use std::collections::BTreeSet;

use super::*;
use crate::definitions::{Nvprof, WORD, definitions};
use crate::import;
use crate::metric::{Kind, MetricValue};

const DEVICE: Device<'_> = Device { name: "gtx-480", capability: "2.0" };

/// A value for every metric, each its own: counts of 1,000,003 and up, ratios of eighths, which
/// six decimals hold exactly.
fn every_metric() -> Metrics {
    let figure = |(at, definition): (usize, &Definition)| {
        let is_ratio = definition.unit == "percent"
            || definition.unit == "ratio"
            || definition.unit == "wave"
            || definition.unit.contains('/');
        let value = match is_ratio {
            true => Number::Real(12.5 + at as f64 / 8.0),
            false => Number::Count(1_000_003 + at as u128),
        };
        let figure = MetricValue { value, unit: definition.unit, kind: Kind::Exact };
        (definition.name.to_owned(), figure)
    };
    definitions().enumerate().map(figure).collect()
}

fn launch<'a>(kernel: &'a str, mean: &'a Metrics, ranges: &'a Ranges) -> Launch<'a> {
    Launch { kernel, grid: [20, 40, 1], block: [32, 8, 1], invocations: 3, mean, ranges }
}

#[test]
fn nvprof_files_can_be_read_back() {
    let metrics = every_metric();
    let text =
        nvprof_csv(&[launch("sor(double*, int)", &metrics, &Ranges::new())], DEVICE, &|_| true);
    let imported = import::read(&text).unwrap();
    let [profile] = &imported.profiles[..] else { panic!("{imported:?}") };
    assert_eq!((profile.kernel.as_str(), profile.invocations), ("sor(double*, int)", 3));
    assert_eq!((&profile.measured_on, &imported.ignored), (&None, &vec![]));
    let of_nvprof: BTreeSet<&str> = definitions()
        .filter(|definition| matches!(definition.nvprof, Nvprof::Metric(_)))
        .map(|definition| definition.name)
        .collect();
    assert_eq!(profile.metrics.keys().map(String::as_str).collect::<BTreeSet<_>>(), of_nvprof);
    for (name, figure) in &profile.metrics {
        assert_eq!(figure.value.as_f64(), metrics[name].value.as_f64(), "{name}");
        assert_eq!((figure.unit, figure.kind), (metrics[name].unit, Kind::Modelled), "{name}");
    }
}

#[test]
fn ncu_files_can_be_read_back() {
    let metrics = every_metric();
    let text = ncu_csv(&[launch("sor(double*, int)", &metrics, &Ranges::new())], DEVICE, &|_| true);
    let imported = import::read(&text).unwrap();
    let [profile] = &imported.profiles[..] else { panic!("{imported:?}") };
    assert_eq!((profile.kernel.as_str(), profile.invocations), ("sor(double*, int)", 3));
    assert_eq!(imported.ignored, Vec::<String>::new());
    let mut compared = 0;
    for definition in definitions() {
        if definition.nsight_names().next().is_none() || definition.unit == WORD {
            continue;
        }
        let (read, written) = (&profile.metrics[definition.name], &metrics[definition.name]);
        let (read, written) = (read.value.as_f64(), written.value.as_f64());
        // A factor such as 3.125 between the names costs digits beyond the sixth.
        assert!((read - written).abs() <= 4e-6, "{}: {read} {written}", definition.name);
        assert_eq!(profile.metrics[definition.name].kind, Kind::Modelled);
        compared += 1;
    }
    assert!(compared > 80, "{compared}");
}

/// nvprof has one line for a kernel, whatever launches it had.
#[test]
fn launches_of_a_kernel_share_nvprofs_rows() {
    let count = |count| MetricValue {
        value: Number::Count(count),
        unit: "instruction",
        kind: Kind::Estimated,
    };
    let metrics = |value| Metrics::from([("inst_executed".to_owned(), count(value))]);
    let (first, second, other) = (metrics(10), metrics(50), metrics(7));
    let range = (Number::Count(8), Number::Count(12));
    let (ranges, none) = (Ranges::from([("inst_executed".to_owned(), range)]), Ranges::new());
    let launches = [
        launch("k", &first, &ranges),
        launch("other", &other, &none),
        Launch { invocations: 1, ..launch("k", &second, &none) },
    ];
    insta::assert_snapshot!(nvprof_csv(&launches, DEVICE, &|_| true), @r#"
    "Device","Kernel","Invocations","Metric Name","Metric Description","Min","Max","Avg"
    "gtx-480 modelled by gpucast (0)","k",4,"inst_executed","Instructions Executed",8,50,20
    "gtx-480 modelled by gpucast (0)","other",3,"inst_executed","Instructions Executed",7,7,7
    "#);
}

#[test]
fn units_and_numbers_are_nsight_computes() {
    let mut metrics = every_metric();
    metrics.retain(|name, _| {
        ["inst_executed", "gld_efficiency", "dram_read_transactions", "warp_execution_efficiency"]
            .contains(&name.as_str())
    });
    for (name, value) in [("gld_efficiency", 87.5), ("warp_execution_efficiency", 78.125)] {
        metrics.get_mut(name).unwrap().value = Number::Real(value);
    }
    for (name, value) in [("inst_executed", 1_234_567), ("dram_read_transactions", 64)] {
        metrics.get_mut(name).unwrap().value = Number::Count(value);
    }
    let none = Ranges::new();
    let one = Launch { invocations: 1, ..launch("f(float*, \"q\")", &metrics, &none) };
    insta::assert_snapshot!(ncu_csv(&[one], DEVICE, &|_| true), @r#"
    "ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","dram__sectors_read.sum","sm__inst_executed.sum","smsp__inst_executed.sum","smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct","smsp__thread_inst_executed_per_inst_executed.pct","smsp__thread_inst_executed_per_inst_executed.ratio"
    "","","","","","","","","","","","sector","inst","inst","%","%",""
    "0","1","gpucast","127.0.0.1","f(float*, ""q"")","1","7","(32, 8, 1)","(20, 40, 1)","0","2.0","64","1,234,567","1,234,567","87.50","78.125","25.00"
    "#);
}

/// Only what was chosen is written, and what no launch has is no column.
#[test]
fn a_choice_limits_the_columns() {
    let metrics = every_metric();
    let none = Ranges::new();
    let one = [launch("k", &metrics, &none)];
    let flops = |definition: &Definition| definition.name.starts_with("flop_count_sp");
    let nvprof = nvprof_csv(&one, DEVICE, &flops);
    assert_eq!(nvprof.lines().count(), 1 + 5);
    assert!(nvprof.lines().skip(1).all(|line| line.contains("\"flop_count_sp")), "{nvprof}");
    let header = ncu_csv(&one, DEVICE, &flops).lines().next().unwrap().to_owned();
    assert!(header.contains("op_ffma_pred_on.sum") && !header.contains("dram__"), "{header}");
    let nothing = Metrics::new();
    let header = ncu_csv(&[launch("k", &nothing, &none)], DEVICE, &|_| true);
    assert!(header.lines().next().unwrap().ends_with("\"CC\""), "{header}");
}
