//! The program `gpucast-serve`: reads options, opens the socket or takes the standard streams, and
//! stops in order.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use rmcp::ServiceExt as _;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{Agent, Limits, Service, Setup, TOKEN_VARIABLE, Token, router};

/// Answers questions about CUDA kernels until it is stopped: HTTP with JSON, or the Model Context
/// Protocol.
///
/// Over HTTP the protocol is at /mcp, and /openapi.json describes everything else.
#[derive(Debug, Parser)]
#[command(name = "gpucast serve", version)]
struct Options {
    /// Speak the Model Context Protocol on the standard streams instead of HTTP
    #[arg(long)]
    mcp: bool,

    /// The address to listen at, which must be this computer's own; with port 0 the system chooses
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8471", conflicts_with = "mcp")]
    listen: SocketAddr,

    /// The file with the token that clients send; it is made if it does not exist [default: that of
    /// the environment variable GPUCAST_SERVE_TOKEN, or a new one, which is printed]
    #[arg(long, value_name = "FILE", conflicts_with = "mcp")]
    token_file: Option<PathBuf>,

    /// Processes at a time [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: Option<u16>,

    /// CPU threads of each process
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: u16,

    /// Requests that wait for a process; further ones are refused as `busy`
    #[arg(long, value_name = "N", default_value = "64", value_parser = clap::value_parser!(u16).range(0..=10_000))]
    queue: u16,

    /// Seconds that a request may take
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    time_limit: u64,

    /// MiB of memory that a request may take
    #[arg(long, value_name = "MIB", default_value = "4096", value_parser = clap::value_parser!(u64).range(16..=1 << 24))]
    memory_limit: u64,

    /// Seconds for requests that run when the server is asked to stop
    #[arg(long, value_name = "SECONDS", default_value = "30")]
    patience: u64,

    /// The CUDA compiler: nvrtc, nvcc, clang, or the path of one [default: as `gpucast`]
    #[arg(long, value_name = "COMPILER")]
    cuda_compiler: Option<PathBuf>,

    /// The classroom's page, gpucast-classroom.html, to show at the address
    #[arg(long, value_name = "FILE", conflicts_with = "mcp")]
    page: Option<PathBuf>,

    /// The program that answers [default: the one beside this program]
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// Serves as the words of this process's command line ask for, and returns the exit status.
pub fn run() -> u8 {
    let options = Options::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let outcome = match runtime {
        Ok(runtime) => runtime.block_on(serve(&options)),
        Err(error) => Err(format!("cannot start: {error}")),
    };
    match outcome {
        Ok(()) => 0,
        Err(message) => {
            let _ = writeln!(std::io::stderr(), "error: {message}");
            1
        }
    }
}

async fn serve(options: &Options) -> Result<(), String> {
    let service = Service::new(setup(options)?).map_err(|e| format!("cannot start: {e}"))?;
    let service = Arc::new(service);
    let patience = Duration::from_secs(options.patience);
    match options.mcp {
        true => streams(service, patience).await,
        false => http(options, service, patience).await,
    }
}

fn setup(options: &Options) -> Result<Setup, String> {
    let beside = || {
        let own = std::env::current_exe().map_err(|e| format!("cannot find this program: {e}"))?;
        Ok::<PathBuf, String>(
            own.with_file_name(format!("gpucast{}", std::env::consts::EXE_SUFFIX)),
        )
    };
    let program = options.program.clone().map_or_else(beside, Ok)?;
    // Runs start in folders of their own.
    let program = program
        .canonicalize()
        .map_err(|error| format!("there is no program {}: {error}", program.display()))?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let limits = Limits { seconds: options.time_limit, bytes: options.memory_limit << 20 };
    Ok(Setup {
        program,
        workers: options.workers.map_or(cores, usize::from),
        queue: options.queue.into(),
        threads: options.threads.into(),
        limits,
        cuda_compiler: options.cuda_compiler.clone(),
    })
}

/// The standard streams, until the client closes them or the system asks for the end.
async fn streams(service: Arc<Service>, patience: Duration) -> Result<(), String> {
    let agent = Agent::new(Arc::clone(&service));
    let running = agent.serve(rmcp::transport::stdio()).await;
    let running = running.map_err(|error| format!("no agent is there: {error}"))?;
    let ending = running.cancellation_token();
    tokio::select! {
        ended = running.waiting() => {
            ended.map_err(|error| format!("the connection broke: {error}"))?;
        }
        () = asked() => {
            service.stop();
            service.finish(patience).await;
            // Answers are on their way; the streams take them before they close.
            tokio::time::sleep(Duration::from_millis(50)).await;
            ending.cancel();
        }
    }
    service.finish(Duration::ZERO).await;
    // A thread may still read the standard input, which nobody can interrupt.
    std::process::exit(0)
}

async fn http(options: &Options, service: Arc<Service>, patience: Duration) -> Result<(), String> {
    if !options.listen.ip().is_loopback() {
        return Err(format!(
            "{} is not this computer's own: listen at 127.0.0.1 or [::1], behind a proxy with TLS",
            options.listen.ip()
        ));
    }
    let page = options.page.as_ref().map(|path| {
        std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
    });
    let page = page.transpose()?;
    let (token, is_new) = token(options)?;
    let listener = TcpListener::bind(options.listen).await;
    let listener = listener.map_err(|e| format!("cannot listen at {}: {e}", options.listen))?;
    let address = listener.local_addr().map_err(|error| format!("cannot listen: {error}"))?;
    let mut said = format!("listening at http://{address}\n");
    if is_new {
        said += &format!("token {}\n", token.text());
    }
    if page.is_some() {
        // Whoever has chosen a token does not want to read it here.
        let text = if is_new { token.text() } else { "TOKEN" };
        said += &format!("page http://{address}/#token={text}\n");
    }
    // Whoever does not listen to this knows it already.
    let _ = std::io::stdout().write_all(said.as_bytes()).and_then(|()| std::io::stdout().flush());
    let ending = CancellationToken::new();
    let router = router(Arc::clone(&service), token, page, ending.clone());
    let of_server = Arc::clone(&service);
    let server = axum::serve(listener, router)
        .with_graceful_shutdown(async move { of_server.stopped().await });
    let server = tokio::spawn(server.into_future());
    asked().await;
    service.stop();
    service.finish(patience).await;
    ending.cancel();
    // Connections that are idle are closed, the others once their answers are written.
    let _ = tokio::time::timeout(Duration::from_secs(2), server).await;
    Ok(())
}

/// The token, and whether the user has to be told it.
fn token(options: &Options) -> Result<(Token, bool), String> {
    if let Some(path) = &options.token_file {
        return of_file(path).map(|token| (token, false));
    }
    match std::env::var(TOKEN_VARIABLE) {
        Ok(text) if !text.is_empty() => {
            let token = Token::given(&text).map_err(|e| format!("{TOKEN_VARIABLE}: {e}"))?;
            Ok((token, false))
        }
        _ => Token::random().map(|token| (token, true)),
    }
}

/// The token of a file, which is made with a new one if it is not there.
fn of_file(path: &Path) -> Result<Token, String> {
    let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    match std::fs::read_to_string(path) {
        Ok(text) => Token::given(&text).map_err(|error| wrong(&error)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let token = Token::random()?;
            let mut new = std::fs::OpenOptions::new();
            new.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut new, 0o600);
            let written = new.open(path).and_then(|mut f| writeln!(f, "{}", token.text()));
            written.map(|()| token).map_err(|error| wrong(&error))
        }
        Err(error) => Err(wrong(&error)),
    }
}

/// Returns when the system or the user asks for the end.
async fn asked() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut term) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = term.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}
