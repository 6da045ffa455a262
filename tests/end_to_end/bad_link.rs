//! A link that behaves as badly as it is told: two namespaces, and a device in each whose packets pass through this process,
//! late, in another order, or never.

use backsight_test_needs::Need;
use nix::{libc, sched};
use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    fs::{File, OpenOptions},
    io::{Read as _, Write as _},
    os::fd::AsRawFd as _,
    process::Command,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::place::Place;

/// What an address of an end is: that of the near end ends with 1.
pub const FAR: &str = "10.79.0.2";
const NEAR: &str = "10.79.0.1";

/// Two namespaces and what joins them; both end with it.
pub struct BadLink {
    near: String,
    far: String,
    weather: Arc<Weather>,
}

/// What becomes of packets.
#[derive(Default)]
struct Weather {
    lost: AtomicBool,
    /// Every packet is late by this, in microseconds, and by up to a fifth more or less.
    late_us: AtomicU64,
}

fn ip(arguments: &[&str]) {
    let done = Command::new("ip").args(arguments).output().unwrap();
    let words = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "ip {arguments:?}: {words}");
}

impl BadLink {
    /// A link that loses nothing and is late by nothing; none where it can't be made.
    pub fn new(place: &Place) -> Option<Self> {
        if Need::Root.is_missing() {
            return None;
        }
        let end = |which: &str| format!("{}-{which}", place.name);
        let link = Self {
            near: end("near"),
            far: end("far"),
            weather: Arc::default(),
        };
        let ends = [(&link.near, NEAR), (&link.far, FAR)].map(|(namespace, address)| {
            ip(&["netns", "add", namespace]);
            ip(&["-n", namespace, "link", "set", "lo", "up"]);
            let device = device_in(namespace);
            ip(&[
                "-n",
                namespace,
                "addr",
                "add",
                &format!("{address}/30"),
                "dev",
                "bad0",
            ]);
            ip(&["-n", namespace, "link", "set", "bad0", "up"]);
            device
        });
        let [near, far] = ends;
        relay(
            near.try_clone().unwrap(),
            far.try_clone().unwrap(),
            &link.weather,
        );
        relay(far, near, &link.weather);
        Some(link)
    }

    /// From now on every packet is lost, or none is.
    pub fn lose_all(&self, lost: bool) {
        self.weather.lost.store(lost, Ordering::SeqCst);
    }

    /// From now on every packet is late by about this, each by its own amount, so that some overtake others.
    pub fn delay(&self, late: Duration) {
        let late_us = u64::try_from(late.as_micros()).unwrap();
        self.weather.late_us.store(late_us, Ordering::SeqCst);
    }

    /// A command in the namespace of the near end.
    pub fn near(&self, program: &str) -> Command {
        inside(&self.near, program)
    }

    /// A command in that of the far end.
    pub fn far(&self, program: &str) -> Command {
        inside(&self.far, program)
    }
}

fn inside(namespace: &str, program: &str) -> Command {
    let mut command = Command::new("nsenter");
    command.args([&format!("--net=/run/netns/{namespace}"), "--", program]);
    command
}

impl Drop for BadLink {
    fn drop(&mut self) {
        for namespace in [&self.near, &self.far] {
            let _gone_already = Command::new("ip")
                .args(["netns", "del", namespace])
                .status();
        }
    }
}

/// A device of a namespace whose packets are read and written here. It goes with its namespace.
fn device_in(namespace: &str) -> File {
    let space = File::open(format!("/run/netns/{namespace}")).unwrap();
    // A thread of its own, which ends in that namespace: this one stays where it is.
    let made = thread::spawn(move || {
        sched::setns(space, sched::CloneFlags::CLONE_NEWNET).unwrap();
        let device = OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/net/tun")
            .unwrap();
        let mut request = [0_u8; size_of::<libc::ifreq>()];
        request[..4].copy_from_slice(b"bad0");
        let flags = i16::try_from(libc::IFF_TUN | libc::IFF_NO_PI).unwrap();
        request[libc::IFNAMSIZ..libc::IFNAMSIZ + 2].copy_from_slice(&flags.to_ne_bytes());
        // SAFETY: the request has the size of `ifreq`, and the kernel writes no more.
        let made =
            unsafe { libc::ioctl(device.as_raw_fd(), libc::TUNSETIFF, request.as_mut_ptr()) };
        assert_eq!(made, 0, "{}", std::io::Error::last_os_error());
        device
    });
    made.join().unwrap()
}

/// When it arrives, its number in the order of sending, and its bytes.
type Packet = (Instant, u64, Vec<u8>);

/// Packets under way, the next one to arrive first.
#[derive(Default)]
struct UnderWay {
    packets: Mutex<BinaryHeap<Reverse<Packet>>>,
    more: Condvar,
}

/// Carries packets from one end to the other until an end is gone.
fn relay(mut from: File, mut to: File, weather: &Arc<Weather>) {
    let under_way = Arc::new(UnderWay::default());
    let weather = Arc::clone(weather);
    let sent = Arc::clone(&under_way);
    thread::spawn(move || {
        let mut packet = [0_u8; 2048];
        let mut random = 0x2545_f491_4f6c_dd1d_u64;
        let mut number = 0;
        while let Ok(length) = from.read(&mut packet) {
            if weather.lost.load(Ordering::SeqCst) {
                continue;
            }
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let late = weather.late_us.load(Ordering::SeqCst);
            let late = late * 4 / 5
                + if late == 0 {
                    0
                } else {
                    random % (late * 2 / 5)
                };
            number += 1;
            let due = Instant::now() + Duration::from_micros(late);
            let mut packets = sent.packets.lock().unwrap();
            packets.push(Reverse((due, number, packet[..length].to_vec())));
            sent.more.notify_one();
        }
    });
    thread::spawn(move || {
        let mut packets = under_way.packets.lock().unwrap();
        loop {
            let due = packets.peek().map(|Reverse((due, ..))| *due);
            packets = match due.map(|due| due.saturating_duration_since(Instant::now())) {
                None => under_way.more.wait(packets).unwrap(),
                Some(Duration::ZERO) => {
                    let Reverse((_, _, packet)) = packets.pop().unwrap();
                    // One that an end doesn't take is lost, as on any link.
                    let _end_is_gone = to.write(&packet);
                    packets
                }
                Some(left) => under_way.more.wait_timeout(packets, left).unwrap().0,
            };
        }
    });
}
