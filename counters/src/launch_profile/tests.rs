use super::*;
use crate::machine::BackEnd;
use crate::metric::Kind;

fn profile() -> LaunchProfile {
    let (table, launch) = (BaseTable::default(), LaunchFacts::default());
    let extent = ([4, 1, 1], [32, 1, 1]);
    LaunchProfile::new(
        "k".to_owned(),
        extent,
        launch,
        table,
        L2Traffic::default(),
        (Replay::Whole, Extent::Grid),
    )
}

fn machine() -> MachineProfile {
    MachineProfile {
        back_end: BackEnd::Ptxas { version: "12.9".to_owned() },
        kind: Kind::Modelled,
        target: "sm_50".to_owned(),
        registers_per_thread: Some(18),
        rows: Vec::new(),
        notes: vec!["unrolled loops were told apart by flow".to_owned()],
    }
}

#[test]
fn a_profile_names_the_back_end_and_both_levels() {
    let json = serde_json::to_value(profile()).unwrap();
    assert!(json.get("machine").is_none() && json.get("ptx_metrics").is_none());
    assert_eq!(json["metrics"]["inst_executed"]["level"], "ptx");

    let profile = profile().with_machine(machine());
    let json = serde_json::to_value(&profile).unwrap();
    assert_eq!(
        json["machine"],
        serde_json::json!({
            "back_end": "ptxas", "version": "12.9", "target": "sm_50",
            "registers_per_thread": 18, "notes": ["unrolled loops were told apart by flow"],
        })
    );
    assert_eq!(json["metrics"]["inst_executed"]["level"], "machine");
    assert_eq!(json["metrics"]["inst_executed"]["kind"], "modelled");
    assert_eq!(json["metrics"]["ptx_inst_executed"]["level"], "ptx");
    assert_eq!(json["metrics"]["dram_read_transactions"]["level"], "ptx");
    assert_eq!(json["ptx_metrics"]["inst_executed"]["kind"], "estimated");
    assert!(json["ptx_metrics"].get("dram_read_transactions").is_none());
}

#[test]
fn asking_twice_changes_nothing() {
    let once = profile().with_machine(machine());
    assert_eq!(once.clone().with_machine(machine()), once);
}
