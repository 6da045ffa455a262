//! Output, values and names that mean harm are data: kept byte for byte, shown harmlessly.

use crate::place::{Place, VALUE, exists};

/// NUL, terminal escapes (colours, the title, the clipboard), carriage returns that overwrite, invalid UTF-8, HTML,
/// bidirectional controls.
const NASTY: &[u8] =
    b"42\n\0\x1b[31mred\x1b]0;title\x07\x1b]52;c;AAAA\x07\rover\xff\xfe\xc3(\n<script>alert(1)</script> \xe2\x80\xae&amp;\n";

fn nasty() -> Place {
    let place = Place::new();
    place.write("nasty", NASTY);
    place.benchmark(
        "nasty",
        &format!("[tester]\nrun = \"cat @/nasty\"\n{VALUE}")
            .replace("regex =", "about = \"a <b>value</b>\"\nregex ="),
    );
    place.prints(
        "failing",
        &format!("cat {0}; cat {0} >&2; exit 3", place.at("nasty")),
    );
    place.plan("use = [\"nasty\", \"failing\"]\nrounds = 1\n");
    place
}

fn has_controls(text: &str) -> bool {
    text.chars().any(|c| c.is_control() && c != '\n')
}

#[test]
fn nasty_output_is_kept_byte_for_byte() {
    let place = nasty();
    place
        .ends(&["run", "plan.toml", "--name", "s"])
        .assert_code(1);
    for trial in place.trials("s") {
        let shown = place.ends(&["show", "s", "--trial", &trial.number.to_string(), "--raw"]);
        shown.assert_code(0);
        let found = shown
            .bytes
            .windows(NASTY.len())
            .filter(|window| *window == NASTY)
            .count();
        let printed = if trial.cell == "failing" { 2 } else { 1 };
        assert_eq!(
            found,
            printed,
            "{:?}",
            String::from_utf8_lossy(&shown.bytes)
        );
    }
}

#[test]
fn nasty_output_does_nothing_to_a_terminal() {
    let place = nasty();
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(1);
    assert!(
        !has_controls(&ended.stderr) && !has_controls(&ended.stdout()),
        "{ended:?}"
    );
    for arguments in [
        &["show", "s"][..],
        &["show", "s", "--trial", "1"],
        &["show", "s", "--trial", "2"],
        &["show", "s", "--documents"],
        &["show", "s", "--hosts"],
        &["studies"],
        &["studies", "--json"],
        &["compare", "s", "s"],
        &["compare", "s", "s", "--format", "json"],
    ] {
        let text = place.ends(arguments).stdout();
        assert!(!has_controls(&text), "{arguments:?}: {text:?}");
    }
    // `script` gives it a terminal, where even --raw must be harmless.
    let show = format!("{} show s --trial 1 --raw", env!("CARGO_BIN_EXE_backsight"));
    let on_terminal = place.put(
        std::process::Command::new("script"),
        &["-qec", &show, "/dev/null"],
    );
    let shown = crate::running::Running::start(on_terminal).ends();
    shown.assert_code(0);
    let text = String::from_utf8_lossy(&shown.bytes).replace("\r\n", "\n");
    assert!(text.contains("title") && !has_controls(&text), "{text:?}");
}

#[test]
fn nasty_output_does_nothing_to_a_page() {
    let place = nasty();
    place
        .ends(&["run", "plan.toml", "--name", "s"])
        .assert_code(1);
    place
        .ends(&["report", "s", "-o", "page.html"])
        .assert_code(0);
    for page in [
        place.read("page.html"),
        // Trials that failed are no pass.
        place
            .ends(&["compare", "s", "s", "--format", "html"])
            .stdout(),
    ] {
        assert!(
            !page.contains("alert(1)</script>"),
            "the output's script is a part of the page"
        );
        assert!(
            !page.contains("<b>value"),
            "the definition's markup is a part of the page"
        );
        assert!(!page.contains('\0') && !page.contains('\u{1b}'));
    }
    assert!(
        place.read("page.html").contains("&lt;script&gt;alert(1)"),
        "the page shows what was printed"
    );
}

