//! What the documentation says is what the program does: every command in it is run, every file in it is
//! read, and the generated pages are what would be generated now.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use backsight_model::{
    Benchmark, BenchmarkLookupError, DocumentError, KeepRules, Lab, Located, Monitor, Plan,
    StoreSettings, Target, TomlDocument,
};
use backsight_notify::NotifyConfig;
use backsight_settings::{
    Placeholders, PreparationSource, SettingCatalog, SettingDefinition, resolve,
};
use backsight_test_needs::{Need, SlurmCluster};
use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

mod module_circles;

const BINARY: &str = env!("CARGO_BIN_EXE_backsight");

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// Fenced blocks of this language in a page, in order.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let text = std::fs::read_to_string(project().join(page)).unwrap();
    let fence = format!("```{language}\n");
    let found = text
        .split(&fence)
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or_default());
    found.map(str::to_owned).collect()
}

/// A room of the table of floors: its floor, its crate, and the sentence that says what it may use.
fn rooms() -> Vec<(u32, String, String)> {
    let text = std::fs::read_to_string(project().join("docs/architecture.md")).unwrap();
    let floors = text.split("\n## Floors\n").nth(1).unwrap();
    let rows = floors.lines().filter_map(|line| line.strip_prefix("| "));
    let rooms = rows.filter_map(|row| {
        let cells: Vec<&str> = row.trim_end_matches(" |").split(" | ").collect();
        let name = cells.get(1)?.split('`').nth(1)?;
        Some((
            cells[0].parse().ok()?,
            name.to_owned(),
            (*cells.last()?).to_owned(),
        ))
    });
    rooms.collect()
}

#[test]
fn crates_use_what_the_table_of_floors_says() {
    let rooms = rooms();
    let floor = |name: &str| rooms.iter().find(|room| room.1 == name).map(|room| room.0);
    let mut seen = 0;
    for entry in std::fs::read_dir(project().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let room = rooms.iter().find(|room| room.1 == name);
        let (own, _, may_use) =
            room.unwrap_or_else(|| panic!("`{name}` isn't in the table of floors"));
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let dependencies = manifest.split("[dependencies]").nth(1).unwrap_or_default();
        let dependencies = dependencies.split("\n[").next().unwrap_or_default();
        for line in dependencies.lines() {
            let Some(used) = line.strip_prefix("backsight-") else {
                continue;
            };
            let used = used.split(['.', ' ', '=']).next().unwrap();
            let words = may_use.split(|c: char| !c.is_alphanumeric() && c != '-');
            let is_named = may_use == "all" || words.clone().any(|word| word == used);
            assert!(
                is_named,
                "`{name}` uses `{used}`, which its row doesn't say: {may_use}"
            );
            assert!(
                floor(used).is_some_and(|floor| floor <= *own),
                "`{name}` on floor {own} uses `{used}` above it"
            );
            seen += 1;
        }
    }
    assert!(seen > 30, "{seen} edges");
    assert_eq!(
        rooms.len(),
        std::fs::read_dir(project().join("crates")).unwrap().count()
    );
}

/// Follows a page to the letter: its `console` blocks, in a folder of its own.
fn follow(page: &str) {
    follow_with(page, None);
}

