//! What it takes to make 30 settings and to put them back, with the journal on a real disk: asked are 100 ms each way.
//!
//! The machine is a folder beside the journal, so that reads and writes of files are those of a disk's file system; the kernel's own
//! files take what the kernel takes.

use backsight_model::{Preparation, TomlDocument};
use backsight_settings::{
    JournalFile, MachineRoot, PreparationPolicy, PreparationSource, RestoreScope, SettingCatalog,
    apply, resolve, restore,
};
use std::{error::Error, fmt::Write as _, fs, path::Path, time::Instant};

const ROUNDS: usize = 31;
const SETTINGS: usize = 30;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir_in(Path::new(env!("CARGO_TARGET_TMPDIR")))?;
    println!("{:<58} {:>22} {:>10}", "figure", "measured", "asked");
    for files in [1, 64] {
        measure(folder.path(), files)?;
    }
    Ok(())
}

/// Settings of one file, and one of so many: a frequency governor for each core.
fn measure(folder: &Path, files: usize) -> Result<(), Box<dyn Error>> {
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
    let document = TomlDocument::new("plan.toml", text);
    let preparation: Preparation = document.read()?;
    let source = PreparationSource {
        document: &document,
        preparation: &preparation,
    };
    let wanted = resolve(&SettingCatalog::load(&[])?, &[source])?;
    let machine = MachineRoot::in_folder(&root, Vec::new());
    let journal = JournalFile::new(root.join("journal"));
    let (mut making, mut putting_back) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let made = apply(
            &machine,
            &wanted,
            &journal,
            "bench",
            PreparationPolicy::Strict,
        )?;
        making.push(begun.elapsed().as_secs_f64() * 1e3);
        assert!(made.report.stands, "{:#?}", made.report);
        let begun = Instant::now();
        let report = restore(&machine, &journal, &RestoreScope::Everything)?;
        putting_back.push(begun.elapsed().as_secs_f64() * 1e3);
        assert!(report.is_complete());
    }
    for (what, times) in [("making", &mut making), ("putting back", &mut putting_back)] {
        times.sort_by(f64::total_cmp);
        let shown = format!(
            "{:.1} ms (most {:.1})",
            times[times.len() / 2],
            times[times.len() - 1]
        );
        let changes = SETTINGS - 1 + files;
        let figure = format!("{what} {SETTINGS} settings, {changes} files: median of {ROUNDS}");
        println!("{figure:<58} {shown:>22} {:>10}", "≤ 100 ms");
    }
    Ok(())
}
