//! Shared sweeps in a bucket, on a server of this machine that speaks S3's language: Python's
//! package `moto`. Where it is not installed, the tests say so and do nothing.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::gpucast::{Outcome, command, gpucast, outcome};

const GRID: &str = "sgemm lmsor transpose histogram --size small --machine rules \
                    --gpu h100-sxm,gtx-960,gtx-480 --set l2_size=0.5x,1x";
const EXECUTIONS: u64 = 20;

/// A server, and the bucket `sweeps` on it.
struct Bucket {
    server: Child,
    address: String,
}

impl Bucket {
    /// The server, by the Python of `GPUCAST_PYTHON` or `python3`; none if it is not installed.
    fn open() -> Option<Self> {
        let python = std::env::var("GPUCAST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let there = Command::new(&python).args(["-c", "import moto.server, flask"]).output();
        if !there.is_ok_and(|output| output.status.success()) {
            eprintln!("skipped: {python} has no package moto[server]");
            return None;
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut server = Command::new(&python);
        server.args(["-m", "moto.server", "-H", "127.0.0.1", "-p", &port.to_string()]);
        let server = server.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let address = format!("127.0.0.1:{port}");
        let bucket = Self { server, address };
        while TcpStream::connect(&bucket.address).is_err() {
            thread::sleep(Duration::from_millis(50));
        }
        let make = format!(
            "import urllib.request as r; r.urlopen(r.Request('http://{}/sweeps', method='PUT'))",
            bucket.address
        );
        assert!(Command::new(&python).args(["-c", &make]).status().unwrap().success());
        Some(bucket)
    }

    fn command(&self, what: &str, prefix: &str) -> Command {
        let mut command = command(&format!("sweep {what} --store s3://sweeps/{prefix}"));
        command.envs(self.variables());
        command
    }

    fn variables(&self) -> [(&'static str, String); 5] {
        [
            ("AWS_ENDPOINT", format!("http://{}", self.address)),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", "nobody".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "nothing".to_owned()),
        ]
    }

    fn start(&self, what: &str, prefix: &str) -> Child {
        let mut command = self.command(what, prefix);
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    }

    #[track_caller]
    fn succeeds(&self, what: &str, prefix: &str) -> String {
        let Outcome { status, stdout, stderr } = outcome(self.command(what, prefix));
        assert_eq!(status, 0, "sweep {what}: {stderr}");
        stdout + &stderr
    }

    /// Executions that are stored.
    fn stored(&self, prefix: &str) -> u64 {
        let state = self.succeeds("status", prefix);
        state.split(' ').next().unwrap().parse().unwrap()
    }

    /// The merged table and that of one process without a store, in each form.
    fn assert_merged(&self, prefix: &str) {
        let folder = tempfile::tempdir().unwrap();
        let mut forms = vec!["csv"];
        if cfg!(feature = "parquet") {
            forms.push("parquet");
        }
        for form in forms {
            let file = |name: &str| folder.path().join(format!("{name}.{form}"));
            let (merged, alone) = (file("merged"), file("alone"));
            self.succeeds(&format!("merge -o '{}'", merged.display()), prefix);
            assert_eq!(gpucast(&format!("sweep {GRID} -o '{}'", alone.display())).status, 0);
            let [merged, alone] = [merged, alone].map(|path| std::fs::read(path).unwrap());
            assert!(merged == alone, "the merged {form} is another one");
        }
    }
}

impl Drop for Bucket {
    fn drop(&mut self) {
        // A server that ended by itself is no server to end.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Leases are objects that only one worker can put: nothing is executed twice.
#[test]
fn two_workers_share_a_bucket() {
    let Some(bucket) = Bucket::open() else { return };
    bucket.succeeds(&format!("plan {GRID}"), "shared");
    let workers = ["1/2", "2/2"].map(|it| bucket.start(&format!("work --shard {it}"), "shared"));
    let executed = workers.map(|worker| {
        let output = worker.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        let number = said.strip_prefix("note: ").and_then(|said| said.split(' ').next());
        number.unwrap().parse::<u64>().unwrap()
    });
    assert_eq!(executed.iter().sum::<u64>(), EXECUTIONS, "{executed:?}");
    bucket.assert_merged("shared");
    assert_eq!(bucket.succeeds("work", "shared"), "note: 0 executed, 0 of them failed\n");
}

#[test]
fn a_killed_worker_costs_a_bucket_nothing() {
    let Some(bucket) = Bucket::open() else { return };
    bucket.succeeds(&format!("plan {GRID}"), "killed");
    let mut killed = bucket.start("work --lease 1", "killed");
    while bucket.stored("killed") == 0 {}
    let other = bucket.start("work --lease 1", "killed");
    killed.kill().unwrap();
    killed.wait().unwrap();
    let output = other.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(bucket.stored("killed"), EXECUTIONS);
    bucket.assert_merged("killed");
}

#[test]
fn what_a_bucket_lacks_is_told() {
    let Some(bucket) = Bucket::open() else { return };
    let mut nowhere = command("sweep status --store s3://nowhere/x");
    nowhere.envs(bucket.variables());
    let Outcome { status, stderr, .. } = outcome(nowhere);
    assert_eq!(status, 1, "{stderr}");
    assert!(stderr.contains("The specified bucket does not exist"), "{stderr}");
    assert!(!stderr.contains("<Error>"), "{stderr}");
    let mut plain = bucket.command("status", "x");
    plain.env_remove("AWS_ALLOW_HTTP");
    let Outcome { status, stderr, .. } = outcome(plain);
    assert_eq!(status, 1, "{stderr}");
    assert!(stderr.contains("AWS_ALLOW_HTTP=true"), "{stderr}");
}