/// The same with a variable of the environment.
fn follow_with(page: &str, variable: Option<(&str, PathBuf)>) {
    let commands: Vec<String> = blocks(page, "console")
        .iter()
        .flat_map(|block| block.lines())
        .filter_map(|line| line.strip_prefix("$ ").map(str::to_owned))
        .collect();
    assert!(!commands.is_empty(), "{page} has no commands");
    let makes_namespaces = commands.iter().any(|command| command.contains("lab up"));
    if makes_namespaces && Need::Root.is_missing() {
        return;
    }
    let samples = commands.iter().any(|command| command.contains("profile"));
    if samples && Need::Sampling.is_missing() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let bin = folder.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(BINARY, bin.join("backsight")).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    // That something is worse is an answer, and on a busy machine it may be true.
    let script = format!(
        "backsight() {{ command backsight \"$@\" && s=0 || s=$?; [ \"$1$s\" != compare1 ] || s=0; return $s; }}\n{}",
        commands.join("\n")
    );
    let output = Command::new("timeout")
        .args([
            "--signal=INT",
            "--kill-after=20",
            "280",
            "sh",
            "-ex",
            "-c",
            &script,
        ])
        .current_dir(folder.path())
        .env("PATH", path)
        .env("HOME", folder.path())
        .env_remove("XDG_DATA_HOME")
        .env_remove("BACKSIGHT_STORE")
        .envs(variable)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{page}: {}\n{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn the_tour_of_the_readme_works_to_the_letter() {
    follow("README.md");
}

#[test]
fn the_tutorial_works_to_the_letter() {
    follow("docs/tutorial.md");
}

#[test]
fn the_page_about_comparing_works_to_the_letter() {
    follow("docs/how-to/compare.md");
}

#[test]
fn the_page_about_explaining_can_be_followed() {
    follow("docs/how-to/explain-a-change.md");
}

#[test]
fn the_page_about_detecting_changes_works_to_the_letter() {
    follow("docs/how-to/detect-changes.md");
}

#[test]
fn the_page_about_files_of_numbers_works_to_the_letter() {
    follow("docs/how-to/compare-numbers.md");
}

#[test]
fn the_page_about_importing_and_exporting_works_to_the_letter() {
    follow("docs/how-to/import-and-export.md");
}

#[test]
fn the_page_about_results_of_tests_works_to_the_letter() {
    follow("docs/how-to/import-test-results.md");
}

#[test]
fn the_page_about_stepping_works_to_the_letter() {
    follow("docs/how-to/step-through-a-history.md");
}

#[test]
fn the_page_on_new_benchmarks_can_be_followed() {
    follow("docs/how-to/add-a-benchmark.md");
}

#[test]
fn the_page_on_standing_jobs_can_be_followed() {
    follow("docs/how-to/follow-a-tree.md");
}

#[test]
fn the_page_on_jobs_can_be_followed() {
    follow("docs/how-to/queue-jobs.md");
}

#[test]
fn the_page_about_access_works_to_the_letter() {
    follow("docs/how-to/give-access.md");
}

#[test]
fn the_page_on_slurm_can_be_followed() {
    if Need::Slurm.is_missing() {
        return;
    }
    let cluster = SlurmCluster::start(2);
    follow_with("docs/how-to/use-slurm.md", Some(cluster.environment()));
}

#[test]
fn the_page_about_triage_works_to_the_letter() {
    follow("docs/how-to/triage-changes.md");
}

#[test]
fn the_page_on_telling_people_works_to_the_letter_and_its_files_are_right() {
    let page = "docs/how-to/tell-people.md";
    follow(page);
    let folder = tempfile::tempdir().unwrap();
    let files = blocks(page, "toml");
    let (message, channels) = files.split_last().unwrap();
    std::fs::write(folder.path().join("mine.toml"), message).unwrap();
    for channel in channels {
        let document = TomlDocument::new(page, channel.as_str());
        NotifyConfig::read(&document, folder.path()).unwrap();
    }
}

#[test]
fn the_page_about_searching_works_to_the_letter() {
    follow("docs/how-to/find-the-highest-load.md");
}

#[test]
fn the_page_about_watching_works_to_the_letter() {
    follow("docs/how-to/watch-while-measuring.md");
}

#[test]
fn files_on_the_page_about_watching_are_right() {
    let page = "docs/how-to/watch-while-measuring.md";
    let files = blocks(page, "toml");
    let [plan, monitor, metric] = &files[..] else {
        panic!("{page} has {} files", files.len());
    };
    Plan::read(&TomlDocument::new(page, plan.as_str())).unwrap();
    let measures = format!("{monitor}{metric}");
    Monitor::read(&TomlDocument::new(page, measures)).unwrap();
}

#[test]
fn the_page_about_profiles_works_to_the_letter() {
    follow("docs/how-to/profile-a-benchmark.md");
}

#[test]
fn the_page_about_tracing_works_to_the_letter() {
    follow("docs/how-to/trace-system-calls.md");
}

#[test]
fn the_page_on_broken_tests_can_be_followed() {
    follow("docs/how-to/find-what-broke-a-test.md");
}

#[test]
fn the_page_about_bisecting_works_to_the_letter() {
    follow("docs/how-to/find-the-change.md");
}

#[test]
fn the_page_about_references_works_to_the_letter() {
    follow("docs/how-to/measure-a-reference.md");
}

#[test]
fn the_page_about_several_testbeds_works_to_the_letter() {
    follow("docs/how-to/measure-on-several-testbeds.md");
}

#[test]
fn checking_a_change_works_as_described() {
    follow("docs/how-to/check-a-change.md");
}

#[test]
fn the_page_about_trying_works_to_the_letter() {
    follow("docs/how-to/try-a-patch.md");
}

#[test]
fn the_page_about_records_works_to_the_letter() {
    follow("docs/how-to/record-a-machine.md");
}

#[test]
fn the_page_about_checking_machines_works_to_the_letter() {
    follow("docs/how-to/check-a-machine.md");
}

#[test]
fn the_page_about_noise_works_to_the_letter() {
    follow("docs/how-to/measure-noise.md");
}

#[test]
fn the_page_about_keeping_works_to_the_letter_and_its_rules_are_right() {
    let page = "docs/how-to/keep-a-store-small.md";
    follow(page);
    let rules = blocks(page, "toml").remove(0);
    KeepRules::read(&TomlDocument::new(page, rules)).unwrap();
}

#[test]
fn the_settings_on_the_page_about_buckets_are_right() {
    let page = "docs/how-to/raw-objects-in-a-bucket.md";
    let settings = blocks(page, "toml").remove(0);
    StoreSettings::read(&TomlDocument::new(page, settings)).unwrap();
}

#[test]
fn the_page_about_test_suites_works_to_the_letter() {
    follow("docs/how-to/run-test-suites.md");
}

#[test]
fn the_page_on_the_matrix_of_tests_works_to_the_letter() {
    follow("docs/how-to/read-the-test-matrix.md");
}

#[test]
fn files_in_the_documentation_are_right() {
    for page in [
        "docs/how-to/find-the-highest-load.md",
        "docs/how-to/add-a-benchmark.md",
        "docs/how-to/describe-a-lab.md",
        "docs/how-to/prepare-a-machine.md",
        "docs/how-to/measure-in-virtual-machines-and-containers.md",
    ] {
        for block in blocks(page, "toml") {
            let document = |text: &str| TomlDocument::new(page, text);
            if block.contains("[metric.") {
                Benchmark::read(&document(&block)).unwrap();
            } else if block.contains("[[files]]") {
                SettingDefinition::read(&document(&block)).unwrap();
            } else if block.contains("[host.") {
                Lab::read(&Lab::write_out(&document(&block)).unwrap()).unwrap();
            } else {
                let document = document(&format!("use = [\"iperf3-tcp\"]\n{block}"));
                let plan = Plan::read(&document).unwrap();
                let of_variants = plan.variant.iter().filter_map(|it| it.prepare.as_ref());
                for asked in plan.prepare.iter().chain(of_variants) {
                    let source = PreparationSource {
                        placeholders: Placeholders::Names(&|_| true),
                        ..PreparationSource::new(&document, asked)
                    };
                    resolve(&SettingCatalog::load(&[]).unwrap(), &[source]).unwrap();
                }
            }
        }
    }
}

#[test]
fn files_on_the_page_about_many_hosts_are_the_example_and_make_a_lab_of_a_hundred() {
    let page = "docs/how-to/describe-many-hosts.md";
    let folder = tempfile::tempdir().unwrap();
    for (text, name) in blocks(page, "toml").iter().zip(["lab.toml", "rack-b.toml"]) {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let lab = |path: &Path| Lab::read(&Lab::open(path).unwrap()).unwrap();
    let of_page = lab(&folder.path().join("lab.toml"));
    assert_eq!(of_page, lab(&project().join("examples/rack/lab.toml")));
    assert_eq!(of_page.host.len(), 100);
}

#[test]
fn files_on_the_page_about_stepping_are_right() {
    let page = "docs/how-to/step-through-a-history.md";
    let files = blocks(page, "toml");
    let [target, benchmark, plan, rebooted, quirk] = &files[..] else {
        panic!("{page} has {} files", files.len());
    };
    let document = |text: &str| TomlDocument::new(page, text);
    Target::read(&document(target)).unwrap();
    Target::read(&document(rebooted)).unwrap();
    Target::read(&document(&format!("{target}{quirk}"))).unwrap();
    Benchmark::read(&document(benchmark)).unwrap();
    Plan::read(&document(plan)).unwrap();
}

#[test]
fn the_examples_are_right() {
    let mut seen = 0;
    for example in std::fs::read_dir(project().join("examples")).unwrap() {
        let folder = example.unwrap().path();
        let files = std::fs::read_dir(&folder).unwrap();
        let files = files.map(|file| file.unwrap().path());
        for file in files.filter(|file| file.extension().is_some_and(|ending| ending == "toml")) {
            let document = TomlDocument::open(&file).unwrap();
            let begins = |key: &str| document.text.lines().any(|line| line.starts_with(key));
            // A role may be called so.
            let is_target = !begins("use") && !begins("[testbed.");
            if is_target && begins("source") {
                let target = Target::read(&document);
                let target = target.unwrap_or_else(|e| panic!("{file:?}: {e}"));
                let of_quirks = target.quirk.iter().flat_map(|quirk| &quirk.patch);
                for patch in target.patches.iter().chain(of_quirks) {
                    assert!(folder.join(&**patch).exists(), "{file:?}: {}", **patch);
                }
            } else if begins("[testbed.") || begins("[host.") || begins("[group.") {
                let document = Lab::open(&file).unwrap_or_else(|e| panic!("{file:?}: {e}"));
                Lab::read(&document).unwrap_or_else(|e| panic!("{file:?}: {e}"));
            } else {
                Plan::read(&document).unwrap_or_else(|e| panic!("{file:?}: {e}"));
            }
            seen += 1;
        }
        let definitions = ["benchmarks", "suites"].map(|kind| folder.join(kind));
        for benchmark in definitions
            .iter()
            .flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten())
        {
            let document = TomlDocument::open(&benchmark.unwrap().path()).unwrap();
            Benchmark::read(&document).unwrap_or_else(|e| panic!("{folder:?}: {e}"));
        }
    }
    assert!(seen >= 10, "{seen}");
}

#[test]
fn plans_with_definitions_of_their_own_fit_their_labs() {
    for (folder, testbeds, cells, without_sense) in [
        ("ipsec-matrix", &["gateways"][..], 11, 11),
        ("hypervisor-fairness", &["alone", "two", "four"], 1, 0),
    ] {
        let folder = project().join("examples").join(folder);
        let lab = Lab::read(&Lab::open(&folder.join("lab.toml")).unwrap()).unwrap();
        let document = TomlDocument::open(&folder.join("plan.toml")).unwrap();
        for testbed in testbeds {
            let mut plan = Plan::read(&document).unwrap();
            plan.testbed = Some(Located::nowhere(testbed.parse().unwrap()));
            let arrangement = plan.arrange(&document, &lab, |name| {
                let file = folder.join("benchmarks").join(format!("{name}.toml"));
                let benchmark = Benchmark::read(&TomlDocument::open(&file).unwrap());
                benchmark.map_err(BenchmarkLookupError::Faulty)
            });
            let arrangement =
                arrangement.unwrap_or_else(|e: DocumentError| panic!("{folder:?}: {e}"));
            let found = arrangement.cells(|_| None).unwrap();
            assert_eq!(found.len(), cells, "{folder:?}");
            let left_out = plan.cross_product(&found);
            let left_out = left_out.iter().filter_map(|it| it.left_out);
            assert!(left_out.clone().all(|rule| rule.why.is_some()));
            assert_eq!(left_out.count(), without_sense, "{folder:?}");
        }
    }
}

#[test]
fn targets_with_a_change_of_their_own_are_otherwise_those_without() {
    for (folder, changed) in [
        ("linux-icount", "fifty-more.toml"),
        ("linux-uml", "slower.toml"),
    ] {
        let folder = project().join("examples").join(folder);
        let read = |name: &str| {
            let document = TomlDocument::open(&folder.join(name)).unwrap();
            document
                .read::<serde_json::Map<String, serde_json::Value>>()
                .unwrap()
        };
        let mut more = read(changed);
        assert_eq!(more["quirk"].as_array().unwrap().len(), 1);
        let plain = read("target.toml");
        more.remove("quirk");
        assert_ne!(more["name"], plain["name"]);
        for own in ["name", "about"] {
            more[own] = plain[own].clone();
        }
        assert_eq!(more, plain);
    }
}

#[test]
fn the_story_of_tbench_has_its_patches_and_asks_what_verbs_take() {
    let folder = project().join("examples/tbench-history");
    let patches = std::fs::read_dir(folder.join("patches")).unwrap();
    let mut patches: Vec<PathBuf> = patches.map(|patch| patch.unwrap().path()).collect();
    patches.sort();
    for (number, patch) in patches.iter().enumerate() {
        let name = patch.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with(&format!("{:04}-", number + 1)), "{name}");
        // One C file, no header: a version is built in seconds after the one before it.
        let text = std::fs::read_to_string(patch).unwrap();
        let touched: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("+++ b/"))
            .collect();
        assert!(
            matches!(touched[..], [file] if file.ends_with(".c")),
            "{name}: {touched:?}"
        );
    }
    assert_eq!(patches.len(), 11);

    let commands = blocks("examples/tbench-history/README.md", "sh").concat();
    let mut seen = 0;
    for line in commands.lines() {
        let words = line.split_once("backsight ").map_or("", |(_, words)| words);
        let Some(verb) = words.split(' ').next().filter(|verb| !verb.is_empty()) else {
            continue;
        };
        let help = Command::new(BINARY)
            .args([verb, "--help"])
            .output()
            .unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        for option in words.split(' ').filter(|word| word.starts_with("--")) {
            assert!(help.contains(&format!("{option} ")), "{verb}: {option}");
        }
        for file in words.split(' ').filter(|word| word.ends_with(".toml")) {
            assert!(folder.join(file).exists(), "{file}");
        }
        seen += 1;
    }
    assert!(seen >= 10, "{seen} commands");
}

