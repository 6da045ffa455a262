//! Labs of namespaces: made, shown, removed; measured in with real programs.

use backsight_test_needs::Need;
use std::process::Command;

use crate::place::Place;

/// Three hosts in a row; the middle one forwards.
fn row(place: &Place) {
    place.write(
        "lab.toml",
        format!(
            "name = \"{}\"\n\
             [host.left]\nkind = \"netns\"\nroutes = [\"10.77.2.0/24 via 10.77.1.2\"]\n\
             [host.middle]\nkind = \"netns\"\nforward = true\n\
             [host.right]\nkind = \"netns\"\nroutes = [\"10.77.1.0/24 via 10.77.2.1\"]\nsysctl = {{ \"net.ipv4.tcp_rmem\" = \"4096 65536 262144\" }}\n\
             [[link]]\nends = {{ left = \"10.77.1.1/24\", middle = \"10.77.1.2/24\" }}\nmtu = 1400\n\
             [[link]]\nends = {{ middle = \"10.77.2.1/24\", right = \"10.77.2.2/24\" }}\n\
             [[link]]\nname = \"direct\"\nends = {{ left = \"fd77::1/64\", right = \"fd77::2/64\" }}\n\
             [testbed.row]\nclient = \"left\"\ndut = \"middle\"\nserver = {{ host = \"right\", data = \"10.77.2.2\" }}\n",
            place.name
        ),
    );
}

