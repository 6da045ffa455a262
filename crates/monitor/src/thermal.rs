//! Temperatures, fans, power, energy, frequencies and idle states: what of these a machine shows.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    files::KernelFile,
    sampler::{Sampler, SamplerError, Scratch},
    series::Series,
    shape::{NamePart, number},
};

/// Files of a hwmon device, by how their names begin, with the unit of their numbers (the kernel's hwmon/sysfs-interface).
const HWMON: &[(&str, &str)] = &[
    ("temp", "millidegrees"),
    ("fan", "rpm"),
    ("power", "microwatts"),
    ("energy", "microjoules"),
    ("in", "millivolts"),
    ("curr", "milliamperes"),
];

/// A file with one number.
struct Gauge {
    name: Vec<u8>,
    file: KernelFile,
    /// Where it begins again: of a counter.
    wraps_at: Option<i64>,
    last: i64,
    wrapped: i64,
}

/// The sampler of these files.
pub(crate) struct Thermal {
    gauges: Vec<Gauge>,
}

impl Thermal {
    /// # Errors
    /// This machine shows nothing of the kind.
    pub(crate) fn open(root: &Path) -> Result<Self, SamplerError> {
        let mut gauges = Vec::new();
        let class = root.join("sys/class");
        for zone in folders(&class.join("thermal"), "thermal_zone") {
            let name = part(&zone.path, "type") + "-" + &zone.number;
            add(&mut gauges, &name, "millidegrees", zone.path.join("temp"));
        }
        for device in folders(&class.join("hwmon"), "hwmon") {
            let name = part(&device.path, "name") + "-" + &device.number;
            add_hwmon(&mut gauges, &device.path, &name);
        }
        for cpu in folders(&root.join("sys/devices/system/cpu"), "cpu") {
            let name = format!("cpu{}", cpu.number);
            add(
                &mut gauges,
                &name,
                "khz",
                cpu.path.join("cpufreq/scaling_cur_freq"),
            );
            let throttles = cpu.path.join("thermal_throttle/core_throttle_count");
            add(&mut gauges, &name, "throttles", throttles);
            for state in folders(&cpu.path.join("cpuidle"), "state") {
                let name = format!("{name}.{}", part(&state.path, "name"));
                add(&mut gauges, &name, "idle_us", state.path.join("time"));
                add(&mut gauges, &name, "entries", state.path.join("usage"));
            }
        }
        for zone in folders(&class.join("powercap"), "intel-rapl:") {
            let name = part(&zone.path, "name") + "-" + &zone.number;
            let wraps_at = fs::read(zone.path.join("max_energy_range_uj")).ok();
            add(
                &mut gauges,
                &name,
                "microjoules",
                zone.path.join("energy_uj"),
            );
            if let Some(gauge) = gauges.last_mut() {
                gauge.wraps_at = wraps_at.and_then(|text| number(text.trim_ascii()));
            }
        }
        match gauges.is_empty() {
            true => Err(SamplerError::Missing(
                "this machine shows no temperatures, fans, frequencies, idle states or energy in /sys (virtual machines rarely do; \
                 energy is root's)"
                    .into(),
            )),
            false => Ok(Self { gauges }),
        }
    }
}

impl Sampler for Thermal {
    fn sample(&mut self, scratch: &mut Scratch, series: &mut Series) -> Result<(), SamplerError> {
        let Scratch { bytes, notes } = scratch;
        self.gauges.retain_mut(|gauge| {
            let value = match gauge.file.read(bytes) {
                Ok(text) => number(text.trim_ascii()),
                Err(error) => {
                    notes.push(format!("without a file from now on: {error}"));
                    return false;
                }
            };
            if let Some(value) = value {
                if value < gauge.last {
                    gauge.wrapped += gauge.wraps_at.unwrap_or(0);
                }
                gauge.last = value;
            }
            series.push(&[&gauge.name], gauge.last + gauge.wrapped);
            true
        });
        Ok(())
    }
}

/// A folder with a number in its name.
struct Numbered {
    path: PathBuf,
    number: String,
}

