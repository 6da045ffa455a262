//! Raw outputs in a bucket of a real server of S3 (moto's), behind a proxy that makes its faults.

use backsight_test_needs::{Need, PostgresServer, moto_server};
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
};

use crate::{
    place::Place,
    running::{Ended, Running},
};

/// A fault that the proxy makes, of every request or only of reading objects.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// The service isn't available.
    Unavailable,
    /// As [`Fault::Unavailable`], only so many times.
    UnavailableTimes(u32),
    /// S3's code, with status 403.
    Refused(&'static str),
    /// The connection breaks in the middle of an object.
    Cut,
    /// Another object's bytes.
    OtherBytes,
    /// Every connection is closed at once.
    Down,
}

/// A server of S3 that ends with the test, and the proxy before it.
struct Server {
    moto: Child,
    port: u16,
    proxy: u16,
    fault: Arc<Mutex<Fault>>,
}

impl Server {
    fn start() -> Self {
        let (moto, port) = start_moto(0);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = listener.local_addr().unwrap().port();
        let fault = Arc::new(Mutex::new(Fault::None));
        let of_proxy = Arc::clone(&fault);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let fault = Arc::clone(&of_proxy);
                thread::spawn(move || {
                    let _ = pass(client, port, &fault);
                });
            }
        });
        let server = Self {
            moto,
            port,
            proxy,
            fault,
        };
        server.asks("PUT", "/lab");
        server
    }

    /// Kills the server and starts an empty one at its address.
    fn replace(&mut self) {
        self.moto.kill().unwrap();
        self.moto.wait().unwrap();
        (self.moto, self.port) = start_moto(self.port);
        self.asks("PUT", "/lab");
    }

    fn set(&self, fault: Fault) {
        *self.fault.lock().unwrap() = fault;
    }

    /// The answer to a request past the proxy.
    fn asks(&self, method: &str, path: &str) -> String {
        let mut server = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        server.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        server.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// The keys of all objects, past the proxy.
    fn keys(&self) -> Vec<String> {
        let listed = self.asks("GET", "/lab?list-type=2");
        let keys = listed.split("<Key>").skip(1);
        let keys = keys.filter_map(|rest| rest.split('<').next());
        let mut keys: Vec<String> = keys.map(str::to_owned).collect();
        keys.retain(|key| key.ends_with(".zst"));
        keys
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.moto.kill();
        let _ = self.moto.wait();
    }
}

fn start_moto(port: u16) -> (Child, u16) {
    // It ends with this process, however that ends.
    let mut moto = Command::new("setpriv")
        .args(["--pdeathsig", "KILL"])
        .arg(moto_server())
        .args(["-H", "127.0.0.1", "-p", &port.to_string()])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(moto.stderr.take().unwrap()).lines();
    let port = lines
        .by_ref()
        .map_while(Result::ok)
        .find_map(|line| {
            let (_, address) = line.split_once("Running on http://127.0.0.1:")?;
            address.trim().parse().ok()
        })
        .unwrap();
    // Its log goes on.
    thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
    (moto, port)
}

/// Reads a message of HTTP: its head, and its body where that has a length.
fn read_message(from: &mut impl std::io::Read) -> std::io::Result<(String, Vec<u8>)> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        from.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse().ok()).flatten()
    });
    let mut body = vec![0; length.unwrap_or(0)];
    // The answer to HEAD has a length and no body.
    match from.read_exact(&mut body) {
        Err(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => return Err(error),
        _ => {}
    }
    Ok((head, body))
}

/// Passes one request on, and its answer back, with the fault.
fn pass(mut client: TcpStream, port: u16, fault: &Mutex<Fault>) -> std::io::Result<()> {
    let asked = match *fault.lock().unwrap() {
        Fault::Down => return Ok(()),
        asked => asked,
    };
    let (head, body) = read_message(&mut client)?;
    let reads =
        head.starts_with("GET") && head.lines().next().is_some_and(|it| it.contains(".zst"));
    let refusal = |status: &str, code: &str| {
        let text = format!(
            "<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>no</Message></Error>"
        );
        let length = text.len();
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/xml\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
        )
    };
    let unavailable = refusal("503 Service Unavailable", "SlowDown");
    match asked {
        Fault::Unavailable => return client.write_all(unavailable.as_bytes()),
        Fault::UnavailableTimes(times) => {
            *fault.lock().unwrap() = match times {
                1 => Fault::None,
                more => Fault::UnavailableTimes(more - 1),
            };
            return client.write_all(unavailable.as_bytes());
        }
        Fault::Refused(code) => {
            return client.write_all(refusal("403 Forbidden", code).as_bytes());
        }
        Fault::None | Fault::Cut | Fault::OtherBytes | Fault::Down => {}
    }
    let mut server = TcpStream::connect(("127.0.0.1", port))?;
    let closing = head.replacen("\r\n", "\r\nConnection: close\r\n", 1);
    server.write_all(closing.as_bytes())?;
    server.write_all(&body)?;
    let (head, mut body) = read_message(&mut server)?;
    match asked {
        Fault::Cut if reads => body.truncate(body.len() / 2),
        Fault::OtherBytes if reads => body.reverse(),
        _ => {}
    }
    let closing = head.replacen("\r\n", "\r\nConnection: close\r\n", 1);
    client.write_all(closing.as_bytes())?;
    client.write_all(&body)
}

