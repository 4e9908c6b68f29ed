//! `keyloom demo comments --processes 4`: several servers on one table in strict mode, behind one address.
//! While comments are written and counted through that address, servers are killed, and all are replaced
//! one by one by servers with a changed model.

use std::fs::{self, File};
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use keyloom_app::operations::block_on;
use keyloom_app::{listen, log};
use keyloom_server::{HttpClient, HttpClientOptions, HttpRequest, HttpResponse};

/// What the model of the second deployment adds.
const ADDED: &str = "\n[entity.comment.count.by_language]\nby = \"language\"\n";
const TABLE: &str = "comments";
/// The product that comments are written on.
const PRODUCT: &str = "live";
/// How long a server may take to start; the first one also generates samples.
const START_TIME: Duration = Duration::from_secs(600);
const LOOK_TIME: Duration = Duration::from_millis(100);
/// How often a comment is written.
const WRITE_TIME: Duration = Duration::from_millis(250);
/// How long everything runs before something happens to a server.
const CALM_TIME: Duration = Duration::from_secs(10);
/// How long a client waits for a server.
const ANSWER_TIME: Duration = Duration::from_secs(15);

/// What to run.
pub(super) struct Cluster {
    pub(super) processes: usize,
    pub(super) size: u64,
    pub(super) directory: PathBuf,
    pub(super) model: &'static str,
    /// The address that clients use.
    pub(super) front: TcpListener,
}

/// The processes that run. Dropping it ends them.
struct Running {
    client: HttpClient,
    directory: PathBuf,
    endpoint: String,
    service: Child,
    servers: Mutex<Vec<Server>>,
    /// The server that gets the next connection.
    turn: AtomicUsize,
    is_stopping: AtomicBool,
}

struct Server {
    address: SocketAddr,
    child: Child,
}

impl Cluster {
    pub(super) fn run(self) -> Result<(), String> {
        let models = self.models()?;
        let front = self.front.local_addr().map_err(|error| error.to_string())?;
        log(&format!("Starting a table in strict mode in {} …", self.directory.display()));
        let running = Arc::new(Running::start(&self.directory)?);
        log(&format!(
            "Generating {} comments, then starting {} servers …",
            self.size, self.processes
        ));
        for number in 0..self.processes {
            let server = running.launch(number, &models[0], self.size)?;
            running.servers().push(server);
        }
        let doors = self.front;
        spawn(&running, move |running| running.forward(&doors));
        spawn(&running, move |running| write_and_count(running, front));
        spawn(&running, move |running| running.cause_trouble(&models[1], self.size));
        log(&format!("Open http://{front}/?product={PRODUCT}. Stop with Ctrl-C."));
        listen::block_on(async {
            listen::stop_signal()?.await;
            Ok(())
        })?;
        running.is_stopping.store(true, Ordering::Relaxed);
        running.end();
        Ok(())
    }

    /// Writes the models of both deployments.
    fn models(&self) -> Result<[PathBuf; 2], String> {
        let wrong =
            |error: io::Error| format!("cannot write {}: {error}.", self.directory.display());
        fs::create_dir_all(&self.directory).map_err(wrong)?;
        let paths = ["model-1.toml", "model-2.toml"].map(|name| self.directory.join(name));
        fs::write(&paths[0], self.model).map_err(wrong)?;
        fs::write(&paths[1], format!("{}{ADDED}", self.model)).map_err(wrong)?;
        Ok(paths)
    }
}

fn spawn(running: &Arc<Running>, work: impl FnOnce(&Running) + Send + 'static) {
    let running = running.clone();
    thread::spawn(move || work(&running));
}

