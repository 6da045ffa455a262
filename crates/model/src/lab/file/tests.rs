//! Labs as people write them.

use super::*;
use crate::HostKind;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn read(text: &str) -> Result<Lab, DocumentError> {
    Lab::read(&Lab::write_out(&TomlDocument::new("lab.toml", text))?)
}

fn fault(text: &str) -> (String, (usize, usize)) {
    let error = read(text).expect_err(text);
    let help = error
        .help()
        .map(|help| help.to_string())
        .unwrap_or_default();
    (format!("{error}; {help}"), error.place())
}

const LAB: &str = r#"
name = "rack"
[vars]
domain = "lab.example.org"

[defaults]
options = ["-p", "2222"]
console = "conserver {host}"
power = { on = "pdu {switch} on", off = "pdu {switch} off" }

[group.clients]
hosts = "client[01-30]"
kind  = "ssh"
login = "root@{host}.{domain}"
tags  = ["10g", "x86"]
vars  = { switch = "s1" }

[host.client07]
tags = ["slow", "10g"]
options = []

[host.here]
kind = "local"
[testbed.one]
client = "client01"
"#;

#[test]
fn a_group_gives_its_hosts_what_they_do_not_say_themselves() {
    let lab = read(LAB).unwrap();
    assert_eq!(lab.host.len(), 31);
    let host = |name: &str| (&lab.host[name], HostName::new(name).unwrap());
    let (first, name) = host("client01");
    assert_eq!(first.kind, HostKind::Ssh);
    assert_eq!(first.login(&name), "root@client01.lab.example.org");
    assert_eq!(first.options.len(), 2);
    let tags = |host: &Host| {
        host.tags
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(tags(first), ["10g", "x86"]);
    let (slow, _) = host("client07");
    assert_eq!(tags(slow), ["slow", "10g", "x86"]);
    assert!(slow.options.is_empty());
    assert!(first.power.is_some() && slow.console.is_some());
    // It can't have options of ssh, power or a console, which the others have by default.
    let (here, _) = host("here");
    assert!(here.options.is_empty() && here.power.is_none() && here.console.is_none());
    assert_eq!(lab.group["clients"].members().len(), 30);
}

#[test]
fn a_lab_that_is_written_out_stands_for_itself() {
    let document = TomlDocument::new("lab.toml", LAB);
    let written = Lab::write_out(&document).unwrap();
    assert_eq!(written.name, "lab.toml");
    assert!(
        written.text.contains("hosts = [\"client[01-30]\"]"),
        "{}",
        written.text
    );
    assert!(!written.text.contains("switch"), "{}", written.text);
    // As a study finds it, without the files: the same lab, and written out again the same document.
    let stored = TomlDocument::new("lab.toml", written.text.to_string());
    assert_eq!(Lab::read(&stored).unwrap(), Lab::read(&written).unwrap());
    // What needs none of it stays as it was written.
    let plain = TomlDocument::new(
        "lab.toml",
        "# mine\n[host.a]\nkind = \"local\"\ntags = [\"x\"]\n",
    );
    assert_eq!(Lab::write_out(&plain).unwrap(), plain);
}

#[test]
fn braces_are_literal_where_they_are_written_twice_or_filled_later() {
    let lab = read(
        "[vars]\nwho = \"a{b}\"\n[host.a]\nkind = \"ssh\"\noptions = [\"-o\", \"x={{y}}\", \"{who}\"]\n\
         [host.a.ssh-reboot]\nreboot = \"{{ {who} {target} {host}\"\n",
    )
    .unwrap();
    let host = &lab.host["a"];
    assert_eq!(*host.options[1], "x={y}");
    assert_eq!(*host.options[2], "a{b}");
    let reboot = host.ssh_reboot.as_ref().unwrap().reboot.as_ref().unwrap();
    assert_eq!(reboot.source(), "{{ a{{b}} {target} a");
}

#[test]
fn faults_point_at_what_was_written() {
    let base = "[group.g]\nhosts = \"h[1-2]\"\nkind = \"ssh\"\n";
    for (more, says, place) in [
        (
            "login = \"{domian}\"\n[vars]\ndomain = \"x\"",
            "did you mean `domain`?",
            (4, 9),
        ),
        ("login = \"{zzz}\"", "`{{`", (4, 9)),
        ("login = \"{\"", "a brace", (4, 9)),
        ("logn = \"x\"", "did you mean `login`?", (4, 1)),
        ("memory = \"64MiB\"", "memory that it has", (4, 10)),
        (
            "login = \"-oProxyCommand=x\"",
            "nobody who could log in",
            (4, 9),
        ),
        ("[host.g]\nkind = \"ssh\"", "a host's name already", (1, 8)),
        ("[host.other]\ndata = \"10.0.0.1\"", "has no kind", (4, 7)),
        (
            "[defaults]\nkindd = \"ssh\"",
            "did you mean `kind`?",
            (5, 1),
        ),
        ("[vars]\nhost = \"x\"", "own name", (5, 1)),
        ("[vars]\nn = 3", "no text", (5, 5)),
        ("[vars]\n\"a b\" = \"\"", "variable's name", (5, 1)),
        ("[incldue]\nx = 1", "did you mean `include`?", (4, 2)),
        ("[group.e]\nkind = \"ssh\"", "no `hosts`", (4, 8)),
        (
            "[group.e]\nhosts = \"n[1-99999999]\"",
            "more than 4096",
            (5, 9),
        ),
        (
            "[group.e]\nhosts = [\"n[1-4000]\"]\nkind = \"ssh\"\n[group.f]\nhosts = [\"m[1-97]\", \"x[1-9]\"]\nkind = \"ssh\"",
            "more than 4096",
            (8, 9),
        ),
        ("[group.e]\nhosts = [3]", "names no hosts", (5, 10)),
        (
            "[group.e]\nhosts = \"h1\"\nkind = \"local\"",
            "groups `g` and `e`",
            (6, 8),
        ),
        (
            "[testbed.t]\nclient = \"h3\"",
            "`h3` is not in this lab",
            (5, 10),
        ),
        ("tags = \"x\"", "no list of tags", (4, 8)),
        ("tags = [\"a b\"]", "not a name", (4, 9)),
    ] {
        let (message, at) = fault(&format!("{base}{more}\n"));
        assert!(message.contains(says), "{more}: {message}");
        assert_eq!(at, place, "{more}: {message}");
    }
}

#[test]
fn groups_that_contradict_each_other_are_named_unless_the_host_decides() {
    let groups = "[group.a]\nhosts = \"h\"\nkind = \"ssh\"\nlogin = \"x\"\ntags = [\"one\"]\nvars = { v = \"1\" }\n\
                  [group.b]\nhosts = [\"h\"]\nkind = \"ssh\"\nlogin = \"y\"\ntags = [\"two\"]\n";
    let (message, place) = fault(groups);
    assert!(
        message.contains("groups `a` and `b` say different things of `login` of host `h`"),
        "{message}"
    );
    assert!(message.contains("lab.toml, line 1"), "{message}");
    assert_eq!(place, (10, 9));
    let lab = read(&format!("{groups}[host.h]\nlogin = \"z{{v}}\"\n")).unwrap();
    assert_eq!(lab.host["h"].login(&HostName::new("h").unwrap()), "z1");
    assert_eq!(lab.host["h"].tags.len(), 2);
    let vars = "[group.a]\nhosts = \"h\"\nkind = \"ssh\"\nvars = { v = \"1\" }\n[group.b]\nhosts = \"h\"\nvars = { v = \"2\" }\n";
    assert!(fault(vars).0.contains("of `v` of host `h`"));
}

fn files(texts: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in texts {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let first = folder.path().join(texts[0].0);
    (folder, first)
}

#[test]
fn files_are_included_and_each_has_defaults_and_variables_of_its_own() {
    let (_folder, path) = files(&[
        (
            "lab.toml",
            "include = [\"racks/*.toml\"]\n[vars]\ndomain = \"lab\"\n[defaults]\nkind = \"ssh\"\nlogin = \"{host}.{domain}\"\n\
             [host.dut]\n[testbed.t]\nclient = \"b1\"\nserver = \"dut\"\n",
        ),
        (
            "racks/a.toml",
            "name = \"a\"\n[group.a]\nhosts = \"a[1-2]\"\n",
        ),
        (
            "racks/b.toml",
            "[vars]\ndomain = \"b.lab\"\n[defaults]\noptions = [\"-4\"]\n[group.b]\nhosts = [\"b[1-2]\", \"dut\"]\n",
        ),
        ("racks/.hidden.toml", "not = toml ["),
    ]);
    let lab = Lab::read(&Lab::open(&path).unwrap()).unwrap();
    assert_eq!(lab.name.as_str(), "lab");
    let login = |name: &str| lab.host[name].login.as_ref().unwrap().to_string();
    assert_eq!(
        (login("a1"), login("b2"), login("dut")),
        ("a1.lab".into(), "b2.b.lab".into(), "dut.lab".into())
    );
    assert_eq!(lab.host["b1"].options.len(), 1);
    assert!(lab.host["dut"].options.is_empty());
}

#[test]
fn faults_of_included_files_are_said_there() {
    let main = "include = [\"b.toml\"]\n[host.here]\nkind = \"local\"\n";
    let fault = |texts: &[(&str, &str)]| {
        let (_folder, path) = files(texts);
        let error = match Lab::open(&path) {
            Ok(document) => Lab::read(&document).unwrap_err(),
            Err(LabFileError::Document(error)) => error,
            Err(error) => panic!("{error}"),
        };
        let mut shown = String::new();
        miette::GraphicalReportHandler::new_themed(miette::GraphicalTheme::unicode_nocolor())
            .with_width(200)
            .render_report(&mut shown, &error)
            .unwrap();
        shown
    };
    for (texts, says) in [
        (
            &[
                ("lab.toml", main),
                ("b.toml", "[host.x]\nkind = \"sssh\"\n"),
            ][..],
            "b.toml:2:8",
        ),
        (
            &[("lab.toml", main), ("b.toml", "[host.x]\nkind = \n")],
            "b.toml:2",
        ),
        (
            &[
                ("lab.toml", main),
                ("b.toml", "[host.here]\nkind = \"local\"\n"),
            ],
            "b.toml:1:7",
        ),
        (
            &[
                ("lab.toml", main),
                ("b.toml", "[testbed.t]\nclient = \"hre\"\n"),
            ],
            "did you mean `here`?",
        ),
        (
            &[("lab.toml", main), ("b.toml", "include = [\"lab.toml\"]\n")],
            "includes itself",
        ),
        (
            &[
                ("lab.toml", main),
                ("b.toml", "include = [\"c.toml\", \"c.toml\"]\n"),
                ("c.toml", ""),
            ],
            "c.toml is included twice",
        ),
        (&[("lab.toml", main)], "lab.toml:1:12"),
        (
            &[("lab.toml", "include = [\"no*.toml\"]\n")],
            "no file is called `no*.toml`",
        ),
        (
            &[("lab.toml", "include = \"b.toml\"\n")],
            "no list of files",
        ),
    ] {
        let shown = fault(texts);
        assert!(shown.contains(says), "{texts:?}: {shown}");
    }
}

#[test]
fn a_lab_without_a_folder_includes_nothing() {
    assert!(fault("include = [\"b.toml\"]").0.contains("can't include"));
}

#[test]
fn a_text_that_grows_is_refused() {
    let vars = format!("[vars]\nv = \"{}\"\n", "x".repeat(60_000));
    let text = format!("{vars}[host.h]\nkind = \"ssh\"\nlogin = \"{{v}}{{v}}\"\n");
    assert!(fault(&text).0.contains("longer than"));
    let text = format!(
        "[defaults]\nlogin = \"{}\"\nkind = \"ssh\"\n[group.g]\nhosts = \"n[1-300]\"\n",
        "x".repeat(60_000)
    );
    assert!(fault(&text).0.contains("MiB"));
}

#[test]
fn the_schema_has_what_files_may_say() {
    let schema = file_schema();
    for path in [
        "/properties/include",
        "/properties/vars",
        "/properties/defaults",
        "/$defs/Group/properties/login",
        "/$defs/Host/properties/vars",
    ] {
        assert!(schema.pointer(path).is_some(), "{path}: {schema:#}");
    }
    assert!(schema.pointer("/$defs/Host/required").is_none());
}

proptest! {
    #[test]
    fn quoted_texts_are_read_as_they_are(text in any::<String>()) {
        let document = TomlDocument::new("x", format!("a = {}\n", toml_quoted(&text)));
        let read: BTreeMap<String, String> = document.read().unwrap();
        prop_assert_eq!(&read["a"], &text);
    }
}