/// What `show` says of a trial on two hosts of the benchmark that is this one of the page's definitions.
fn trial_on_two_hosts(definition: usize) -> String {
    let folder = tempfile::tempdir().unwrap();
    let definition = &blocks("docs/how-to/add-a-benchmark.md", "toml")[definition];
    let name = definition.split('"').nth(1).unwrap();
    let write = |file: &str, text: &str| std::fs::write(folder.path().join(file), text).unwrap();
    write(&format!("{name}.toml"), definition);
    write(
        "lab.toml",
        "[host.doc-a]\nkind = \"local\"\n[host.doc-b]\nkind = \"local\"\n[testbed.t]\nclient = [\"doc-a\", \"doc-b\"]\n",
    );
    write("plan.toml", &format!("use = [\"{name}\"]\nrounds = 1\n"));
    let prints = |arguments: &str| {
        let output = Command::new(BINARY)
            .args(arguments.split(' '))
            .args(["--store", "store"])
            .env("BACKSIGHT_LEASES", folder.path().join("leases"))
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let complaints = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}{complaints}");
        said
    };
    prints("run plan.toml --benchmarks . --name docs");
    prints("show docs --trial 1")
}

#[test]
fn iterations_and_the_barrier_of_the_how_to_are_passed_by_all() {
    for (definition, passed) in [
        (
            1,
            "iterations of client in run, begun 20 times by 2 together: within ",
        ),
        (
            2,
            "barrier iteration of client, passed 10 times by 2: within ",
        ),
    ] {
        let said = trial_on_two_hosts(definition);
        assert!(said.contains(passed), "{said}");
    }
}