impl Running {
    fn start(directory: &Path) -> Result<Running, String> {
        let time = ANSWER_TIME;
        let client = HttpClient::new(HttpClientOptions { time, ..HttpClientOptions::default() })?;
        let address = free_address()?;
        let mut command = keyloom(directory, "table.log")?;
        command.args(["dynamodb", "--strict", "--listen", &address.to_string(), "--data"]);
        command.arg(directory.join("table"));
        let mut service = command.spawn().map_err(|error| format!("cannot start: {error}."))?;
        wait_for(&client, address, &mut service, &directory.join("table.log"))?;
        Ok(Running {
            client,
            directory: directory.to_owned(),
            endpoint: format!("http://{address}"),
            service,
            servers: Mutex::default(),
            turn: AtomicUsize::new(0),
            is_stopping: AtomicBool::new(false),
        })
    }

    /// Starts a server, and waits until it answers.
    fn launch(&self, number: usize, model: &Path, size: u64) -> Result<Server, String> {
        let (address, file) = (free_address()?, format!("server-{number}.log"));
        let mut command = keyloom(&self.directory, &file)?;
        command.args(["demo", TABLE, "--dynamodb", TABLE, "--endpoint-url", &self.endpoint]);
        command.args(["--size", &size.to_string(), "--listen", &address.to_string(), "--model"]);
        command.arg(model);
        let mut child = command.spawn().map_err(|error| format!("cannot start: {error}."))?;
        wait_for(&self.client, address, &mut child, &self.directory.join(file))?;
        Ok(Server { address, child })
    }

    /// Kills a server and starts another one in its place.
    fn replace(&self, number: usize, model: &Path, size: u64) -> Result<(), String> {
        if let Some(server) = self.servers().get_mut(number) {
            let _ = server.child.kill();
            let _ = server.child.wait();
        }
        let server = self.launch(number, model, size)?;
        if let Some(place) = self.servers().get_mut(number) {
            *place = server;
        }
        Ok(())
    }

    /// Kills a server, and then replaces all of them by servers with another model.
    fn cause_trouble(&self, next: &Path, size: u64) {
        let count = self.servers().len();
        let replaced = || -> Result<(), String> {
            self.rest(CALM_TIME);
            log("Killing server 1 (SIGKILL) and starting it again …");
            self.replace(1 % count, &self.directory.join("model-1.toml"), size)?;
            log("Server 1 answers again.");
            self.rest(CALM_TIME);
            for number in 0..count {
                log(&format!("Replacing server {number} by one with a changed model …"));
                self.replace(number, next, size)?;
                self.rest(CALM_TIME / 4);
            }
            log(
                "All servers have the changed model: see /comments/counts/by_language?language=en.",
            );
            Ok(())
        };
        if let Err(error) = replaced()
            && !self.is_stopping.load(Ordering::Relaxed)
        {
            log(&format!("A server did not start: {error}"));
        }
    }

    fn rest(&self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end && !self.is_stopping.load(Ordering::Relaxed) {
            thread::sleep(LOOK_TIME);
        }
    }

    /// Connects each client with the next server that answers.
    fn forward(&self, front: &TcpListener) {
        for client in front.incoming().flatten() {
            let addresses: Vec<SocketAddr> =
                self.servers().iter().map(|server| server.address).collect();
            let turn = self.turn.fetch_add(1, Ordering::Relaxed);
            let mut order = addresses.iter().cycle().skip(turn).take(addresses.len());
            if let Some(server) = order.find_map(|address| TcpStream::connect(address).ok()) {
                thread::spawn(move || join(client, server));
            }
        }
    }

    fn servers(&self) -> MutexGuard<'_, Vec<Server>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self) {
        for server in self.servers().iter_mut() {
            let _ = server.child.kill();
            let _ = server.child.wait();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
        let _ = self.service.kill();
        let _ = self.service.wait();
    }
}

/// This program, with its output in a file.
fn keyloom(directory: &Path, file: &str) -> Result<Command, String> {
    let wrong = |error: io::Error| format!("cannot write {}: {error}.", directory.display());
    let output = File::create(directory.join(file)).map_err(wrong)?;
    let errors = output.try_clone().map_err(wrong)?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    // The table takes any keys, and clients have to send some.
    command.envs([("AWS_ACCESS_KEY_ID", "demo"), ("AWS_SECRET_ACCESS_KEY", "demo")]);
    command.env("AWS_REGION", "us-east-1").stdin(Stdio::null()).stdout(output).stderr(errors);
    Ok(command)
}

