//! Files of others name no program to run and no place to write, until their user trusts them.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::gpucast::{Outcome, command, inputs, outcome};

/// A user with a project that somebody else has filled.
struct Project {
    top: tempfile::TempDir,
}

impl Project {
    fn new(text: &str) -> Self {
        let project = Self { top: tempfile::tempdir().unwrap() };
        fs::create_dir_all(project.path("project/deep")).unwrap();
        fs::create_dir(project.path("project/bin")).unwrap();
        project.program("project/bin/evil", &format!("touch '{}'", project.path("ran").display()));
        fs::copy(inputs().join("saxpy.ptx"), project.path("project/saxpy.ptx")).unwrap();
        project.write(text);
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.top.path().join(name)
    }

    fn write(&self, text: &str) {
        fs::write(self.path("project/gpucast.toml"), text).unwrap();
    }

    fn program(&self, name: &str, lines: &str) {
        let path = self.path(name);
        // `touch` and the like are no builtins.
        fs::write(&path, format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{lines}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn run_in(&self, folder: &str, arguments: &str) -> Outcome {
        let mut program = command(arguments);
        program.current_dir(self.path(folder)).env("XDG_CONFIG_HOME", self.path("config"));
        outcome(program)
    }

    fn run(&self, arguments: &str) -> Outcome {
        self.run_in("project", arguments)
    }

    fn has_run(&self) -> bool {
        self.path("ran").exists()
    }

    #[track_caller]
    fn refuses(&self, arguments: &str, code: &str) -> String {
        for folder in ["project", "project/deep"] {
            let told = self.run_in(folder, arguments);
            assert_eq!(told.status, 1, "{arguments}: {}", told.stderr);
            assert!(told.stderr.contains(&format!("[{code}]")), "{arguments}: {}", told.stderr);
            assert!(!self.has_run(), "{arguments}");
        }
        self.run(arguments).stderr
    }
}

const KERNEL: &str = "vector-add --size small --no-cache";

#[test]
fn a_project_runs_no_program_until_it_is_trusted() {
    let project = Project::new("[defaults]\nptxas = \"bin/evil\"\n");
    let commands = [
        format!("profile {KERNEL}"),
        format!("predict {KERNEL} --gpu a100"),
        format!("advise {KERNEL} --gpu a100"),
        format!("report {KERNEL} --gpu a100 -o report.html"),
        format!("sweep {KERNEL} --gpu a100"),
        format!("sweep plan {KERNEL} --gpu a100 --store store"),
        "sweep work --store store".to_owned(),
        format!("plot roofline {KERNEL} --gpu a100 -o roofline.svg"),
    ];
    for arguments in &commands {
        let told = project.refuses(arguments, "untrusted-program");
        assert!(told.contains("gpucast.toml:2:1") && told.contains("gpucast trust "), "{told}");
    }
    // What has nothing to do with the assembler works, and so do help and the user's own words.
    assert_eq!(project.run("gpus list").status, 0);
    assert_eq!(project.run("profile --help").status, 0);
    assert_eq!(project.run(&format!("profile {KERNEL} --no-project")).status, 0);
    let own = project.run(&format!("profile {KERNEL} --ptxas /bin/true"));
    assert!(own.stderr.contains("/bin/true is no ptxas"), "{}", own.stderr);
    assert!(!project.has_run());

    let trusted = project.run("trust");
    assert_eq!((trusted.status, trusted.stderr.as_str()), (0, ""));
    assert!(project.run("trust --list").stdout.starts_with("trusted  "));
    let told = project.run_in("project/deep", &format!("profile {KERNEL}"));
    assert!(told.stderr.contains("is no ptxas"), "{}", told.stderr);
    assert!(project.has_run());

    // The word was about the contents.
    fs::remove_file(project.path("ran")).unwrap();
    project.write("[defaults]\nptxas = \"bin/../bin/evil\"\n");
    let told = project.refuses(&commands[0], "untrusted-program");
    assert!(told.contains("it was changed"), "{told}");
    assert!(project.run("trust --list").stdout.starts_with("changed  "));
    assert_eq!(project.run("trust gpucast.toml").status, 0);
    assert_eq!(project.run("trust --remove gpucast.toml").status, 0);
    assert_eq!(project.run("trust --list").stdout, "");
    assert_eq!(project.run("trust --remove gpucast.toml").status, 1);
    project.refuses(&commands[0], "untrusted-program");
}

#[test]
fn compilers_are_named_by_kind_or_need_trust() {
    let project = Project::new("[defaults]\ncuda-compiler = \"bin/evil\"\n");
    fs::write(project.path("project/k.cu"), "__global__ void k() {}").unwrap();
    let launch = "run k.cu --kernel k --grid 1 --block 1";
    project.refuses(launch, "untrusted-program");
    project.write("[defaults.run]\ncuda-compiler = \"nvcc\"\n");
    let told = project.run(launch);
    assert!(!told.stderr.contains("untrusted"), "{}", told.stderr);
    project.write("[defaults]\ncuda-compiler = \"bin/evil\"\n");
    project.run("trust");
    project.run(launch);
    assert!(project.has_run());
}

#[test]
fn a_project_writes_below_its_folder_alone() {
    let project = Project::new("");
    let folder = project.path("project");
    fs::create_dir(project.path("project/.git")).unwrap();
    fs::write(project.path("victim"), "old").unwrap();
    symlink("../victim", folder.join("link.json")).unwrap();
    symlink("..", folder.join("up")).unwrap();
    let profile = format!("profile {KERNEL} --machine none");
    let outside = project.path("victim").display().to_string();
    for (option, value) in [
        ("output", outside.as_str()),
        ("output", "../victim"),
        ("output", "link.json"),
        ("output", "up/victim"),
        ("output", "missing/../../victim"),
        ("output", ".git/config"),
        ("print-to", "../victim"),
    ] {
        project.write(&format!("[defaults]\n{option} = \"{value}\"\n"));
        project.refuses(&profile, "untrusted-output");
        assert_eq!(fs::read_to_string(project.path("victim")).unwrap(), "old", "{value}");
    }
    assert!(!project.path("project/.git/config").exists());
    for store in ["../store", "s3://bucket/sweep", "file:///tmp/sweep"] {
        project.write(&format!("[defaults]\nstore = \"{store}\"\n"));
        let plan = format!("sweep plan {KERNEL} --gpu a100 --machine none");
        project.refuses(&plan, "untrusted-output");
    }
    project.write("[defaults.run]\ndump = \"c=../victim.npy\"\n");
    project.refuses(&format!("run {KERNEL}"), "untrusted-output");

    project.write("[defaults]\noutput = \"deep/profile.json\"\n");
    let told = project.run_in("project/deep", &profile);
    assert_eq!((told.status, told.stderr.as_str()), (0, ""));
    assert!(project.path("project/deep/profile.json").exists());
    project.write("[defaults]\noutput = \"../victim\"\n");
    project.run("trust");
    assert_eq!(project.run(&profile).status, 0);
    assert_ne!(fs::read_to_string(project.path("victim")).unwrap(), "old");
}

/// A file that everybody may write is left out. With trust its names count, and still no program.
#[test]
fn a_file_that_others_may_write_is_left_out() {
    let text = "[defaults]\nptxas = \"bin/evil\"\n[kernels.scale]\nsource = \"saxpy.ptx\"\n\
                kernel = \"saxpy\"\ngrid = [4]\nblock = [256]\nargs = [\"u32:1000\", \"f32:2\", \
                \"buf:f32[1000]=iota\", \"buf:f32[1000]\"]\n";
    let project = Project::new(text);
    let file = project.path("project/gpucast.toml");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    let told = project.run("run scale");
    assert_eq!(told.status, 1);
    assert!(told.stderr.contains("[foreign-file]"), "{}", told.stderr);
    // One that is broken stops nobody either.
    let quiet = project.run("run scale --no-project");
    assert!(!quiet.stderr.contains("foreign-file"), "{}", quiet.stderr);
    assert!(project.run("trust").stderr.contains("[foreign-file]"));
    let told = project.run("run scale");
    assert_eq!((told.status, told.stderr.as_str()), (0, ""));
    project.refuses(&format!("profile {KERNEL}"), "foreign-file");
    fs::write(&file, "[[[").unwrap();
    assert_eq!(project.run("gpus list").status, 0);
}

#[test]
fn the_record_is_the_users_alone() {
    let project = Project::new("[defaults]\nptxas = \"bin/evil\"\n");
    project.run("trust");
    let record = project.path("config/gpucast/trusted");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&record), mode(record.parent().unwrap())), (0o600, 0o700));
    fs::set_permissions(&record, fs::Permissions::from_mode(0o620)).unwrap();
    project.refuses(&format!("profile {KERNEL}"), "unsafe-record");
}

