//! Servers that answer otherwise than they should.

use axum::{body::Body, response::Response};
use futures_util::stream;
use std::time::Instant;

use super::{ToldLab, stub::StubServer};
use crate::software_change::tests::change;

async fn problem(stub: &StubServer) -> String {
    let config = format!(
        "[channel.hook.webhook]\nurl = \"{}/T000/s3cret\"\n",
        stub.address
    );
    let lab = ToldLab::new(&config).await;
    let mut reports = lab.tell("10:00", &[change()]).await;
    let problem = reports[0].problems.pop().unwrap_or_default();
    // An address may be the permission.
    assert!(!problem.contains("s3cret"), "{problem}");
    problem
}

#[tokio::test]
async fn errors_are_said_and_nothing_is_followed() {
    let broken = StubServer::start(|_| (500, "out of\norder \u{1b}[31m".to_owned())).await;
    assert_eq!(
        problem(&broken).await,
        "the server answers 500: out of␊order ␛[31m"
    );
    let other = StubServer::start(|_| (200, String::new())).await;
    let to = other.address.clone();
    let moved = StubServer::start_with(move |_| {
        let answer = Response::builder().status(302).header("location", &to);
        answer.body(Body::empty()).unwrap()
    })
    .await;
    assert_eq!(problem(&moved).await, "the server answers 302");
    assert!(other.take().is_empty());
}

#[tokio::test]
async fn an_answer_without_end_is_not_read() {
    let endless = StubServer::start_with(|_| {
        let chunk = vec![b'x'; 1 << 16];
        let chunks = stream::repeat_with(move || Ok::<_, std::io::Error>(chunk.clone()));
        Response::new(Body::from_stream(chunks))
    })
    .await;
    let began = Instant::now();
    assert_eq!(problem(&endless).await, "");
    assert!(began.elapsed().as_secs() < 5);
}