fn free_address() -> Result<SocketAddr, String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).and_then(|free| free.local_addr());
    listener.map_err(|error| format!("no port is free: {error}."))
}

/// Waits until a process answers.
fn wait_for(
    client: &HttpClient,
    address: SocketAddr,
    child: &mut Child,
    output: &Path,
) -> Result<(), String> {
    let end = Instant::now() + START_TIME;
    while Instant::now() < end {
        // A port is reserved before samples are generated: only an answer counts.
        if get(client, address, "/healthz").is_some() {
            return Ok(());
        }
        if child.try_wait().is_ok_and(|status| status.is_some()) {
            break;
        }
        thread::sleep(LOOK_TIME);
    }
    Err(format!("a process ended, or does not answer: see {}.", output.display()))
}

/// Passes on what a client and a server send until both have ended.
fn join(client: TcpStream, server: TcpStream) {
    let copy = |from: &TcpStream, to: &TcpStream| {
        let (mut from, mut to) = (from, to);
        let _ = io::copy(&mut from, &mut to);
        // Ends the other direction too: a killed server must not keep a client waiting.
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    };
    thread::scope(|scope| {
        scope.spawn(|| copy(&client, &server));
        copy(&server, &client);
    });
}

/// Writes comments through the front, each exactly once, and compares the count with what it wrote.
fn write_and_count(running: &Running, front: SocketAddr) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let Some(before) = count(&running.client, front) else {
        return log("The comments cannot be counted.");
    };
    let (mut written, mut repeated) = (0, 0);
    while !running.is_stopping.load(Ordering::Relaxed) {
        let body = format!(
            r#"{{"product":"{PRODUCT}","language":"en","rating":5,"body":"number {written}"}}"#
        );
        // The key makes a repeated request safe.
        let key = format!("{}-{written}", now.as_millis());
        loop {
            match post(&running.client, front, key.clone(), body.clone()) {
                Some(answer) if answer.is_success() => break,
                Some(answer) if answer.is_refused() => {
                    let problem = String::from_utf8_lossy(&answer.body);
                    return log(&format!("A comment was refused ({}): {problem}", answer.status));
                }
                Some(_) | None => repeated += 1,
            }
            thread::sleep(LOOK_TIME);
            if running.is_stopping.load(Ordering::Relaxed) {
                return;
            }
        }
        written += 1;
        if written % 20 == 0 {
            let counted = count(&running.client, front)
                .map_or("?".to_owned(), |now| (now - before).to_string());
            log(&format!(
                "{written} comments written ({repeated} requests repeated), {counted} counted."
            ));
        }
        thread::sleep(WRITE_TIME);
    }
}

/// How many comments the product has.
fn count(client: &HttpClient, front: SocketAddr) -> Option<i64> {
    let path = format!("/products/{PRODUCT}/comments/count");
    let answer = (0..50).find_map(|_| {
        let found = get(client, front, &path).filter(HttpResponse::is_success);
        if found.is_none() {
            thread::sleep(LOOK_TIME);
        }
        found
    })?;
    let counted: serde_json::Value = serde_json::from_slice(&answer.body).ok()?;
    counted.get("count")?.as_i64()
}

/// Sends a GET request. None if there is no answer.
fn get(client: &HttpClient, address: SocketAddr, path: &str) -> Option<HttpResponse> {
    let address = format!("http://{address}{path}");
    block_on(async { client.get(&address).await.map_err(|error| error.to_string()) }).ok()
}

/// Sends a comment with an idempotency key. None if there is no answer.
fn post(
    client: &HttpClient,
    address: SocketAddr,
    key: String,
    comment: String,
) -> Option<HttpResponse> {
    let headers = vec![("idempotency-key".to_owned(), key)];
    let address = format!("http://{address}/comments");
    let request = HttpRequest { address, headers, body: comment.into_bytes() };
    block_on(async { client.post(request).await.map_err(|error| error.to_string()) }).ok()
}
