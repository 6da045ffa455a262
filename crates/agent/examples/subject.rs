//! What the tests run as a step where no program that is everywhere would do: `subject listen PORT`, `subject bind PORT`.

use std::net::{TcpListener, UdpSocket};
use std::time::Duration;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().unwrap_or_default();
    let address = format!("127.0.0.1:{}", arguments.next().unwrap_or_default());
    // Ready a moment after it began, as servers are.
    std::thread::sleep(Duration::from_millis(30));
    let _listener;
    let _socket;
    match what.as_str() {
        "listen" => _listener = TcpListener::bind(address)?,
        "bind" => _socket = UdpSocket::bind(address)?,
        _ => return Err(std::io::ErrorKind::InvalidInput.into()),
    }
    loop {
        std::thread::park();
    }
}