/// Runs the program with the bucket's address and credentials.
fn ends(place: &Place, server: &Server, arguments: &[&str]) -> Ended {
    ends_in_bucket(place.command(arguments), server)
}

/// The same of a command that has more in its environment.
fn ends_in_bucket(mut command: Command, server: &Server) -> Ended {
    command
        .env(
            "AWS_ENDPOINT_URL",
            format!("http://127.0.0.1:{}", server.proxy),
        )
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "test-secret")
        .env("AWS_REGION", "us-east-1")
        .env_remove("AWS_PROFILE");
    for proxy in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env_remove(proxy);
    }
    Running::start(command).ends()
}

fn prints(place: &Place, server: &Server, arguments: &[&str]) -> String {
    let ended = ends(place, server, arguments);
    ended.assert_code(0);
    ended.stdout()
}

/// Forgets what this machine has at hand.
fn forget(place: &Place) {
    let forgotten = std::fs::remove_dir_all(place.path("store/raw-cache"));
    // Where reading failed there is nothing.
    assert!(forgotten.is_ok() || !place.path("store/raw-cache").exists());
}

fn words(ended: &Ended) -> String {
    let said = format!("{} {}", ended.stdout(), ended.stderr).replace('│', " ");
    assert!(!said.contains("test-secret"), "{said}");
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_store_measures_checks_prunes_and_sweeps_with_its_outputs_in_a_bucket() {
    if Need::Moto.is_missing() {
        return;
    }
    let mut server = Server::start();
    let place = Place::new();
    place.prints("number", "date +%s.%N");
    place.plan("use = [\"number\"]\nrounds = 2\n");
    place.prints_of(&["run", "plan.toml", "--name", "before"]);
    place.write("store/store.toml", "unreferenced = \"0s\"\n");

    let said = prints(&place, &server, &["store", "raw", "s3://lab/team/raw"]);
    assert!(said.contains("s3://lab/team/raw"), "{said}");
    let keys = server.keys();
    assert!(
        keys.iter().all(|key| key.starts_with("team/raw/")),
        "{keys:?}"
    );
    let left = std::fs::read_dir(place.path("store/raw")).unwrap();
    let left = left.map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap().count());
    assert_eq!(left.sum::<usize>(), 0, "the old place is empty");
    let again = prints(&place, &server, &["store", "raw", "s3://lab/team/raw"]);
    assert!(again.contains(": 0 moved"), "{again}");

    prints(&place, &server, &["run", "plan.toml", "--name", "s"]);
    assert!(server.keys().len() > keys.len());
    for study in ["before", "s"] {
        forget(&place);
        let raw = prints(&place, &server, &["show", study, "--trial", "1", "--raw"]);
        assert!(raw.contains("date +%s.%N"), "{raw}");
    }
    assert!(prints(&place, &server, &["store", "check"]).contains(": sound"));
    // Another store doesn't get the same place.
    let other = Place::new();
    let refused = ends(&other, &server, &["store", "raw", "s3://lab/team/raw"]);
    refused.assert_code(2);
    assert!(words(&refused).contains("another store keeps its raw outputs there"));

    let count = server.keys().len();
    prints(&place, &server, &["delete", "before"]);
    assert!(server.keys().len() < count);

    // A server that was killed and replaced by an empty one: what is at hand here is put there again.
    server.replace();
    assert_eq!(server.keys().len(), 0);
    let lost = ends(&place, &server, &["store", "check"]);
    lost.assert_code(1);
    assert!(words(&lost).contains("it isn't in the bucket"));
    assert!(words(&lost).contains("--repair writes it anew from this machine's cache"));
    let mended = prints(&place, &server, &["store", "check", "--repair"]);
    assert!(mended.contains("mended: raw output"), "{mended}");
    forget(&place);
    assert!(prints(&place, &server, &["store", "check"]).contains(": sound"));

    let back = prints(&place, &server, &["store", "raw", "folder"]);
    assert!(back.contains("raw outputs are in folder"), "{back}");
    assert_eq!(server.keys().len(), 0);
    assert!(place.prints_of(&["store", "check"]).contains(": sound"));
}

