//! What it takes to make 30 settings, to change to another variant's, and to put them back, with the journal on a real disk: asked are 100 ms each way.
//!
//! A folder in memory stands for the machine, since the kernel's own files are no disk's. For comparison it lies on the disk too: ext4
//! begins to write a file at once that was cut to nothing and written anew, which takes a busy disk 1 to 3 ms a file.

use backsight_model::{Preparation, TomlDocument};
use backsight_settings::{
    JournalFile, MachineRoot, PreparationPolicy, PreparationSource, RestoreScope, SettingCatalog,
    apply, change_to, resolve, restore,
};
use std::{error::Error, fmt::Write as _, fs, path::Path, time::Instant};

const ROUNDS: usize = 31;
const SETTINGS: usize = 30;

fn main() -> Result<(), Box<dyn Error>> {
    let disk = tempfile::tempdir_in(Path::new(env!("CARGO_TARGET_TMPDIR")))?;
    let memory = tempfile::tempdir_in("/dev/shm")?;
    println!("{:<62} {:>22} {:>10}", "figure", "measured", "asked");
    for files in [1, 64] {
        measure("", memory.path(), disk.path(), files)?;
    }
    measure(" on disk", disk.path(), disk.path(), 1)?;
    Ok(())
}

/// Settings of one file, and one of so many: a frequency governor for each core.
fn measure(
    machine_is: &str,
    folder: &Path,
    disk: &Path,
    files: usize,
) -> Result<(), Box<dyn Error>> {
    let root = folder.join(format!("machine-{files}"));
    let put = |path: &str, text: &str| -> Result<(), std::io::Error> {
        let path = root.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text)
    };
    put("proc/sys/kernel/random/boot_id", "boot\n")?;
    for policy in 0..files {
        let policy = format!("sys/devices/system/cpu/cpufreq/policy{policy}");
        put(&format!("{policy}/scaling_governor"), "powersave\n")?;
    }
    let mut text = "cpu.governor = 'performance'\n".to_owned();
    for number in 1..SETTINGS {
        put(&format!("proc/sys/vm/setting{number}"), "1\n")?;
        writeln!(text, "sysctl.vm.setting{number} = 0")?;
    }
    let document = TomlDocument::new("plan.toml", text.as_str());
    let preparation: Preparation = document.read()?;
    let source = PreparationSource::new(&document, &preparation);
    let wanted = resolve(&SettingCatalog::load(&[])?, &[source])?;
    let machine = MachineRoot::in_folder(&root, Vec::new());
    let journal = JournalFile::new(disk.join("journal"));
    // Another variant: some of the settings have other values.
    let other = text
        .replace("1 = 0", "1 = 2")
        .replace("2 = 0", "2 = 2")
        .replace("3 = 0", "3 = 2");
    let other_document = TomlDocument::new("plan.toml", other.replace("5 = 0", "5 = 2"));
    let other: Preparation = other_document.read()?;
    let source = PreparationSource::new(&other_document, &other);
    let other = resolve(&SettingCatalog::load(&[])?, &[source])?;
    let differ = wanted
        .iter()
        .filter(|one| !other.iter().any(|it| it.is_same(one)));
    let differ = differ.count();
    let (mut making, mut changing, mut putting_back) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let begun = Instant::now();
        let mut made = apply(
            &machine,
            &wanted,
            &journal,
            "bench",
            PreparationPolicy::Strict,
        )?;
        making.push(begun.elapsed().as_secs_f64() * 1e3);
        assert!(made.report.stands, "{:#?}", made.report);
        for next in [&other, &wanted] {
            let begun = Instant::now();
            let policy = PreparationPolicy::Strict;
            let report = change_to(&machine, &mut made.standing, next, &journal, policy)?;
            changing.push(begun.elapsed().as_secs_f64() * 1e3);
            assert!(report.stands, "{report:#?} in round {round}");
        }
        let begun = Instant::now();
        let report = restore(&machine, &journal, &RestoreScope::Everything)?;
        putting_back.push(begun.elapsed().as_secs_f64() * 1e3);
        assert!(report.is_complete());
    }
    let to_another = format!("to a variant with {differ} others of");
    for (what, times) in [
        ("making", &mut making),
        (to_another.as_str(), &mut changing),
        ("putting back", &mut putting_back),
    ] {
        times.sort_by(f64::total_cmp);
        let shown = format!(
            "{:.1} ms (most {:.1})",
            times[times.len() / 2],
            times[times.len() - 1]
        );
        let changes = SETTINGS - 1 + files;
        let figure =
            format!("{what} {SETTINGS} settings, {changes} files{machine_is}: median of {ROUNDS}");
        println!("{figure:<62} {shown:>22} {:>10}", "≤ 100 ms");
    }
    Ok(())
}