#[test]
fn the_benchmark_of_the_how_to_runs() {
    let folder = tempfile::tempdir().unwrap();
    let definition = &blocks("docs/how-to/add-a-benchmark.md", "toml")[0];
    std::fs::write(folder.path().join("wc-lines.toml"), definition).unwrap();
    let output = Command::new(BINARY)
        .args([
            "run",
            "--use",
            "wc-lines",
            "--rounds",
            "2",
            "--name",
            "docs",
            "--store",
            "store",
            "--benchmarks",
            ".",
        ])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(said.contains("counted") && said.contains("n=2"), "{said}");
}

/// The names of the pages in a folder, in order.
fn pages_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut pages: Vec<String> = names.filter(|name| name.ends_with(".md")).collect();
    pages.sort();
    pages
}

#[test]
fn generated_pages_are_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    let status = Command::new(BINARY)
        .arg("reference")
        .arg(folder.path())
        .status()
        .unwrap();
    assert!(status.success());
    let kept = project().join("docs/reference");
    for part in ["", "benchmarks"] {
        let (now, kept) = (folder.path().join(part), kept.join(part));
        let pages = pages_in(&now);
        for old in pages_in(&kept) {
            assert!(
                pages.contains(&old),
                "docs/reference/{part}/{old} is of something that is no more: delete it"
            );
        }
        for page in pages {
            let kept = std::fs::read_to_string(kept.join(&page)).unwrap_or_default();
            assert!(
                std::fs::read_to_string(now.join(&page)).unwrap() == kept,
                "docs/reference/{part}/{page} is old: run `backsight reference`"
            );
        }
    }
}

/// What is linked to on a page, without what is behind `#`; links to elsewhere left out.
fn linked_files(text: &str) -> impl Iterator<Item = &str> {
    let links = text.split("](").skip(1);
    let addresses = links.filter_map(|rest| rest.split_once(')').map(|(address, _)| address));
    let files = addresses.map(|address| address.split('#').next().unwrap_or_default());
    files.filter(|file| !file.is_empty() && !file.contains("://"))
}

#[test]
fn links_between_reference_pages_lead_somewhere() {
    let reference = project().join("docs/reference");
    for part in ["", "benchmarks"] {
        let folder = reference.join(part);
        for page in pages_in(&folder) {
            let text = std::fs::read_to_string(folder.join(&page)).unwrap();
            for file in linked_files(&text) {
                assert!(folder.join(file).exists(), "{part}/{page} links to {file}");
            }
        }
    }
}