fn ip(arguments: &[&str]) -> String {
    let output = Command::new("ip").args(arguments).output().unwrap();
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// What the machine itself has, apart from namespaces: interfaces, routes, rules.
fn machine() -> String {
    [
        &["-o", "link"][..],
        &["route", "show", "table", "all"],
        &["rule"],
    ]
    .iter()
    .map(|arguments| ip(arguments))
    .collect()
}

#[test]
fn a_lab_goes_up_and_down_twice_and_leaves_the_machine_as_it_was() {
    if Need::Root.is_missing() {
        return;
    }
    let place = Place::new();
    row(&place);
    let before = machine();
    place
        .ends(&["lab", "up"])
        .assert_says(&["3 of 3 hosts made"]);
    let inside = |host: &str, arguments: &[&str]| {
        let space = format!("backsight:{}:{host}", place.name);
        let mut all = vec!["-n", space.as_str()];
        all.extend(arguments);
        ip(&all)
    };
    assert!(inside("left", &["link", "show", "to-middle"]).contains("mtu 1400"));
    assert!(inside("left", &["route"]).contains("10.77.2.0/24 via 10.77.1.2"));
    let space = format!("backsight:{}:right", place.name);
    assert!(
        ip(&[
            "netns",
            "exec",
            &space,
            "cat",
            "/proc/sys/net/ipv4/tcp_rmem"
        ])
        .contains("65536")
    );
    // The kernel says for a while that it isn't sure that nobody else has an address.
    let addresses = || inside("left", &["-o", "address"]).replace(" tentative", "");
    let before_again = addresses();
    let again = place.ends(&["lab", "up"]);
    again.assert_code(0);
    again.assert_says(&["up already"]);
    assert_eq!(addresses(), before_again);
    let shown = place.prints_of(&["lab", "show"]);
    assert!(
        shown.contains("10.77.1.1/24") && shown.contains("fd77::2/64") && !shown.contains("down"),
        "{shown}"
    );

    place
        .ends(&["lab", "down"])
        .assert_says(&["down, 3 hosts removed"]);
    let again = place.ends(&["lab", "down"]);
    again.assert_code(0);
    again.assert_says(&["down already"]);
    assert!(place.prints_of(&["lab", "show"]).contains("down"));
    assert_eq!(place.namespaces(), Vec::<String>::new());
    assert_eq!(machine(), before);
}

#[test]
fn a_half_made_lab_is_completed() {
    if Need::Root.is_missing() {
        return;
    }
    let place = Place::new();
    row(&place);
    place.ends(&["lab", "up"]).assert_code(0);
    ip(&["netns", "del", &format!("backsight:{}:middle", place.name)]);
    place
        .ends(&["lab", "up"])
        .assert_says(&["1 of 3 hosts made"]);
    let space = format!("backsight:{}:left", place.name);
    ip(&[
        "netns",
        "exec",
        &space,
        "ping",
        "-c",
        "1",
        "-W",
        "5",
        "10.77.2.2",
    ]);
    place.ends(&["lab", "down"]).assert_code(0);
}

#[test]
fn a_lab_that_two_make_at_once_is_made_once() {
    if Need::Root.is_missing() {
        return;
    }
    let place = Place::new();
    row(&place);
    for (verb, both_say) in [
        ("up", ["3 of 3 hosts made", "up already"]),
        ("down", ["3 hosts removed", "down already"]),
    ] {
        let start = || crate::running::Running::start(place.command(&["lab", verb]));
        let two = [start(), start()].map(|running| running.ends());
        let words: String = two.iter().map(|ended| ended.words()).collect();
        assert!(two.iter().all(|ended| ended.status.success()), "{words}");
        assert!(both_say.iter().all(|part| words.contains(part)), "{words}");
    }
    assert_eq!(place.namespaces(), Vec::<String>::new());
}

#[test]
fn processes_in_a_lab_end_with_it() {
    if Need::Root.is_missing() {
        return;
    }
    let place = Place::new();
    row(&place);
    place.ends(&["lab", "up"]).assert_code(0);
    let space = format!("backsight:{}:left", place.name);
    let arguments = [
        "netns",
        "exec",
        &space,
        "sh",
        "-c",
        "trap '' TERM; while :; do sleep 1; done",
    ];
    let stray = crate::running::Running::start(place.put(Command::new("ip"), &arguments));
    crate::processes::until("the stray is in the namespace", || {
        !ip(&["netns", "pids", &space]).trim().is_empty()
    });
    place.ends(&["lab", "down"]).assert_code(0);
    assert!(!stray.ends().status.success());
    place.assert_nothing_left();
}

#[test]
fn a_lab_that_the_kernel_refuses_says_why_and_can_be_taken_down() {
    if Need::Root.is_missing() {
        return;
    }
    let place = Place::new();
    for (lab, says) in [
        ("routes = [\"not a route\"]\n", "not a route"),
        ("sysctl = { \"net.no.such\" = \"1\" }\n", "net.no.such"),
        (
            "sysctl = { \"../../../etc/passwd\" = \"1\" }\n",
            "no such setting",
        ),
    ] {
        place.write(
            "lab.toml",
            format!(
                "name = \"{}\"\n[host.one]\nkind = \"netns\"\n{lab}",
                place.name
            ),
        );
        let ended = place.ends(&["lab", "up"]);
        ended.assert_code(2);
        ended.assert_says(&[says]);
        place.ends(&["lab", "down"]).assert_code(0);
        assert_eq!(place.namespaces(), Vec::<String>::new());
    }
}

#[test]
fn a_lab_of_local_hosts_has_nothing_to_make() {
    let place = Place::new();
    place
        .ends(&["lab", "up"])
        .assert_says(&["no namespaces to make"]);
    place.ends(&["lab", "down"]).assert_says(&["down already"]);
}

#[test]
fn who_is_not_root_is_told_what_to_do() {
    if Need::Root.is_missing() {
        return;
    }
    let place = Place::new();
    row(&place);
    // Another user must reach the program and the place.
    let folder = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(place.path(""), folder).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_backsight"), place.path("backsight")).unwrap();
    let program = place.at("backsight");
    let as_nobody = [
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        &program,
        "lab",
        "up",
    ];
    let ended =
        crate::running::Running::start(place.put(Command::new("setpriv"), &as_nobody)).ends();
    ended.assert_code(2);
    ended.assert_says(&["needs root", "sudo"]);
}

#[test]
fn the_plan_that_init_writes_for_namespaces_runs_there() {
    if Need::Root.is_missing() {
        return;
    }
    let place = Place::new();
    // The folder's name becomes the lab's.
    let folder = place.path(&place.name);
    let inside = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        command.current_dir(&folder);
        let ended = crate::running::Running::start(command).ends();
        ended.assert_code(0);
        ended
    };
    place
        .ends(&["init", &place.name, "--lab", "wire"])
        .assert_says(&["backsight lab up", "backsight run plan.toml"]);
    inside(&["lab", "up"]);
    assert_eq!(place.namespaces().len(), 3);
    inside(&["doctor", "plan.toml", "--no-self-test"]);
    // The plan's own variants, its quickest benchmarks, and less of them.
    let plan = std::fs::read_to_string(folder.join("plan.toml")).unwrap();
    assert!(plan.contains("[[variant]]"));
    let quick = plan
        .replace("count = 100", "count = 10")
        .replace("seconds = 2", "seconds = 1")
        .replace("streams = [1, 10]", "streams = 1");
    std::fs::write(folder.join("plan.toml"), quick).unwrap();
    inside(&[
        "run",
        "plan.toml",
        "--use",
        "ping-rtt",
        "--rounds",
        "2",
        "--name",
        "base",
    ]);
    place.assert_complete("base", 3, 2);
    inside(&["compare", "base", "--by", "variant"])
        .assert_says(&["direct", "forward", "filter", "rtt"]);
    inside(&["lab", "down"]);
    assert_eq!(place.namespaces(), Vec::<String>::new());
    place.assert_nothing_left();
}

