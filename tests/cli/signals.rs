//! A signal ends the program, whatever it is doing.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::gpucast::command;

/// A bound for what would last for ever; nothing else depends on it.
const FOR_EVER: Duration = Duration::from_secs(120);

/// Waits until `holds`, or panics.
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + FOR_EVER;
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until a process has taken SIGTERM over: before, the system ends it.
fn wait_until_it_listens(child: &Child) {
    wait_until("the program does not take signals over", || {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(caught.trim(), 16).unwrap() >> (15 - 1) & 1 == 1
    });
}

/// Sends SIGTERM, and waits for the end.
fn terminated(mut child: Child) -> ExitStatus {
    let asked = Command::new("/bin/kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(asked.unwrap().success());
    let mut status = None;
    let until = Instant::now() + FOR_EVER;
    while status.is_none() && Instant::now() < until {
        thread::sleep(Duration::from_millis(20));
        status = child.try_wait().unwrap();
    }
    if status.is_none() {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    status.expect("the signal ends the program")
}

/// A kernel with so many branches.
fn branches(count: u32) -> String {
    let mut text =
        ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) {\n\
                    .reg .b64 %d; .reg .b32 %r<3>; .reg .pred %p;\nld.param.u64 %d, [p];\n\
                    mov.u32 %r0, %tid.x;\nmov.u32 %r1, 0;\n"
            .to_owned();
    for at in 0..count {
        writeln!(
            text,
            "setp.gt.u32 %p, %r0, {at};\n@%p bra L{at};\nadd.u32 %r1, %r1, {at};\nL{at}:"
        )
        .unwrap();
    }
    text + "st.global.u32 [%d], %r1;\nret;\n}\n"
}

#[test]
fn a_profile_of_many_branches_ends() {
    let folder = tempfile::tempdir().unwrap();
    let module = folder.path().join("branches.ptx");
    fs::write(&module, branches(50_000)).unwrap();
    let mut profile = command("profile --gpu a100-sxm-40gb --grid 1 --block 32 --machine rules");
    profile.arg("--arg").arg("buf:u32[1024]").arg(&module);
    let child = profile.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until_it_listens(&child);
    assert_eq!(terminated(child).code(), Some(130));
}

/// Nobody reads what the program writes, so that it never asks again if it should stop.
#[test]
fn a_program_that_asks_no_more_ends_too() {
    let (reader, mut full) = std::io::pipe().unwrap();
    let output = full.try_clone().unwrap();
    // Ends with an error when the reader is gone.
    let filler = thread::spawn(move || while full.write_all(&[0; 4096]).is_ok() {});
    let mut profile = command("profile vector-add --size small --gpu gtx-480 --machine rules");
    let child = profile.stdout(output).stderr(Stdio::null()).spawn().unwrap();
    // Without this the command would hold the pipe, too.
    drop(profile);
    wait_until_it_listens(&child);
    // It has done its work and waits for the pipe when it takes no more time of a processor. If it
    // was only held up, it ends as the one above does.
    let (mut before, mut pauses) = (String::new(), 0);
    wait_until("the program goes on and on", || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        let times: Vec<&str> = stat.split(' ').skip(13).take(2).collect();
        let now = times.join(" ");
        pauses = if now == before { pauses + 1 } else { 0 };
        before = now;
        pauses > 100
    });
    assert_eq!(terminated(child).code(), Some(130));
    drop(reader);
    filler.join().unwrap();
}