#[test]
fn outputs_of_a_store_in_a_database_move_into_a_bucket_for_all_controllers() {
    if Need::Moto.is_missing() || Need::PostgresqlServer.is_missing() {
        return;
    }
    let server = Server::start();
    let place = Place::new();
    place.prints("number", "date +%s.%N");
    place.plan("use = [\"number\"]\nrounds = 2\n");
    let url = PostgresServer::shared().new_database();
    let on = |controller: &str, arguments: &[&str]| {
        let mut command = place.command(arguments);
        command
            .env("BACKSIGHT_STORE", &url)
            .env("XDG_DATA_HOME", place.path(controller));
        ends_in_bucket(command, &server)
    };
    let prints = |controller: &str, arguments: &[&str]| {
        let ended = on(controller, arguments);
        ended.assert_code(0);
        ended.stdout()
    };
    prints("a", &["run", "plan.toml", "--name", "before"]);
    assert!(prints("b", &["store", "raw"]).starts_with("database: "));
    let refused = on("a", &["store", "raw", "folder"]);
    refused.assert_code(2);
    assert!(words(&refused).contains("in the database or in a bucket, and not in a folder"));
    let moved = prints("a", &["store", "raw", "s3://lab/shared"]);
    assert!(
        moved.contains("raw outputs are in s3://lab/shared"),
        "{moved}"
    );
    let keys = server.keys().len();
    assert!(keys > 0);

    // Another controller, which was told nothing.
    assert!(prints("b", &["store", "raw"]).starts_with("s3://lab/shared: "));
    prints("b", &["run", "plan.toml", "--name", "s"]);
    assert!(server.keys().len() > keys);
    for (controller, study) in [("a", "s"), ("b", "before")] {
        let raw = prints(controller, &["show", study, "--trial", "1", "--raw"]);
        assert!(raw.contains("date +%s.%N"), "{raw}");
    }
    assert!(prints("b", &["store", "check"]).contains(": sound"));

    let back = prints("b", &["store", "raw", "database"]);
    assert!(back.contains("raw outputs are in database"), "{back}");
    assert_eq!(server.keys().len(), 0);
    prints("a", &["show", "s", "--trial", "2", "--raw"]);
    assert!(prints("a", &["store", "check"]).contains(": sound"));
    // A store in a folder has no database for them.
    let refused = ends(&place, &server, &["store", "raw", "database"]);
    refused.assert_code(2);
    assert!(words(&refused).contains("in the folder or in a bucket"));
}

#[test]
fn faults_of_a_bucket_are_named_and_what_was_stopped_goes_on() {
    if Need::Moto.is_missing() {
        return;
    }
    let server = Server::start();
    let place = Place::new();
    place.logged("logged");
    place.plan("use = [\"logged\"]\nrounds = 3\n");
    std::fs::create_dir(place.path("store")).unwrap();
    place.write("store/store.toml", "patience = \"1s\"\n");
    prints(&place, &server, &["store", "raw", "s3://lab/x"]);
    let no_bucket = ends(&place, &server, &["store", "raw", "s3://none/x"]);
    no_bucket.assert_code(2);
    assert!(words(&no_bucket).contains("there is no such bucket (404 NoSuchBucket)"));

    // It goes away in the middle of a study.
    let mut begun = place.command(&["run", "plan.toml", "--name", "s", "--json"]);
    begun
        .env(
            "AWS_ENDPOINT_URL",
            format!("http://127.0.0.1:{}", server.proxy),
        )
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "test-secret");
    place.hold("run", 2);
    let running = Running::start(begun);
    place.until_held("run");
    server.set(Fault::Down);
    place.release("run");
    let stopped = running.ends();
    assert!(!stopped.status.success());
    assert!(
        words(&stopped).contains("the connection failed"),
        "{}",
        words(&stopped)
    );
    assert!(words(&stopped).contains("backsight resume"));
    server.set(Fault::UnavailableTimes(2));
    prints(&place, &server, &["resume", "s"]);
    place.assert_complete("s", 1, 3);

    let read = ["show", "s", "--trial", "1", "--raw"];
    for (fault, says) in [
        (Fault::Unavailable, "the bucket isn't available (503"),
        (
            Fault::Refused("AccessDenied"),
            "access is denied (403 AccessDenied)",
        ),
        (
            Fault::Refused("RequestTimeTooSkewed"),
            "the clock of this machine is too far",
        ),
        (Fault::Cut, "the connection failed"),
        (Fault::OtherBytes, "also when asked again"),
        (Fault::Down, "the connection failed"),
    ] {
        forget(&place);
        server.set(fault);
        let ended = ends(&place, &server, &read);
        let said = words(&ended);
        assert!(said.contains(says), "{fault:?}: {said}");
        server.set(Fault::None);
    }
    assert!(prints(&place, &server, &read).contains("42"));
    assert!(prints(&place, &server, &["store", "check"]).contains(": sound"));
}
