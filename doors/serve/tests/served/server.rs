//! A server of a test, and a client of its own for HTTP.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const TOKEN: &str = "the-token-of-the-tests";
/// Long enough for a loaded computer; no test waits for it unless it fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program that answers, which lies beside the server.
pub(crate) fn gpucast() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_gpucast-serve")).with_file_name("gpucast");
    assert!(
        program.is_file(),
        "`cargo build -p gpucast` with the tests' profile makes {program:?}"
    );
    program
}

/// The start of a command whose results do not depend on what is installed.
pub(crate) fn clean(program: &Path) -> Command {
    let mut command = Command::new(program);
    for name in ["CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"] {
        command.env_remove(name);
    }
    command.env("GPUCAST_CACHE", std::env::temp_dir().join("gpucast-tests"));
    command.env("GPUCAST_SERVE_TOKEN", TOKEN).env("XDG_CONFIG_HOME", "/nonexistent");
    command
}

/// A kernel, y = a·x + y, and its launch.
pub(crate) fn saxpy() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/inputs/saxpy.ptx");
    json!({
        "source": fs::read_to_string(path).unwrap(),
        "grid": "4", "block": "256",
        "args": ["u32:1000", "f32:0.5", "buf:f32[1000]=iota", "buf:f32[1000]=uniform(-1,1,7)"],
    })
}

/// A kernel that never ends.
pub(crate) fn endless() -> Value {
    json!({
        "source": ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k()\n{\n$L:\nbra $L;\n}\n",
        "grid": "1", "block": "32",
    })
}

/// Fields of one request with those of another.
pub(crate) fn with(mut fields: Value, others: Value) -> Value {
    let others = others.as_object().unwrap().clone();
    fields.as_object_mut().unwrap().extend(others);
    fields
}

/// What a server said.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A server that ends with the test.
pub(crate) struct Server {
    /// Where its runs have their files. A server that is killed leaves them behind.
    pub(crate) scratch: TempDir,
    pub(crate) child: Child,
    pub(crate) address: String,
}

impl Server {
    /// A server that runs `gpucast`.
    pub(crate) fn start(options: &[&str]) -> Self {
        Self::of(&gpucast(), options)
    }

    /// A server that runs another program in its place.
    pub(crate) fn of(program: &Path, options: &[&str]) -> Self {
        Self::begin(Self::command(program, options))
    }

    pub(crate) fn command(program: &Path, options: &[&str]) -> Command {
        let mut command = clean(Path::new(env!("CARGO_BIN_EXE_gpucast-serve")));
        command.args(["--listen", "127.0.0.1:0"]).arg("--program").arg(program).args(options);
        command
    }

    pub(crate) fn begin(mut command: Command) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        command.env("TMPDIR", scratch.path());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening at http://").unwrap().to_owned();
        Self { scratch, child, address }
    }

    /// Sends a request, and gives the connection on which the reply comes.
    pub(crate) fn send(&self, method: &str, path: &str, token: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Authorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        // A server that refuses a request need not read all of it.
        let _ = stream.write_all(body.as_bytes());
        stream
    }

    pub(crate) fn request(&self, method: &str, path: &str, token: &str, body: &str) -> Reply {
        reply(self.send(method, path, token, body))
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        self.request("POST", path, TOKEN, &body.to_string())
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.request("GET", path, TOKEN, "")
    }

    /// Asks a tool that must answer.
    #[track_caller]
    pub(crate) fn ask(&self, tool: &str, fields: &Value) -> Value {
        let reply = self.post(&format!("/v1/{tool}"), fields);
        assert_eq!(reply.status, 200, "{tool}: {reply:?}");
        reply.json()
    }

    /// Waits until a line of the metrics is this one.
    #[track_caller]
    pub(crate) fn wait_for(&self, line: &str) {
        let mut page = String::new();
        until(|| {
            page = self.get("/metrics").body;
            page.lines().any(|other| other == line)
        });
        assert!(page.lines().any(|other| other == line), "{line}\n{page}");
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn reply(mut stream: TcpStream) -> Reply {
    let mut text = Vec::new();
    stream.read_to_end(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head: {text:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Reply { status, head: head.to_lowercase(), body: body.to_owned() }
}

/// Waits until something holds, or gives up.
pub(crate) fn until(mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn signal(process: u32, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &process.to_string()]).status().unwrap();
    assert!(sent.success());
}

/// A program in place of `gpucast`: a script of the shell.
pub(crate) fn script(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("program");
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    path
}