#[test]
fn tcp_through_a_device_is_measured_with_and_without_it() {
    if Need::Root.is_missing() {
        return;
    }
    let place = Place::new();
    row(&place);
    place.plan(
        "testbed = \"row\"\nrounds = 1\nuse = [\"iperf3-tcp\"]\n[params]\nseconds = 1\n\
         [[variant]]\nname = \"direct\"\nclient.data = \"direct\"\nserver.data = \"direct\"\n\
         [[variant]]\nname = \"forward\"\n",
    );
    place.ends(&["lab", "up"]).assert_code(0);
    place
        .ends(&["run", "plan.toml", "--name", "s"])
        .assert_code(0);
    place.assert_complete("s", 2, 1);
    let pages: String = [1, 2]
        .iter()
        .map(|trial| place.prints_of(&["show", "s", "--trial", &trial.to_string()]))
        .collect();
    assert!(
        pages.contains("--client fd77::2") && pages.contains("--client 10.77.2.2"),
        "{pages}"
    );
    place.ends(&["lab", "down"]).assert_code(0);
    place.assert_nothing_left();
}

#[test]
fn a_real_server_that_is_killed_in_the_middle_fails_its_trial() {
    if Need::Root.is_missing() {
        return;
    }
    let place = Place::new();
    row(&place);
    place.plan("testbed = \"row\"\nrounds = 2\nuse = [\"iperf3-tcp\"]\n[params]\nseconds = 2\n");
    place.ends(&["lab", "up"]).assert_code(0);
    let mut run = place.begins(&["run", "plan.toml", "--name", "s"]);
    run.until_step_in("run");
    let is_server = |p: &crate::processes::Process| p.command.starts_with("iperf3 --server");
    let server = crate::processes::below(run.pid.as_raw())
        .into_iter()
        .find(is_server)
        .unwrap();
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(server.pid),
        nix::sys::signal::Signal::SIGKILL,
    )
    .unwrap();
    run.until_trial_finished();
    run.ends().assert_code(1);
    let trials = place.trials("s");
    assert_eq!(trials.len(), 2, "{trials:#?}");
    assert!(
        trials[0].outcome.contains("of server") && trials[0].outcome.contains("killed"),
        "{trials:#?}"
    );
    assert!(trials[1].measured(), "{trials:#?}");
    place.ends(&["lab", "down"]).assert_code(0);
    place.assert_nothing_left();
}

