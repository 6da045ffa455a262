//! Mails, to a real server.

use backsight_policy::AlertState;
use backsight_test_needs::{Need, mail_server_python};
use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Child, Command, Stdio},
};

use super::{ToldLab, in_state};
use crate::software_change::tests::change;

/// A mail server, which ends with this.
struct MailServer(Child);

impl MailServer {
    fn start(folder: &Path, port: u16, tls: Option<(&Path, &Path)>) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/mail_server.py");
        let mut command = Command::new(mail_server_python());
        command.arg(script).arg(folder).arg(port.to_string());
        if let Some((certificate, key)) = tls {
            command.arg(certificate).arg(key);
        }
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = command.spawn().unwrap();
        let mut line = String::new();
        let mut said = BufReader::new(server.stdout.take().unwrap());
        said.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Self(server)
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn config(port: u16, more: &str) -> String {
    format!(
        "[channel.team.mail]\nfrom = \"Lab <lab@example.org>\"\nto = [\"team@example.org\", \"Bo <bo@example.org>\"]\n\
         smtp = {{ host = \"127.0.0.1\", port = {port}, {more} }}\n"
    )
}

fn mails(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|it| it == "eml"));
    files.sort();
    let texts = files.iter().map(|file| fs::read_to_string(file).unwrap());
    texts.collect()
}

#[tokio::test]
async fn a_server_that_is_down_for_an_hour_gets_the_mail_later_once() {
    if Need::Aiosmtpd.is_missing() {
        return;
    }
    let (inbox, port) = (tempfile::tempdir().unwrap(), free_port());
    let lab = ToldLab::new(&config(port, "tls = \"none\"")).await;
    let reports = lab.tell("10:00", &[change()]).await;
    assert_eq!(reports[0].problems.len(), 1, "{reports:?}");
    let server = MailServer::start(inbox.path(), port, None);
    for time in ["11:00", "11:30"] {
        let reports = lab.tell(time, &[change()]).await;
        assert!(reports[0].problems.is_empty(), "{reports:?}");
    }
    lab.tell("12:00", &[in_state(AlertState::Fixed)]).await;
    drop(server);
    let mails = mails(inbox.path());
    assert_eq!(mails.len(), 2);
    let header = |mail: &str, name: &str| {
        let mut lines = mail.lines().filter_map(|line| line.strip_prefix(name));
        lines.next().unwrap().trim().to_owned()
    };
    assert_eq!(
        header(&mails[1], "In-Reply-To:"),
        header(&mails[0], "Message-ID:")
    );
    let to = fs::read_to_string(inbox.path().join("0.to")).unwrap();
    assert_eq!(to, "team@example.org bo@example.org");
}

#[tokio::test]
async fn a_server_with_a_certificate_of_its_own_is_trusted_where_the_file_says_so() {
    if Need::Aiosmtpd.is_missing() {
        return;
    }
    let (inbox, port) = (tempfile::tempdir().unwrap(), free_port());
    let (certificate, key) = (inbox.path().join("cert.pem"), inbox.path().join("key.pem"));
    let words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=lab \
         -addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE";
    let made = Command::new("openssl")
        .args(words.split_whitespace())
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let _server = MailServer::start(inbox.path(), port, Some((&certificate, &key)));
    let tell = async |port, more: &str| {
        let lab = ToldLab::new(&config(port, more)).await;
        lab.tell("10:00", &[change()]).await.remove(0).problems
    };
    let unknown = tell(port, "tls = \"starttls\"").await;
    assert!(unknown[0].contains("certificate"), "{unknown:?}");
    let file = certificate.display();
    let trusted = format!("tls = \"starttls\", certificates = \"{file}\"");
    assert_eq!(tell(port, &trusted).await, Vec::<String>::new());
    assert_eq!(mails(inbox.path()).len(), 1);
    // A server without encryption gets nothing where that is asked for.
    let plain = free_port();
    let _plain = MailServer::start(inbox.path(), plain, None);
    assert_eq!(tell(plain, "tls = \"starttls\"").await.len(), 1);
    assert_eq!(mails(inbox.path()).len(), 1);
}

#[tokio::test]
async fn a_mail_that_is_refused_is_said_and_tried_again_later() {
    if Need::Aiosmtpd.is_missing() {
        return;
    }
    let (inbox, port) = (tempfile::tempdir().unwrap(), free_port());
    let _server = MailServer::start(inbox.path(), port, None);
    let config = config(port, "tls = \"none\"").replace("team@", "nobody@");
    let lab = ToldLab::new(&config).await;
    let reports = lab.tell("10:00", &[change()]).await;
    let problem = &reports[0].problems[0];
    assert!(problem.contains("no such user"), "{problem}");
    assert!(lab.tell("10:00", &[change()]).await[0].problems.is_empty());
}

#[tokio::test]
async fn the_systems_program_takes_mails() {
    let folder = tempfile::tempdir().unwrap();
    let (program, mail) = (folder.path().join("sendmail"), folder.path().join("mail"));
    fs::write(&program, format!("#!/bin/sh\ncat >{}\n", mail.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let lab = ToldLab::new(&format!(
        "[channel.team.mail]\nfrom = \"lab@example.org\"\nto = [\"team@example.org\"]\nsendmail = \"{}\"\n",
        program.display()
    ))
    .await;
    let reports = lab.tell("10:00", &[change()]).await;
    assert!(reports[0].problems.is_empty(), "{reports:?}");
    let mail = fs::read_to_string(mail).unwrap();
    assert!(mail.contains("Auto-Submitted: auto-generated"), "{mail}");
}