#[test]
fn events_are_one_json_object_a_line_whatever_was_printed() {
    let place = nasty();
    let ended = place.ends(&["run", "plan.toml", "--name", "s", "--json"]);
    ended.assert_code(1);
    assert!(ended.events().len() > 8);
    assert!(
        ended
            .events()
            .iter()
            .all(|event| event["event"].is_string() && event["time"].is_string())
    );
}

#[test]
fn values_that_a_shell_would_act_on_reach_the_program_as_they_are() {
    let place = Place::new();
    place.benchmark(
        "value",
        &format!("[params]\ntext = {{ default = \"x\" }}\n[tester]\nrun = \"printf '%s\\n' {{text}}; echo 42\"\n{VALUE}pick = \"last\"\n"),
    );
    let nasty = r#"a b'; touch pwned; $(touch pwned) `touch pwned` | > pwned "q" \ * <b>&amp;"#;
    let folder = place.at("");
    let nasty = nasty.replace("pwned", &format!("{folder}pwned"));
    place.plan(&format!(
        "use = [\"value\"]\nrounds = 1\n[params]\ntext = '''{nasty}'''\n"
    ));
    place
        .ends(&["run", "plan.toml", "--name", "s"])
        .assert_code(0);
    assert!(!exists(&place.path("pwned")), "a value was executed");
    assert!(place.raw("s", 1).contains(&nasty), "{}", place.raw("s", 1));
    place
        .ends(&["report", "s", "-o", "page.html"])
        .assert_code(0);
    assert!(
        !place.read("page.html").contains("<b>&amp;amp;")
            && !place.read("page.html").contains(" <b>&amp; ")
    );
}

#[test]
fn a_folder_with_an_awkward_name_is_as_good_as_any() {
    let place = Place::new();
    place.logged("logged");
    let folder = place.path("it's \"mine\" $HOME ; \u{e9}\u{2028}");
    std::fs::create_dir(&folder).unwrap();
    for file in ["lab.toml", "benchmarks"] {
        std::fs::rename(place.path(file), folder.join(file)).unwrap();
    }
    std::fs::write(
        folder.join("plan.toml"),
        "use = [\"logged\"]\nrounds = 1\n[[variant]]\nname = \"v\"\ntester.setup = \"cat rules\"\n",
    )
    .unwrap();
    std::fs::write(folder.join("rules"), "drop everything\n").unwrap();
    let plan = folder.join("plan.toml");
    let mut command = place.command(&["run", plan.to_str().unwrap(), "--name", "s"]);
    command
        .env("BACKSIGHT_STORE", folder.join("store"))
        .env("TMPDIR", &folder);
    crate::running::Running::start(command)
        .ends()
        .assert_code(0);
    let mut show = place.command(&["show", "s", "--trial", "1", "--raw"]);
    show.env("BACKSIGHT_STORE", folder.join("store"));
    crate::running::Running::start(show)
        .ends()
        .assert_says(&["drop everything"]);
}

#[test]
fn an_output_of_one_endless_line_is_quoted_in_short() {
    let place = Place::new();
    place.prints("long", "head -c 5000000 /dev/zero | tr '\\0' y; exit 3");
    place.plan("use = [\"long\"]\nrounds = 1\n");
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(1);
    assert!(
        ended.stderr.len() < 2000 && ended.bytes.len() < 4000,
        "{} {}",
        ended.stderr.len(),
        ended.bytes.len()
    );
}

#[test]
fn a_step_that_writes_to_its_agents_standard_streams_disturbs_nobody() {
    // An agent speaks its protocol over its standard streams.
    let place = Place::new();
    place.prints(
        "loud",
        "for fd in /proc/$PPID/fd/1 /proc/$PPID/fd/0; do (echo garbage > $fd) 2> /dev/null; done; echo 42",
    );
    place.plan("use = [\"loud\"]\nrounds = 1\n");
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(0);
    place.assert_complete("s", 1, 1);
}