#[test]
fn a_lab_of_a_hundred_hosts_is_shown_by_names_groups_and_tags() {
    let place = Place::new();
    for file in ["lab.toml", "rack-b.toml"] {
        let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/rack");
        let text = std::fs::read_to_string(format!("{example}/{file}")).unwrap();
        place.write(file, text);
    }
    let shown = |arguments: &[&str]| {
        let text = place.prints_of(&[&["lab", "show", "--json"], arguments].concat());
        let view: serde_json::Value = serde_json::from_str(&text).unwrap();
        let hosts = view["hosts"].as_array().unwrap().clone();
        hosts
            .into_iter()
            .map(|host| host["host"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(shown(&[]).len(), 100);
    assert_eq!(
        shown(&["client[06-08]", "dut"]),
        ["client06", "client07", "client08", "dut"]
    );
    assert_eq!(shown(&["tag:spare", "--tag", "10g"]), ["client60"]);
    assert_eq!(
        shown(&["--group", "clients", "--tag", "slow"]),
        ["client07"]
    );
    let table = place.prints_of(&["lab", "show", "b1n01"]);
    assert!(table.contains("bench@b1n01.b.example.org"), "{table}");
    let ended = place.ends(&["lab", "show", "clinets"]);
    ended.assert_code(2);
    assert!(ended.words().contains("did you mean `clients`?"));
    // A fault of an included file is said there.
    let text = place
        .read("rack-b.toml")
        .replace("tags = [\"spare\"]", "tgas = [\"spare\"]");
    place.write("rack-b.toml", text);
    let ended = place.ends(&["lab", "show"]);
    ended.assert_says(&["rack-b.toml:16:1", "did you mean `tags`?"]);
}

#[test]
fn a_study_keeps_its_lab_without_the_files_and_variables() {
    let place = crate::exit_statuses::quick();
    place.write(
        "lab.toml",
        "include = [\"more.toml\"]\n[testbed.one]\ntester = \"h2\"\n",
    );
    place.write(
        "more.toml",
        "[vars]\npassword = \"hunter2\"\n[group.both]\nhosts = \"h[1-2]\"\nkind = \"local\"\ntags = [\"x\"]\n",
    );
    let stopped = place.ends(&["run", "plan.toml", "--rounds", "3", "--name", "kept"]);
    stopped.assert_code(0);
    for file in ["lab.toml", "more.toml"] {
        std::fs::remove_file(place.path(file)).unwrap();
    }
    // It is asked again from what the store has.
    place.ends(&["resume", "kept"]).assert_code(0);
    place.prints_of(&["report", "kept", "-o", "page.html"]);
    assert!(place.read("page.html").contains("every host in full"));
    let page = Command::new("grep")
        .args(["-rlE", "hunter2", "."])
        .current_dir(place.path(""))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&page.stdout), "");
}

#[test]
fn an_inventory_of_ansible_becomes_a_lab_and_never_overwrites_one() {
    let place = Place::new();
    place.write(
        "hosts.ini",
        "[web]\nw[01:20] ansible_user=root\nwin ansible_connection=winrm\n",
    );
    let import = [
        "lab",
        "import",
        "ansible",
        "hosts.ini",
        "--out",
        "rack.toml",
    ];
    let ended = place.ends(&import);
    ended.assert_code(0);
    assert!(ended.words().contains("win is left out"));
    let table = place.prints_of(&["lab", "show", "--lab", "rack.toml", "web"]);
    assert!(table.contains("root@w20"), "{table}");
    let ended = place.ends(&import);
    ended.assert_code(2);
    assert!(ended.words().contains("can't write rack.toml"));
    assert!(place.prints_of(&import[..4]).contains("w[01-20]"));
}

#[test]
fn a_lab_without_hosts_is_not_said_to_be_in_order() {
    let place = Place::new();
    place.write("lab.toml", "name = \"empty\"\n");
    for asked in [&["lab", "check"][..], &["lab", "power", "status"]] {
        let ended = place.ends(asked);
        ended.assert_code(2);
        ended.assert_says(&["the lab has no host"]);
    }
}