/// The compile command of a tuning space is a program like any other.
#[test]
fn a_tuning_space_compiles_nothing_until_it_is_trusted() {
    let project = Project::new("");
    let write = |name: &str, text: &str| {
        fs::write(project.path("project").join(name), text).unwrap();
    };
    write("k.cu", "__global__ void k() {}");
    write(
        "k.toml",
        "module = \"k.cu\"\n[parameters]\nx = 1\n[[launch]]\nkernel = \"k\"\n\
         grid = [1, 1, 1]\nblock = [32, 1, 1]\nargs = []\n",
    );
    let space = "launch = \"k.toml\"\n[parameters]\nx = [1]\n[compile]\ncommand = [\"bin/evil\"]\n";
    write("space.toml", space);
    let tune = "tune space.toml --gpu gtx-960 --machine rules";
    let told = project.run(tune);
    assert_eq!(told.status, 1);
    assert!(told.stderr.contains("[untrusted-program]"), "{}", told.stderr);
    assert!(!project.has_run());
    assert_eq!(project.run("trust space.toml").status, 0);
    project.run(tune);
    assert!(project.has_run());
}

/// A tool of the working directory is no installed one, whatever the search path says.
#[test]
fn tools_are_not_searched_in_the_working_directory() {
    let project = Project::new("");
    for name in ["ptxas", "nvcc", "python3"] {
        project.program(
            &format!("project/{name}"),
            &format!("touch '{}'", project.path("ran").display()),
        );
    }
    fs::write(project.path("project/k.cu"), "__global__ void k() {}").unwrap();
    for path in ["", ":/nowhere", ".", "bin/..:/nowhere"] {
        for arguments in [&format!("profile {KERNEL}"), "run k.cu --kernel k --grid 1 --block 1"] {
            let mut program = command(arguments);
            program.current_dir(project.path("project")).env("PATH", path);
            outcome(program);
            assert!(!project.has_run(), "PATH={path} gpucast {arguments}");
        }
    }
}

