//! What is told when: once, later, again after a crash, in one message.

use backsight_policy::AlertState;
use backsight_store::ToldState;

use super::{ToldLab, at, change_at, in_state, stub::StubServer};
use crate::{
    NotifyOptions, notify_of,
    software_change::tests::{change, changes},
};

async fn webhook() -> (StubServer, String) {
    let stub = StubServer::start(|_| (204, String::new())).await;
    let config = format!(
        "[channel.hook.webhook]\nurl = \"{}/hook\"\nsecret = {{ file = \"token\" }}\n",
        stub.address
    );
    (stub, config)
}

#[tokio::test]
async fn a_change_is_told_once_and_once_that_it_is_gone() {
    let (stub, config) = webhook().await;
    let lab = ToldLab::new(&config).await;
    // What was over before anybody was told is no news.
    lab.tell("09:00", &[in_state(AlertState::Fixed)]).await;
    assert!(stub.take().is_empty());
    let reports = lab.tell("10:00", &[change()]).await;
    assert_eq!((reports[0].sent.len(), reports[0].waiting), (1, 0));
    let told = stub.take();
    assert_eq!(told.len(), 1);
    let event = &told[0].body;
    let key = event["key"].as_str().unwrap();
    assert_eq!(event["changes"][0]["news"], "new");
    assert_eq!(event["changes"][0]["name"], "v4");
    assert_eq!(told[0].header("webhook-id"), key);
    assert_eq!(told[0].header("idempotency-key"), key);
    assert!(told[0].header("webhook-signature").starts_with("v1,"));
    for state in [
        AlertState::New,
        AlertState::Investigating,
        AlertState::Confirmed,
    ] {
        lab.tell("11:00", &[in_state(state)]).await;
    }
    assert!(stub.take().is_empty());
    for _ in 0..2 {
        lab.tell("12:00", &[in_state(AlertState::Fixed)]).await;
    }
    let over = stub.take();
    assert_eq!(over.len(), 1);
    let over = &over[0].body;
    assert_eq!(over["changes"][0]["news"], "over");
    assert_eq!(over["changes"][0]["change"], event["changes"][0]["change"]);
    assert_ne!(over["key"], event["key"]);
    lab.tell("13:00", &[change()]).await;
    assert_eq!(stub.take()[0].body["changes"][0]["news"], "again");
    // No alert is about it any more.
    for _ in 0..2 {
        lab.tell("14:00", &[]).await;
    }
    let withdrawn = stub.take();
    assert_eq!(withdrawn.len(), 1);
    assert_eq!(withdrawn[0].body["changes"][0]["state"], "withdrawn");
}

#[tokio::test]
async fn what_was_being_sent_when_somebody_died_is_sent_once_more_with_the_same_key() {
    let (stub, config) = webhook().await;
    let first = ToldLab::new(&config).await;
    first.tell("10:00", &[change()]).await;
    let key = stub.take()[0].body["key"].as_str().unwrap().to_owned();
    // As a store was before the note that the message arrived.
    let target = "app".parse().unwrap();
    let told = first.store.told_changes("hook", &target).await.unwrap();
    let died = async || {
        let lab = ToldLab::new(&config).await;
        let saying = lab.store.record_saying(&told[0], ToldState::Open, &key);
        saying.await.unwrap();
        lab
    };
    let lab = died().await;
    for _ in 0..2 {
        lab.tell("10:10", &[change()]).await;
    }
    let again = stub.take();
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].body["key"], key.as_str());
    // It may have arrived, so that its end is said.
    let lab = died().await;
    lab.tell("10:10", &[in_state(AlertState::Invalid)]).await;
    assert_eq!(stub.take()[0].body["changes"][0]["news"], "over");
}

