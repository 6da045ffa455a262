//! Spawned programs that don't do what a server does.

use crate::place::{Place, VALUE};

/// A definition with this server and this client, both of which may use `@`.
fn served(place: &Place, server: &str, client: &str) {
    let folder = place.at("");
    let folder = folder.trim_end_matches('/');
    let text = format!(
        "name = \"served\"\nabout = \"a test's own\"\nroles = [\"server\", \"tester\"]\n\
         [server]\nstartup.spawn = {server}\n[tester]\nrun = {client}\n{VALUE}"
    );
    place.write("benchmarks/served.toml", text.replace('@', folder));
    place.plan("use = [\"served\"]\nrounds = 1\n");
}

#[test]
fn a_server_that_never_becomes_ready_fails_its_trial_before_the_client_runs() {
    let place = Place::of_roles(&["server", "tester"]);
    let server =
        "{ run = \"echo not yet; exec sleep 3600\", ready = { listens = 1, within = \"300ms\" } }";
    served(&place, server, "\"echo 42\"");
    let ended = place.ends(&["run", "plan.toml", "--name", "s", "--json"]);
    ended.assert_code(1);
    let events = ended.events();
    assert!(
        !events
            .iter()
            .any(|e| e["event"] == "step-started" && e["phase"] == "run"),
        "{events:#?}"
    );
    let outcome = &place.trials("s")[0].outcome;
    assert!(
        outcome.contains("startup of server")
            && outcome.contains("listen on TCP port 1, and didn't in time"),
        "{outcome}"
    );
    assert!(
        place.raw("s", 1).contains("not yet"),
        "what it printed is kept"
    );
    place.assert_nothing_left();
}

#[test]
fn a_server_that_ends_before_it_is_ready_fails_its_trial_with_its_own_words() {
    let place = Place::of_roles(&["server", "tester"]);
    let server = "{ run = \"echo address in use >&2; exit 98\", ready = { line = \"^up$\" } }";
    served(&place, server, "\"echo 42\"");
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(1);
    ended.assert_says(&["startup of server", "address in use"]);
    place.assert_nothing_left();
}

#[test]
fn a_server_is_ready_when_its_line_appears_and_is_stopped_at_the_end() {
    let place = Place::of_roles(&["server", "tester"]);
    place.script("server", "#!/bin/sh\ntrap 'echo stopped in order; exit 0' TERM\necho up\nwhile :; do sleep 0.01; done\n");
    served(
        &place,
        "{ run = \"@/server\", ready = { line = \"^up$\" } }",
        "\"echo 42\"",
    );
    place
        .ends(&["run", "plan.toml", "--name", "s"])
        .assert_code(0);
    place.assert_complete("s", 1, 1);
    assert!(place.raw("s", 1).contains("stopped in order"));
    place.assert_nothing_left();
}

#[test]
fn a_server_that_dies_in_the_middle_fails_its_trial_whatever_the_client_says() {
    let place = Place::of_roles(&["server", "tester"]);
    place.script(
        "server",
        "#!/bin/sh\necho up\nuntil [ -e \"$1/enough\" ]; do sleep 0.01; done\necho no more memory >&2\nexit 7\n",
    );
    let client = "\": > @/enough; while [ -d /proc/$(cat @/pid) ]; do sleep 0.01; done; echo 42\"";
    let server = "{ run = \"echo $$ > @/pid; exec @/server @\", ready = { line = \"^up$\" } }";
    served(&place, server, client);
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(1);
    ended.assert_says(&["of server", "code 7", "no more memory"]);
    assert!(place.raw("s", 1).contains("no more memory"));
    place.assert_nothing_left();
}

#[test]
fn a_client_is_not_left_waiting_for_a_server_that_has_died() {
    let place = Place::of_roles(&["server", "tester"]);
    let server = "{ run = \"echo up; until [ -e @/enough ]; do sleep 0.01; done; exit 7\", ready = { line = \"^up$\" } }";
    served(&place, server, "\": > @/enough; exec sleep 3600\"");
    let ended = place.ends(&["run", "plan.toml", "--name", "s"]);
    ended.assert_code(1);
    ended.assert_says(&["of server", "code 7"]);
    place.assert_nothing_left();
}

#[test]
fn a_server_that_ignores_its_stop_signal_is_killed() {
    let place = Place::of_roles(&["server", "tester"]);
    let server = "{ run = \"trap '' TERM; echo up; while :; do sleep 1; done\", ready = { line = \"^up$\" } }";
    served(&place, server, "\"echo 42\"");
    place
        .ends(&["run", "plan.toml", "--name", "s"])
        .assert_code(0);
    place.assert_complete("s", 1, 1);
    place.assert_nothing_left();
}

#[test]
fn a_server_that_becomes_a_daemon_is_gone_after_its_trial() {
    let place = Place::of_roles(&["server", "tester"]);
    place.script("daemon", "#!/bin/sh\nwhile :; do sleep 1; done\n");
    let server =
        "{ run = \"setsid @/daemon > /dev/null 2>&1 & : > @/up\", ready = { file = \"@/up\" } }";
    served(&place, server, "\"echo 42\"");
    place
        .ends(&["run", "plan.toml", "--name", "s"])
        .assert_code(0);
    place.assert_complete("s", 1, 1);
    place.assert_nothing_left();
}
