//! Kernels that do not end, full queues, killed processes, and the end of the server.

use std::fs;
use std::path::Path;
use std::thread;

use serde_json::{Value, json};

use crate::server::{Server, TOKEN, endless, reply, saxpy, script, signal, until, with};

#[test]
fn a_kernel_that_never_ends_is_given_up() {
    let server = Server::start(&[]);
    let answer = server.ask("run", &with(endless(), json!({ "time_limit_s": 1 })));
    assert_eq!(answer["status"], 1, "{answer}");
    assert_eq!(answer["errors"].as_array().unwrap().len(), 1, "{answer}");
}

/// Limits hold for a program that does not keep to them by itself, too, with all that it starts.
#[test]
fn a_program_that_never_ends_is_ended_with_its_group() {
    let folder = tempfile::tempdir().unwrap();
    let children = folder.path().join("child");
    let text = format!("sleep 600 & echo $! > {}; wait", children.display());
    let server = Server::of(&script(folder.path(), &text), &[]);
    let reply = server.post("/v1/run", &with(saxpy(), json!({ "time_limit_s": 1 })));
    assert_eq!((reply.status, &reply.json()["reason"]), (504, &json!("past-limit")), "{reply:?}");
    let child = fs::read_to_string(children).unwrap();
    until(|| !is_alive(child.trim()));
    assert!(!is_alive(child.trim()));
}

fn is_alive(process: &str) -> bool {
    // A zombie's parent has gone with it; what adopts it need not have looked yet.
    fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// A request beyond the queue is refused at once; one whose client goes away makes room.
#[test]
fn a_full_queue_refuses_and_a_client_that_goes_makes_room() {
    let server = Server::start(&["--workers", "1", "--queue", "1"]);
    let body = endless().to_string();
    let first = server.send("POST", "/v1/run", TOKEN, &body);
    server.wait_for("gpucast_workers_busy 1");
    let second = server.send("POST", "/v1/run", TOKEN, &body);
    server.wait_for("gpucast_queue_waiting 1");
    let third = server.post("/v1/run", &endless());
    assert_eq!((third.status, &third.json()["reason"]), (429, &json!("busy")));
    assert!(third.head.contains("retry-after: 1"), "{}", third.head);
    drop((first, second));
    server.wait_for("gpucast_requests_total{tool=\"run\",outcome=\"cancelled\"} 2");
    assert_eq!(server.ask("run", &saxpy())["status"], 0);
}

/// A program that says its number, then waits for a word, then answers.
fn waiting(folder: &Path) -> std::path::PathBuf {
    let folder_name = folder.display();
    let text = format!(
        "echo $$ > {folder_name}/new && mv {folder_name}/new {folder_name}/number\n\
         while [ ! -e {folder_name}/go ]; do sleep 0.01; done\n\
         echo '{{\"schema\": \"test/1\"}}'"
    );
    script(folder, &text)
}

/// The number of the process that runs; it is told once.
fn number(folder: &Path) -> u32 {
    let path = folder.join("number");
    until(|| path.exists());
    let number = fs::read_to_string(&path).unwrap().trim().parse().unwrap();
    fs::remove_file(path).unwrap();
    number
}

#[test]
fn a_killed_process_is_tried_once_more_and_then_told() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::of(&waiting(folder.path()), &[]);
    let body = saxpy().to_string();
    let twice = server.send("POST", "/v1/run", TOKEN, &body);
    signal(number(folder.path()), "KILL");
    signal(number(folder.path()), "KILL");
    let twice = reply(twice);
    assert_eq!((twice.status, &twice.json()["reason"]), (500, &json!("killed")), "{twice:?}");
    let once = server.send("POST", "/v1/run", TOKEN, &body);
    signal(number(folder.path()), "KILL");
    number(folder.path());
    fs::write(folder.path().join("go"), "").unwrap();
    let once = reply(once);
    assert_eq!((once.status, &once.json()["is_second_try"]), (200, &json!(true)), "{once:?}");
    server.wait_for("gpucast_workers_killed_total 3");
}

#[test]
fn a_server_that_is_asked_to_stop_answers_what_it_has_begun() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::of(&waiting(folder.path()), &[]);
    let begun = server.send("POST", "/v1/run", TOKEN, &saxpy().to_string());
    number(folder.path());
    server.signal("TERM");
    // It takes no more requests: the connection is refused, or the request is.
    until(|| is_refused(&server));
    assert!(is_refused(&server));
    assert!(server.child.try_wait().unwrap().is_none());
    fs::write(folder.path().join("go"), "").unwrap();
    assert_eq!(reply(begun).status, 200);
    assert!(server.child.wait().unwrap().success());
    assert_eq!(fs::read_dir(server.scratch.path()).unwrap().count(), 0);
}

fn is_refused(server: &Server) -> bool {
    std::net::TcpStream::connect(&server.address).is_err()
}

#[test]
fn what_does_not_end_in_time_is_told_that_the_server_stops() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::of(&waiting(folder.path()), &["--patience", "0"]);
    let begun = server.send("POST", "/v1/run", TOKEN, &saxpy().to_string());
    let process = number(folder.path());
    let waits = thread::spawn(move || reply(begun));
    server.signal("TERM");
    let begun = waits.join().unwrap();
    assert_eq!((begun.status, &begun.json()["reason"]), (503, &json!("stopping")), "{begun:?}");
    assert!(server.child.wait().unwrap().success());
    until(|| !is_alive(&process.to_string()));
    assert!(!is_alive(&process.to_string()));
}

/// A source can print what its compiler can read, so a run knows no secrets.
#[test]
fn secrets_of_the_environment_reach_no_process() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[ -z \"$SECRET$GPUCAST_SERVE_TOKEN\" ] && [ -n \"$PATH\" ] && echo '{\"schema\": \"test/1\"}'";
    let mut command = Server::command(&script(folder.path(), text), &[]);
    command.env("SECRET", "secret");
    assert_eq!(Server::begin(command).ask("run", &saxpy())["status"], 0);
}

/// A program that fails without a word, or says what is no JSON.
#[test]
fn a_program_that_fails_is_told_as_such() {
    for (text, message) in [
        ("exit 0", "without a document"),
        ("echo nonsense", "no JSON"),
        ("kill -s SEGV $$", "signal 11"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::of(&script(folder.path(), text), &[]);
        let reply = server.post("/v1/run", &saxpy());
        let refusal: Value = reply.json();
        assert_eq!((reply.status, &refusal["reason"]), (500, &json!("crashed")), "{text}");
        assert!(refusal["message"].as_str().unwrap().contains(message), "{refusal}");
    }
}
