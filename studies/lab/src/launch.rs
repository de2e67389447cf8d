//! The launch of a submission: the task's, with what the student may change.

use gpucast_forecast::input::toml_report::toml_report;
use gpucast_forecast::{Report, SourceText};
use toml::{Table, Value};

use crate::task::LaunchKey;

/// A launch file.
pub(crate) struct Launch {
    table: Table,
}

impl Launch {
    /// The launch file of a text.
    pub(crate) fn of(source: &SourceText) -> Result<Self, Report> {
        let table = toml::from_str(&source.text).map_err(|error| toml_report(source, &error))?;
        Ok(Self { table })
    }

    /// The same for another module.
    pub(crate) fn with_module(&self, path: &str) -> String {
        let mut table = self.table.clone();
        table.insert("module".to_owned(), Value::String(path.to_owned()));
        table.to_string()
    }

    /// Takes over the keys that may be changed. Returns true if another file says anything else,
    /// which counts for nothing.
    pub(crate) fn take(&mut self, other: &Self, keys: &[LaunchKey]) -> bool {
        let mut allowed = self.table.clone();
        let theirs = other.launches();
        if let Some(Value::Array(launches)) = allowed.get_mut("launch") {
            let pairs = launches.iter_mut().filter_map(Value::as_table_mut).zip(theirs);
            for (own, theirs) in pairs {
                for key in keys {
                    match theirs.get(key.name()) {
                        Some(value) => own.insert(key.name().to_owned(), value.clone()),
                        None => own.remove(key.name()),
                    };
                }
            }
        }
        self.table = allowed;
        let without_module = |table: &Table| {
            let mut table = table.clone();
            table.remove("module");
            table
        };
        without_module(&self.table) != without_module(&other.table)
    }

    fn launches(&self) -> Vec<&Table> {
        let launches = self.table.get("launch").and_then(Value::as_array);
        launches.into_iter().flatten().filter_map(Value::as_table).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(text: &str) -> Launch {
        Launch::of(&SourceText::new("launch.toml", text)).unwrap()
    }

    #[test]
    fn a_student_changes_what_the_task_allows_and_nothing_else() {
        let task = "module = \"k\"\n[buffers.x]\nlen = 8\n[[launch]]\ngrid = [1]\nblock = [32]\n";
        let changed = task.replace("[1]", "[2]").replace("[32]", "[64]").replace("\"k\"", "\"m\"");
        let mut both = launch(task);
        assert!(!both.take(&launch(&changed), &[LaunchKey::Grid, LaunchKey::Block]));
        assert_eq!(both.with_module("k"), launch(&changed).with_module("k"));
        let mut one = launch(task);
        assert!(one.take(&launch(&changed), &[LaunchKey::Grid]));
        let expected = task.replace("[1]", "[2]");
        assert_eq!(one.with_module("k"), launch(&expected).with_module("k"));
        assert!(launch(task).take(&launch(&task.replace("len = 8", "len = 9")), &[]));
    }
}
