//! The launch of a submission: the task's, with what the student may change.

use gpucast_buffers::scalar::ElementType;
use gpucast_forecast::input::toml_report::toml_report;
use gpucast_forecast::{Report, SourceText};
use toml::{Table, Value};

use crate::task::LaunchKey;

/// A kernel's name with the types of its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The name.
    pub kernel: String,
    /// The types as launch files name them; an array's ends in `[]`.
    pub types: Vec<String>,
}

/// A buffer as an array of one dimension.
struct Array {
    ty: ElementType,
    /// A number, or an expression.
    len: Value,
}

impl Array {
    /// The arguments of Numba for the buffer of this name.
    fn arguments(&self, name: Value) -> [Value; 7] {
        let scalar = |ty: &str, value| Value::Table(Table::from_iter([(ty.to_owned(), value)]));
        let unused = || scalar("u64", Value::Integer(0));
        let len = || scalar("s64", self.len.clone());
        let bytes = || scalar("s64", Value::Integer(self.ty.bytes() as i64));
        [unused(), unused(), len(), bytes(), name, len(), bytes()]
    }
}

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

    /// The same for a kernel of Numba, which takes an array as seven arguments: two addresses that
    /// kernels never use, the number of elements, their bytes, the address, length and stride.
    ///
    /// # Errors
    ///
    /// If a buffer has no type or no length.
    pub(crate) fn for_numba(&self) -> Result<Self, Report> {
        let mut table = self.table.clone();
        if let Some(Value::Array(launches)) = table.get_mut("launch") {
            for launch in launches.iter_mut().filter_map(Value::as_table_mut) {
                let Some(Value::Array(args)) = launch.get_mut("args") else { continue };
                let mut flat = Vec::new();
                for arg in args.drain(..) {
                    match arg.as_str().map(|name| self.array(name)).transpose()? {
                        Some(array) => flat.extend(array.arguments(arg)),
                        None => flat.push(arg),
                    }
                }
                *args = flat;
            }
        }
        Ok(Self { table })
    }

    /// The name of the first launch's kernel, and the types of its arguments. An array's type ends
    /// in `[]`.
    pub(crate) fn signature(&self) -> Result<Signature, Report> {
        let launch = self.launches().into_iter().next();
        let kernel = launch.and_then(|launch| launch.get("kernel")).and_then(Value::as_str);
        let (Some(launch), Some(kernel)) = (launch, kernel) else {
            return Err(Report::new("the launch file names no kernel"));
        };
        let args = launch.get("args").and_then(Value::as_array).into_iter().flatten();
        let ty = |arg: &Value| match arg {
            Value::String(name) => Ok(format!("{}[]", self.array(name)?.ty.name())),
            Value::Table(table) if table.len() == 1 => {
                Ok(table.keys().next().cloned().unwrap_or_default())
            }
            other => Err(Report::new(format!("a kernel in Python cannot take {other}"))),
        };
        let types = args.map(ty).collect::<Result<Vec<String>, Report>>()?;
        Ok(Signature { kernel: kernel.to_owned(), types })
    }

    /// The buffer of a name.
    fn array(&self, name: &str) -> Result<Array, Report> {
        let buffer = self.table.get("buffers").and_then(|all| all.get(name));
        let ty = buffer.and_then(|buffer| buffer.get("type")).and_then(Value::as_str);
        let ty = ty.and_then(ElementType::named);
        let len = buffer.and_then(|buffer| buffer.get("len")).cloned();
        match (ty, len) {
            (Some(ty), Some(len)) => Ok(Array { ty, len }),
            _ => Err(Report::new(format!("the buffer `{name}` has no type or no length"))
                .hint("a kernel in Python needs both of each array")),
        }
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
    fn an_array_is_seven_arguments_of_numba() {
        let text = "[buffers.x]\ntype = \"f32\"\nlen = \"${2*n}\"\n[[launch]]\nkernel = \"k\"\n\
                    args = [\"x\", { s32 = 3 }]\n";
        let own = launch(text);
        let signature = own.signature().unwrap();
        assert_eq!(
            (signature.kernel.as_str(), &signature.types[..]),
            ("k", &["f32[]", "s32"].map(str::to_owned)[..])
        );
        let args = "[{ u64 = 0 }, { u64 = 0 }, { s64 = \"${2*n}\" }, { s64 = 4 }, \"x\", \
                    { s64 = \"${2*n}\" }, { s64 = 4 }, { s32 = 3 }]";
        let flat = text.replace("[\"x\", { s32 = 3 }]", args);
        assert_eq!(own.for_numba().unwrap().table, launch(&flat).table);
        let without = launch(&text.replace("len", "file")).signature().unwrap_err();
        assert!(without.message.contains("`x` has no type or no length"), "{}", without.message);
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
