//! A store of a shared sweep whose objects an input damages, exchanges, or makes up with right
//! seals.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use gpucast_forecast::choice::count_on::CountOn;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::choice::model_choice::ModelWords;
use gpucast_forecast::run::sources::Counts;
use gpucast_forecast::run::supervisor::Alone;
use gpucast_forecast::settings::{MachineChoice, MachineSettings, Size};
use gpucast_forecast::store::{Put, Store, StoreError};
use gpucast_forecast::sweep::shared::{self, Missing, Request, SweepPlan, Worked, Worker};
use gpucast_forecast::sweep::{Axes, Case, CaseSource, Cell, Rows};
use gpucast_forecast::{Failure, LaunchOptions};
use gpucast_model::AskedTiming;
use sha2::{Digest as _, Sha256};

use super::choices::Choices;

/// Objects in memory.
#[derive(Default)]
struct Memory(Mutex<BTreeMap<String, Vec<u8>>>);

impl Memory {
    fn with<T>(&self, what: impl FnOnce(&mut BTreeMap<String, Vec<u8>>) -> T) -> T {
        what(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Store for Memory {
    fn place(&self) -> &str {
        "memory"
    }

    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.with(|objects| objects.get(name).cloned()))
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<Put, StoreError> {
        self.with(|objects| match objects.contains_key(name) {
            true => Ok(Put::Present),
            false => {
                objects.insert(name.to_owned(), bytes.to_vec());
                Ok(Put::Stored)
            }
        })
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.with(|objects| drop(objects.insert(name.to_owned(), bytes.to_vec())));
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<(), StoreError> {
        self.with(|objects| drop(objects.remove(name)));
        Ok(())
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, StoreError> {
        let prefix = format!("{folder}/");
        Ok(self.with(|objects| {
            objects
                .keys()
                .filter_map(|name| name.strip_prefix(&prefix).map(str::to_owned))
                .collect()
        }))
    }
}

/// The rows of a table.
#[derive(Default)]
struct Taken(Vec<Vec<Cell>>);

impl Rows for Taken {
    fn take(&mut self, rows: Vec<Vec<Cell>>) -> Result<(), Failure> {
        self.0.extend(rows);
        Ok(())
    }
}

/// A finished sweep: its objects, and the rows of its table.
struct Finished {
    objects: BTreeMap<String, Vec<u8>>,
    rows: Vec<Vec<Cell>>,
}

fn finished() -> &'static Finished {
    static FINISHED: OnceLock<Finished> = OnceLock::new();
    FINISHED.get_or_init(|| {
        let store = Memory::default();
        let library = gpu_argument::library().unwrap();
        let gpus = ["gtx-480", "h100-sxm"].map(|gpu| gpu_argument::find(&library, gpu).unwrap());
        let case = |name: &str| Case {
            name: name.into(),
            labels: Vec::new(),
            source: Ok(CaseSource::Execution {
                input: name.to_owned(),
                launch: Box::new(LaunchOptions {
                    size: Some(Size::Small),
                    ..LaunchOptions::default()
                }),
                place: None,
            }),
        };
        let machine = MachineSettings { machine: MachineChoice::Rules, ..Default::default() };
        let plan = SweepPlan::new(
            &Request {
                axes: &Axes { of_cases: Vec::new(), of_gpus: Vec::new() },
                cases: &[case("vector-add"), case("transpose")],
                gpus: &gpus,
                fields: &[],
                models: &ModelWords::default(),
                count_on: &CountOn::Target,
                timing: AskedTiming::OfFile,
                counts: &Counts { machine, ..Counts::default() },
                toolchain: None,
            },
            &store,
        )
        .unwrap();
        plan.save(&store, "sweep", false).unwrap();
        let worker = Worker {
            store: &store,
            owner: "test",
            lease: Duration::from_secs(60),
            shard: None,
            retry: false,
            ptxas: None,
            supervisor: &Alone,
        };
        let opened = plan.open().unwrap();
        worker.run(&opened, &mut Worked::default()).unwrap();
        let mut rows = Taken::default();
        shared::merge(&opened, &store, Missing::Refused, &Alone, &mut rows).unwrap();
        Finished { objects: store.with(|objects| objects.clone()), rows: rows.0 }
    })
}

/// Contents under the seal that a store has for them, by the definition of its own.
fn sealed(name: &str, contents: &[u8]) -> Vec<u8> {
    let compressed = lz4_flex::compress_prepend_size(contents);
    let mut hash = Sha256::new();
    hash.update((name.len() as u64).to_le_bytes());
    hash.update(name);
    hash.update(&compressed);
    [&hash.finalize()[..], &compressed].concat()
}

fn contents(sealed: &[u8]) -> Vec<u8> {
    lz4_flex::decompress_size_prepended(&sealed[32..]).unwrap()
}

/// Changes some bytes.
fn damage(bytes: &mut Vec<u8>, choices: &mut Choices<'_>) {
    let at = (choices.below(256) << 8 | choices.below(256)) % bytes.len().max(1);
    match choices.below(4) {
        0 => bytes.truncate(at),
        1 => bytes.splice(at..at, [0xff; 9]).for_each(drop),
        2 => bytes.splice(at..(at + 4).min(bytes.len()), []).for_each(drop),
        _ => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << choices.below(8);
            }
        }
    }
}

/// A table has the rows of the undamaged store, or rows that say why they have no time; made-up
/// objects lead to any table, and to no panic.
pub(super) fn check(data: &[u8]) {
    let mut choices = Choices(data);
    let Finished { objects, rows } = finished();
    let names: Vec<&String> = objects.keys().filter(|name| name.starts_with("counts/")).collect();
    let mut all = objects.clone();
    let mut made_up = false;
    for _ in 0..=choices.below(3) {
        let name = names[choices.below(names.len())];
        match choices.below(4) {
            0 => damage(all.entry(name.clone()).or_default(), &mut choices),
            1 => {
                let other = names[choices.below(names.len())];
                all.insert(name.clone(), objects[other].clone());
            }
            2 => {
                let mut contents = contents(&objects[name]);
                damage(&mut contents, &mut choices);
                all.insert(name.clone(), sealed(name, &contents));
                made_up = true;
            }
            _ => {
                damage(all.entry("plans/sweep.json".to_owned()).or_default(), &mut choices);
                made_up = true;
            }
        }
    }
    let store = Memory(Mutex::new(all));
    let Ok(opened) = SweepPlan::load(&store, "sweep").and_then(|plan| plan.open()) else {
        assert!(made_up, "the plan is as it was");
        return;
    };
    let _ = shared::status(&opened, &store);
    let mut taken = Taken::default();
    let merged = shared::merge(&opened, &store, Missing::Told, &Alone, &mut taken);
    if made_up {
        return;
    }
    merged.unwrap();
    assert_eq!(taken.0.len(), rows.len());
    for (row, whole) in taken.0.iter().zip(rows) {
        let has_no_time = matches!(row.last(), Some(Cell::Text(_)));
        assert!(row == whole || has_no_time, "{row:?}");
    }
}
