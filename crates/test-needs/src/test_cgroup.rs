//! A cgroup of a test's own.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::Duration,
};

/// A cgroup of version 2, which goes with all that runs in it.
#[derive(Debug)]
pub struct TestCgroup(PathBuf);

impl TestCgroup {
    /// A new one below the first cgroup.
    ///
    /// # Errors
    /// No cgroups of version 2 are mounted, or this user may not make one.
    pub fn new() -> Result<Self, String> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("backsight-test-{}-{number}", std::process::id());
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let mount = mounts.lines().find_map(|line| {
            let (place, kind) = line.split_once(" - ")?;
            let mut place = place.split(' ').skip(3);
            let whole = kind.starts_with("cgroup2 ") && place.next() == Some("/");
            place.next().filter(|_| whole)
        });
        let mount = mount.ok_or("no cgroups of version 2 are mounted")?;
        let path = Path::new(mount).join(name);
        fs::create_dir(&path).map_err(|why| format!("{}: {why}", path.display()))?;
        Ok(Self(path))
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// Its path as `/proc/PID/cgroup` has it.
    pub fn path(&self) -> String {
        let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let places = text.lines().filter_map(|line| line.split(' ').nth(4));
        let mount = places.filter(|place| *place != "/" && self.0.starts_with(place));
        let mount = mount.max_by_key(|place| place.len()).unwrap_or("/");
        let below = self.0.strip_prefix(mount).unwrap_or(&self.0);
        format!("/{}", below.display())
    }

    /// A line by which a shell enters the cgroup, or a part of it in parentheses.
    pub fn enter(&self) -> String {
        format!("echo 0 > {}/cgroup.procs", self.0.display())
    }
}

impl Drop for TestCgroup {
    fn drop(&mut self) {
        for _ in 0..500 {
            let _before_linux_5_14 = fs::write(self.0.join("cgroup.kill"), "1");
            let gone = fs::remove_dir(&self.0).is_ok() || !self.0.exists();
            if gone {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        eprintln!("{} can't be removed", self.0.display());
    }
}
