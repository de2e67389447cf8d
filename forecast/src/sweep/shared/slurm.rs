//! Job arrays of Slurm: each task is a worker.

/// A job array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlurmArray {
    /// The program that the tasks run.
    pub program: String,
    /// The store, as tasks see it.
    pub store: String,
    /// The plan's name.
    pub plan: String,
    /// Tasks, at least one.
    pub tasks: u32,
    /// Cores of a task.
    pub cores: u32,
    /// The limit of a task's time in Slurm's notation, such as `02:00:00`.
    pub time: Option<String>,
    /// The partition.
    pub partition: Option<String>,
    /// Further options of `sbatch`, as `--account=abc`.
    pub options: Vec<String>,
}

impl SlurmArray {
    /// The batch script.
    ///
    /// Slurm sends SIGTERM a minute before it kills a task (`--signal=B:TERM@60`). The worker then
    /// gives its item back.
    pub fn script(&self) -> String {
        let mut text = format!(
            "#!/bin/bash\n#SBATCH --job-name=gpucast-{}\n#SBATCH --array=1-{}\n\
             #SBATCH --cpus-per-task={}\n#SBATCH --signal=B:TERM@60\n#SBATCH --requeue\n",
            self.plan, self.tasks, self.cores
        );
        let named = [("time", &self.time), ("partition", &self.partition)];
        for (name, value) in named {
            if let Some(value) = value {
                text += &format!("#SBATCH --{name}={value}\n");
            }
        }
        for option in &self.options {
            text += &format!("#SBATCH {option}\n");
        }
        text += &format!(
            "exec {} sweep work --store {} --plan {} --shard \"$SLURM_ARRAY_TASK_ID/{}\" \
             --threads {}\n",
            quoted(&self.program),
            quoted(&self.store),
            quoted(&self.plan),
            self.tasks,
            self.cores
        );
        text
    }
}

/// A word of a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_an_array_of_workers() {
        let array = SlurmArray {
            program: "/opt/gpu cast/gpucast".to_owned(),
            store: "/scratch/it's".to_owned(),
            plan: "sweep".to_owned(),
            tasks: 8,
            cores: 4,
            time: Some("02:00:00".to_owned()),
            partition: None,
            options: vec!["--account=abc".to_owned()],
        };
        let expected = "#!/bin/bash\n#SBATCH --job-name=gpucast-sweep\n#SBATCH --array=1-8\n\
                        #SBATCH --cpus-per-task=4\n#SBATCH --signal=B:TERM@60\n\
                        #SBATCH --requeue\n#SBATCH --time=02:00:00\n#SBATCH --account=abc\n\
                        exec '/opt/gpu cast/gpucast' sweep work --store '/scratch/it'\\''s' \
                        --plan sweep --shard \"$SLURM_ARRAY_TASK_ID/8\" --threads 4\n";
        assert_eq!(array.script(), expected);
    }
}
