//! Commands of recipes: what they may do to this machine, and what must be left of them.

use backsight_conductor::{Workbench, WorkbenchCommand};
use backsight_model::Ending;
use std::{collections::BTreeMap, path::Path, time::Duration};

use crate::{LIMIT, reach};

fn command(text: &str, folder: &Path) -> WorkbenchCommand {
    WorkbenchCommand {
        text: text.into(),
        folder: folder.into(),
        env: BTreeMap::from([("WORD".into(), "said".into())]),
        limit: LIMIT,
    }
}

fn alive(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn a_command_has_its_folder_its_environment_and_its_words() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Workbench::start(&reach()).await.unwrap();
    let line = "pwd; echo $WORD >&2; touch made; exit 3";
    let done = bench.run(command(line, folder.path())).await.unwrap();
    assert_eq!(done.ending, Ending::Exit(3));
    assert!(!done.succeeded());
    let place = format!("{}\n", folder.path().canonicalize().unwrap().display());
    assert_eq!(done.stdout.bytes, place.as_bytes());
    assert_eq!(done.stderr.bytes, b"said\n");
    assert!(folder.path().join("made").exists());
    let nowhere = folder.path().join("nowhere");
    let done = bench.run(command("true", &nowhere)).await.unwrap();
    assert!(matches!(done.ending, Ending::Refused(_)), "{done:?}");
    assert!(
        bench
            .run(command("true", folder.path()))
            .await
            .unwrap()
            .succeeded()
    );
    bench.finish().await;
}

#[tokio::test]
async fn what_a_command_leaves_is_ended_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Workbench::start(&reach()).await.unwrap();
    let line = "setsid sleep 600 >/dev/null 2>&1 & echo $!";
    let done = bench.run(command(line, folder.path())).await.unwrap();
    let pid = String::from_utf8(done.stdout.bytes).unwrap();
    assert!(!alive(pid.trim()));
    assert_eq!(done.strays.len(), 1, "{:?}", done.strays);
    bench.finish().await;
}

#[tokio::test]
async fn a_command_that_hangs_is_ended_at_its_limit() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Workbench::start(&reach()).await.unwrap();
    let hangs = WorkbenchCommand {
        limit: Duration::from_millis(50),
        ..command("sleep 600", folder.path())
    };
    assert_eq!(bench.run(hangs).await.unwrap().ending, Ending::TimedOut);
    bench.finish().await;
}

#[tokio::test]
async fn a_command_that_nobody_awaits_any_more_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Workbench::start(&reach()).await.unwrap();
    let line = "echo $$ > pid.new; mv pid.new pid; exec sleep 600";
    let pid_file = folder.path().join("pid");
    tokio::select! {
        done = bench.run(command(line, folder.path())) => panic!("{done:?}"),
        () = async { while !pid_file.exists() { tokio::task::yield_now().await } } => {}
    }
    let done = bench.run(command("true", folder.path())).await.unwrap();
    assert!(done.succeeded());
    let pid = std::fs::read_to_string(pid_file).unwrap();
    assert!(!alive(pid.trim()));
    bench.finish().await;
}

#[tokio::test]
async fn a_lost_agent_is_replaced_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Workbench::start(&reach()).await.unwrap();
    let line = "echo $$ > pid; kill -9 $PPID; sleep 600";
    let lost = bench.run(command(line, folder.path())).await;
    assert!(lost.is_err(), "{lost:?}");
    let pid = std::fs::read_to_string(folder.path().join("pid")).unwrap();
    assert!(!alive(pid.trim()));
    assert!(
        bench
            .run(command("true", folder.path()))
            .await
            .unwrap()
            .succeeded()
    );
    bench.finish().await;
}
