//! Power and consoles of machines: a real `ipmitool` at a BMC that OpenIPMI's `ipmi_sim` plays, and consoles on a terminal and in a
//! pipe.

use backsight_test_needs::Need;
use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{Ipv4Addr, UdpSocket},
    os::unix::fs::PermissionsExt as _,
    process::{Child, Command, Stdio},
};

use crate::{place::Place, processes, verdicts::assert_has_schema};

/// What the BMC switches: it is on while there is a file. One that lies obeys and does nothing.
const CHASSIS: &str = r#"#!/bin/sh
case "$2 $3 $4" in
    "get power ") if [ -e @on ]; then echo power:1; else echo power:0; fi ;;
    "set power 1") echo on >> @switched; [ -e @lies ] || : > @on ;;
    "set power 0") echo off >> @switched; [ -e @lies ] || rm -f @on ;;
esac
"#;
const BMC: &str = r#"
name "dut"
set_working_mc 0x20
startlan 1
  addr 127.0.0.1 PORT
  priv_limit admin
  allowed_auths_admin none md2 md5 straight
  guid a123456789abcdefa123456789abcdef
endlan
chassis_control "@chassis 0x20"
user 2 true "admin" "secret-of-the-bmc" admin 10 none md2 md5 straight
"#;
const EMULATION: &str = "mc_setbmc 0x20\nmc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr\nmc_enable 0x20\n";
const HOST: &str = r#"
[host.NAME]
kind = "ssh"
power = { ipmi = "127.0.0.1", port = PORT, user = "admin", password-file = "@PASSWORD", cipher-suite = 3, timeout = "4s" }
"#;

/// A BMC that runs until this is dropped.
struct Bmc {
    place: Place,
    simulator: Child,
    port: u16,
}

impl Bmc {
    fn new() -> Self {
        let place = Place::new();
        let free = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let here = place.at("");
        let filled = |text: &str| text.replace('@', &here).replace("PORT", &port.to_string());
        place.write("chassis", filled(CHASSIS));
        fs::set_permissions(place.path("chassis"), fs::Permissions::from_mode(0o755)).unwrap();
        place.write("bmc.conf", filled(BMC));
        place.write("bmc.emu", EMULATION);
        place.write("switched", "");
        fs::create_dir(place.path("bmc.state")).unwrap();
        for (file, password) in [("right", "secret-of-the-bmc\n"), ("wrong", "another\n")] {
            place.write(file, password);
            fs::set_permissions(place.path(file), fs::Permissions::from_mode(0o600)).unwrap();
        }
        let arguments = [
            "-n",
            "-c",
            &place.at("bmc.conf"),
            "-f",
            &place.at("bmc.emu"),
            "-s",
            &place.at("bmc.state"),
        ];
        let mut command = place.put(Command::new("ipmi_sim"), &arguments);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let simulator = command.spawn().unwrap();
        let bmc = Self {
            place,
            simulator,
            port,
        };
        bmc.lab(&[("dut", "right", port)]);
        processes::until("the BMC answers", || {
            bmc.power(&["status"]).stdout() == "dut: off\n"
        });
        bmc
    }

    /// A lab of hosts: each with a name, the file of its password, and its BMC's port.
    fn lab(&self, hosts: &[(&str, &str, u16)]) {
        let filled = |(name, password, port): &(&str, &str, u16)| {
            let text = HOST.replace("NAME", name).replace("PASSWORD", password);
            text.replace("PORT", &port.to_string())
                .replace('@', &self.place.at(""))
        };
        self.place
            .write("lab.toml", hosts.iter().map(filled).collect::<String>());
    }

    fn power(&self, arguments: &[&str]) -> crate::running::Ended {
        self.place.ends(&[&["lab", "power"], arguments].concat())
    }
}

impl Drop for Bmc {
    fn drop(&mut self) {
        let _ended_already = self.simulator.kill();
        let _ = self.simulator.wait();
    }
}

#[test]
fn a_bmc_switches_a_machine_on_off_and_over_and_each_is_true_by_its_status() {
    if Need::Ipmi.is_missing() {
        return;
    }
    let bmc = Bmc::new();
    for (action, says, on) in [
        ("on", "dut: on (was off), after ", true),
        ("on", "dut: on already", true),
        ("cycle", "dut: off, then on, after ", true),
        ("status", "dut: on\n", true),
        ("off", "dut: off (was on), after ", false),
        ("cycle", "dut: on (was off), after ", true),
        ("off", "dut: off (was on), after ", false),
    ] {
        let ended = bmc.power(&[action, "dut"]);
        ended.assert_code(0);
        assert!(
            ended.stdout().starts_with(says),
            "{action}: {}",
            ended.stdout()
        );
        assert_eq!(bmc.place.path("on").exists(), on, "{action}");
    }
    let switched = bmc.place.read("switched");
    assert_eq!(
        switched.split_whitespace().collect::<Vec<_>>(),
        ["on", "off", "on", "off", "on", "off"]
    );
}