/// Folders whose names are a word and a number, in the order of the numbers.
fn folders(parent: &Path, word: &str) -> Vec<Numbered> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let mut found: Vec<Numbered> = entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let number = name.to_str()?.strip_prefix(word)?.to_owned();
            let is_number = number
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b':');
            (is_number && !number.is_empty()).then(|| Numbered {
                path: entry.path(),
                number,
            })
        })
        .collect();
    found.sort_by_key(|it| (it.number.len(), it.number.clone()));
    found
}

/// What a file says, as a part of a name.
fn part(folder: &Path, file: &str) -> String {
    let text = fs::read(folder.join(file)).unwrap_or_default();
    String::from_utf8_lossy(NamePart::new(text.trim_ascii()).as_bytes()).replace(' ', "_")
}

/// Adds a file with a number, if it can be read.
fn add(gauges: &mut Vec<Gauge>, name: &str, unit: &str, path: PathBuf) {
    let mut text = Vec::new();
    let file = KernelFile::open(path);
    let readable = file.and_then(|file| file.read(&mut text).map(drop).map(|()| file));
    if let Ok(file) = readable {
        gauges.push(Gauge {
            name: format!("{name}.{unit}").into_bytes(),
            file,
            wraps_at: None,
            last: 0,
            wrapped: 0,
        });
    }
}

/// Adds what a hwmon device measures: `temp1_input` with its label `temp1_label`.
fn add_hwmon(gauges: &mut Vec<Gauge>, device: &Path, name: &str) {
    let entries = fs::read_dir(device).into_iter().flatten().flatten();
    let mut inputs: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|file| file.ends_with("_input") || file.ends_with("_average"))
        .collect();
    inputs.sort_unstable();
    for file in inputs {
        let Some((sensor, _)) = file.split_once('_') else {
            continue;
        };
        let kind = sensor.trim_end_matches(|byte: char| byte.is_ascii_digit());
        let Some((_, unit)) = HWMON.iter().find(|(known, _)| *known == kind) else {
            continue;
        };
        let label = part(device, &format!("{sensor}_label"));
        let label = if label.is_empty() { sensor } else { &label };
        add(gauges, &format!("{name}-{label}"), unit, device.join(&file));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::sampled_once;

    #[test]
    fn what_a_machine_shows_is_found_and_energy_only_grows() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join("sys").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert!(Thermal::open(folder.path()).is_err());
        write("class/thermal/thermal_zone0/type", "x86_pkg_temp\n");
        write("class/thermal/thermal_zone0/temp", "41000\n");
        write("class/hwmon/hwmon2/name", "coretemp\n");
        write("class/hwmon/hwmon2/temp1_input", "42000\n");
        write("class/hwmon/hwmon2/temp1_label", "Package id 0\n");
        write("class/hwmon/hwmon2/fan1_input", "900\n");
        write(
            "devices/system/cpu/cpu10/cpufreq/scaling_cur_freq",
            "800000\n",
        );
        write("devices/system/cpu/cpu2/cpuidle/state1/name", "C1\n");
        write("devices/system/cpu/cpu2/cpuidle/state1/time", "7\n");
        write("devices/system/cpu/cpu2/cpuidle/state1/usage", "8\n");
        write("devices/system/cpu/cpufreq/x", "not a processor\n");
        write("class/powercap/intel-rapl:0/name", "package-0\n");
        write("class/powercap/intel-rapl:0/energy_uj", "900\n");
        write("class/powercap/intel-rapl:0/max_energy_range_uj", "1000\n");
        let mut thermal = Thermal::open(folder.path()).unwrap();
        let names = [
            ("x86_pkg_temp-0.millidegrees", 41_000),
            ("coretemp-2-fan1.rpm", 900),
            ("coretemp-2-Package_id_0.millidegrees", 42_000),
            ("cpu2.C1.idle_us", 7),
            ("cpu2.C1.entries", 8),
            ("cpu10.khz", 800_000),
            ("package-0-0.microjoules", 900),
        ];
        let wanted: Vec<_> = names.map(|(name, value)| (name.to_owned(), value)).into();
        assert_eq!(sampled_once(&mut thermal), wanted);
        write("class/powercap/intel-rapl:0/energy_uj", "100\n");
        write("class/hwmon/hwmon2/fan1_input", "100\n");
        let after = sampled_once(&mut thermal);
        assert_eq!(after[6].1, 1100);
        assert_eq!(after[1].1, 100);
    }
}