/// clang would take `-fplugin=p.cu` for an order to load a plugin.
#[test]
fn a_module_is_never_an_option_of_the_compiler() {
    let project = Project::new("");
    let said = project.path("said");
    project.program("clang", &format!("echo \"$@\" >> '{}'; exit 1", said.display()));
    fs::write(project.path("project/-fplugin=p.cu"), "__global__ void k() {}").unwrap();
    let launch = "module = \"-fplugin=p.cu\"\n[[launch]]\nkernel = \"k\"\ngrid = [1, 1, 1]\n\
                  block = [32, 1, 1]\nargs = []\n";
    fs::write(project.path("project/k.toml"), launch).unwrap();
    let compiler = project.path("clang");
    project.run(&format!("run k.toml --cuda-compiler '{}'", compiler.display()));
    let said = fs::read_to_string(said).unwrap();
    assert!(said.contains(" ./-fplugin=p.cu "), "{said}");
}

/// Behind a line break, an option of Slurm would be a command of the batch script.
#[test]
fn values_of_a_batch_script_stay_on_their_lines() {
    let project = Project::new("[defaults]\ntime = \"1\\ntouch ran\"\n");
    project.run(&format!("sweep plan {KERNEL} --gpu a100 --machine none --store store"));
    let told = project.run("sweep submit --slurm --dry-run --store store");
    assert_eq!(told.status, 2, "{}", told.stdout);
    assert!(told.stderr.contains("line break"), "{}", told.stderr);
}