#[tokio::test]
async fn a_server_that_is_down_is_tried_again_later_and_told_once() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let config = format!("[channel.hook.webhook]\nurl = \"http://{address}\"\n");
    let lab = ToldLab::new(&config).await;
    let mut tries = 0;
    // An hour, asked every minute.
    for minute in 0..60 {
        let reports = lab.tell(&format!("10:{minute:02}"), &[change()]).await;
        assert_eq!(reports[0].waiting, 1);
        tries += usize::from(!reports[0].problems[0].contains("tried again after"));
        // Who waits for it knows when.
        let next = reports[0].next_try.unwrap();
        assert!(next > at(&format!("10:{minute:02}")), "{next}");
        if minute == 0 {
            assert_eq!(next, at("10:01"));
        }
    }
    assert!((4..=7).contains(&tries), "{tries}");
    let listener = tokio::net::TcpListener::bind(address).await.unwrap();
    let stub = StubServer::serve(listener, |_| axum::response::Response::default());
    for minute in 0..60 {
        lab.tell(&format!("11:{minute:02}"), &[change()]).await;
    }
    assert_eq!(stub.take().len(), 1);
}

#[tokio::test]
async fn what_never_arrived_and_is_over_is_not_told() {
    let lab = ToldLab::new("[channel.hook.webhook]\nurl = \"http://127.0.0.1:1/\"\n").await;
    lab.tell("10:00", &[change()]).await;
    let reports = lab.tell("12:00", &[in_state(AlertState::Fixed)]).await;
    assert_eq!((reports[0].waiting, reports[0].problems.len()), (0, 0));
    let target = "app".parse().unwrap();
    let told = lab.store.told_changes("hook", &target).await.unwrap();
    assert!(told.is_empty());
}

#[tokio::test]
async fn after_quiet_hours_there_is_one_message() {
    let (stub, config) = webhook().await;
    let quiet = "quiet-hours = { from = \"20:00\", to = \"07:00\", zone = \"UTC\" }\n";
    let lab = ToldLab::new(&format!("{quiet}{config}")).await;
    let reports = lab.tell("06:00", &[change_at(1)]).await;
    let because = reports[0].because.as_ref().unwrap();
    assert!(because.contains("07:00"), "{because}");
    assert!(reports[0].problems.is_empty());
    lab.tell("06:30", &[change_at(1), change_at(3)]).await;
    assert!(stub.take().is_empty());
    lab.tell("07:00", &[change_at(1), change_at(3)]).await;
    let told = stub.take();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].body["changes"].as_array().unwrap().len(), 2);
    assert_eq!(told[0].body["subject"], "2 changes: app");
    // Later ones are each a message again.
    let all = [1, 3, 4, 5].map(change_at);
    lab.tell("08:00", &all).await;
    assert_eq!(stub.take().len(), 2);
}

#[tokio::test]
async fn a_channel_that_never_answers_holds_up_no_other_one() {
    let (stub, config) = webhook().await;
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap();
    let config = format!("[channel.silent.webhook]\nurl = \"http://{address}\"\n{config}");
    let lab = ToldLab::new(&config).await;
    let reports = lab.tell("10:00", &[change()]).await;
    let problem = &reports[0].problems[0];
    assert!(problem.contains("no answer within"), "{problem}");
    assert!(reports[1].problems.is_empty());
    assert_eq!(stub.take().len(), 1);
}

#[tokio::test]
async fn a_dry_run_sends_and_keeps_nothing() {
    let (stub, config) = webhook().await;
    let lab = ToldLab::new(&config).await;
    let options = NotifyOptions {
        channels: vec!["hook".to_owned()],
        targets: Vec::new(),
        now: at("10:00"),
        dry_run: true,
        at_once: false,
        between: None,
    };
    for _ in 0..2 {
        let all = changes(vec![change()]);
        let reports = notify_of(&lab.store, &lab.config, &options, &[all]).await;
        let reports = reports.unwrap();
        assert!(reports[0].sent[0].text().contains("work time"));
    }
    assert!(stub.take().is_empty());
    let unknown = NotifyOptions {
        channels: vec!["hok".to_owned()],
        ..options
    };
    let refused = notify_of(&lab.store, &lab.config, &unknown, &[]).await;
    let help = refused.unwrap_err().help().unwrap().to_string();
    assert!(help.contains("hook"), "{help}");
}