#[test]
fn a_bmc_that_refuses_is_not_there_or_lies_is_said_of_its_host_and_keeps_no_other_waiting() {
    if Need::Ipmi.is_missing() {
        return;
    }
    let bmc = Bmc::new();
    // Nobody speaks IPMI where somebody else listens.
    let deaf = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let nobody = deaf.local_addr().unwrap().port();
    bmc.lab(&[
        ("dut", "right", bmc.port),
        ("locked", "wrong", bmc.port),
        ("gone", "right", nobody),
        ("open", "chassis", bmc.port),
    ]);
    let ended = bmc.power(&["on", "dut", "locked", "gone", "open"]);
    ended.assert_code(1);
    assert!(
        ended.stdout().starts_with("dut: on (was off)"),
        "{}",
        ended.stdout()
    );
    ended.assert_says(&[
        "host `locked`, power on: ",
        "the BMC is there and refuses user `admin` with the password in",
        "host `gone`, power on: ",
        "host `open`, power on: the password's file",
        "chmod 600 it",
    ]);
    bmc.place.write("lies", "");
    bmc.lab(&[("dut", "right", bmc.port)]);
    let ended = bmc.power(&["off", "dut"]);
    ended.assert_code(1);
    ended.assert_says(&[
        "Chassis Power Control: Down/Off",
        "4s later the status is still on",
        "look at the machine itself",
    ]);
    for said in [ended.stdout(), ended.stderr.clone()] {
        assert!(!said.contains("secret"), "{said}");
    }
    let unknown = bmc.power(&["off", "dud"]);
    unknown.assert_code(2);
    unknown.assert_says(&["host `dud` is not in this lab"]);
    let all = bmc.power(&["off"]);
    all.assert_code(2);
    all.assert_says(&["switches the hosts that it names", "tag:10g"]);
}

/// A place whose host has this console; `@` in it is the place's folder.
fn console(command: &str) -> Place {
    let place = Place::new();
    let command = command.replace('@', &place.at(""));
    place.write(
        "lab.toml",
        format!("[host.dut]\nkind = \"ssh\"\nconsole = '''{command}'''\n"),
    );
    place
}

#[test]
fn a_console_is_shown_for_a_while_in_a_pipe_and_its_command_is_gone_then() {
    let place = console("trap '' HUP TERM; test -t 1 && printf 'up\\n\\377'; sleep 600; : @mark");
    let ended = place.ends(&["lab", "console", "dut", "--for", "1s"]);
    ended.assert_code(0);
    assert_eq!(ended.bytes, b"up\n\xff");
    place.assert_nothing_left();
    let broken = console("echo no such console; exit 3");
    let ended = broken.ends(&["lab", "console", "dut"]);
    ended.assert_code(2);
    ended.assert_says(&[
        "its console's command `echo no such console; exit 3` ended by itself with exit status: 3",
    ]);
    ended.assert_says(&["Ctrl-C leaves it"]);
    assert_eq!(ended.stdout(), "no such console\n");
}

#[test]
fn a_console_on_a_terminal_reads_what_is_typed_until_its_key_leaves_it() {
    let place = console("read line; echo it read $line; sleep 600; : @mark");
    let program = env!("CARGO_BIN_EXE_backsight");
    let line = format!(
        "stty -a > before; '{program}' lab console dut; echo left with $?; stty -a > after"
    );
    let mut command = place.put(Command::new("script"), &["-qec", &line, "/dev/null"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut terminal = command.spawn().unwrap();
    let mut typed = terminal.stdin.take().unwrap();
    typed.write_all(b"hello\n").unwrap();
    // What the console wrote may not have come this far when it goes on.
    let mut output = BufReader::new(terminal.stdout.take().unwrap());
    let mut text = String::new();
    while !text.contains("it read hello") {
        assert_ne!(output.read_line(&mut text).unwrap(), 0, "{text}");
    }
    typed.write_all(b"\x1d").unwrap();
    output.read_to_string(&mut text).unwrap();
    terminal.wait().unwrap();
    for words in ["Ctrl-] leaves it", "it read hello", "left with 0"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert_eq!(place.read("before"), place.read("after"));
    place.assert_nothing_left();
}

#[test]
fn a_check_of_a_lab_says_of_every_host_whether_it_is_on_and_its_console_heard() {
    let place = Place::new();
    let far = |name: &str, status: &str, console: &str| {
        format!(
            "[host.{name}]\nkind = \"ssh\"\nlogin = \"root@127.0.0.1\"\noptions = [\"-p\", \"1\"]\npower = {{ on = \"true\", off = \"true\", status = \"{status}\" }}\nconsole = \"{console}\"\n"
        )
    };
    let here = place.read("lab.toml");
    place.write(
        "lab.toml",
        here + &far("one", "echo on", "sleep 600") + &far("two", "echo off", "echo gone; exit 1"),
    );
    let ended = place.ends(&["lab", "check"]);
    ended.assert_code(1);
    let text = ended.stdout();
    for words in [
        "host one: its power is on",
        "host one: its console is heard",
        "off      host two: its power is off: backsight lab power on two",
        "console  host two: its console's command `echo gone; exit 1` ended by itself with exit status: 1 (it said: gone)",
        "failed   host `one` can't be reached",
        &format!("ok       host {}", place.name),
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let ended = place.ends(&["lab", "check", "--json", "two", &place.name]);
    ended.assert_code(1);
    let json: serde_json::Value = serde_json::from_str(&ended.stdout()).unwrap();
    assert_has_schema("lab-check", &json);
    assert_eq!(json["faults"], 3);
    let hosts = json["hosts"].as_array().unwrap();
    assert_eq!(hosts.len(), 1);
    assert_eq!(hosts[0]["host"], place.name.as_str());
    assert!(hosts[0]["free"].as_u64().unwrap() > 0 && hosts[0]["clock_ahead"].is_f64());
    let findings = json["findings"].as_array().unwrap();
    let found = findings
        .iter()
        .map(|it| (it["host"].as_str(), it["kind"].as_str()));
    let of_two: Vec<_> = found.filter(|(host, _)| *host == Some("two")).collect();
    let kinds = ["failed", "off", "console"];
    assert_eq!(of_two, kinds.map(|kind| (Some("two"), Some(kind))));
    place.ends(&["lab", "check", &place.name]).assert_code(0);
    let ended = place.ends(&["lab", "check", "tag:10g"]);
    ended.assert_code(2);
    ended.assert_says(&["tag `10g`"]);
    place.assert_nothing_left();
}
