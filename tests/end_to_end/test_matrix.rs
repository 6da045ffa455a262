//! The matrix of tests of a target: what failed since when, what says the same, and pages whose links lead somewhere.

use serde_json::Value;
use std::fs;

use crate::{place::Place, stepping};

/// A target whose third version breaks two of three tests; both say the same but for a number.
fn stepped() -> Place {
    let place = stepping::place();
    for version in 1..=4 {
        let result = if version < 3 { "ok" } else { "not ok" };
        place.write(
            "repo/speed",
            format!(
                "echo 1..3\necho {result} 1 - net/open\necho '# lost {version} of 9'\n\
                 echo {result} 2 - net/close\necho '# lost 7{version} of 80'\necho ok 3 - disk\n# {version}\n"
            ),
        );
        stepping::commit_all(&place, version);
    }
    fs::create_dir_all(place.path("suites")).unwrap();
    place.write(
        "suites/unit.toml",
        "name = \"unit\"\nabout = \"tests\"\nroles = [\"tester\"]\n[tester]\nrun = \"sh {build}/tool\"\n[results]\nformat = \"tap\"\n",
    );
    place.plan("use = [\"unit\"]\nrounds = 1\nseed = 1\n");
    let step = [
        "step",
        "plan.toml",
        "--target",
        "app",
        "--from",
        "v1",
        "--to",
        "v4",
        "--every",
        "1 commit",
    ];
    let ended = place.ends(&step);
    assert!(ended.status.success(), "{}", ended.stderr);
    place
}

fn data(page: &str) -> Value {
    let data = page.split("id=\"matrix-data\">").nth(1).unwrap();
    serde_json::from_str(data.split("</script>").next().unwrap()).unwrap()
}

#[test]
fn failures_of_one_cause_are_told_together_and_the_published_page_leads_to_commits_and_logs() {
    let place = stepped();
    let told = place.prints_of(&["tests", "--target", "app", "--format", "json"]);
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["clusters"][0]["tests"], 2, "{told:#}");
    assert_eq!(told["tests"].as_array().unwrap().len(), 2);
    assert_eq!(told["tests"][0]["letters"], "..FF");

    place.prints_of(&["tests", "--target", "app", "-o", "tests.html"]);
    let alone = data(&place.read("tests.html"));
    assert_eq!(alone["tests"]["name"].as_array().unwrap().len(), 3);
    assert_eq!(alone["columns"][0]["version"], "");

    place.prints_of(&["publish", "site"]);
    let folders = fs::read_dir(place.path("site"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let folder = folders
        .into_iter()
        .find(|path| path.join("tests.html").exists())
        .unwrap();
    let page = data(&fs::read_to_string(folder.join("tests.html")).unwrap());
    let since = page["tests"]["since"][0].as_u64().unwrap() as usize;
    let column = &page["columns"][since];
    let trial = &page["trials"][page["suites"][0]["trials"][3].as_u64().unwrap() as usize];
    let read = |href: &Value| {
        let file = href.as_str().unwrap().split('#').next().unwrap();
        fs::read_to_string(folder.join(file)).unwrap()
    };
    assert!(read(&column["version"]).contains("v3"));
    assert!(read(&column["commits"]).contains("version 3"));
    assert!(read(&trial[2]).contains("lost 74 of 80"));
}
