//! Memory by node: where pages came from, and where those of the watched processes are.

use std::path::Path;

use crate::{
    end_signals::monotonic_ns,
    files::KernelFile,
    process_tree::Members,
    sampler::{ProcessTree, Sampler, SamplerError, Scratch},
    series::Series,
    shape::{number, prefixed_pairs, words},
};

/// The pages of processes are counted at most that often: the kernel walks all of their page tables for it.
const MAPS_INTERVAL_NS: u64 = 1_000_000_000;

/// The sampler of nodes.
pub(crate) struct Numa {
    nodes: Vec<Node>,
    members: Option<Members>,
    maps_at_ns: u64,
}

struct Node {
    /// `node0.`
    prefix: String,
    file: KernelFile,
    resident_bytes: i64,
}

impl Numa {
    /// # Errors
    /// This kernel knows no nodes.
    pub(crate) fn open(root: &Path, tree: Option<&ProcessTree>) -> Result<Self, SamplerError> {
        let folder = root.join("sys/devices/system/node");
        let mut nodes = Vec::new();
        for number in 0.. {
            let path = folder.join(format!("node{number}"));
            if !path.exists() {
                // Numbers may have gaps.
                if number > 1024 {
                    break;
                }
                continue;
            }
            nodes.push(Node {
                prefix: format!("node{number}."),
                file: KernelFile::open(path.join("numastat"))?,
                resident_bytes: 0,
            });
        }
        match nodes.is_empty() {
            true => Err(SamplerError::Missing(format!(
                "this kernel knows no nodes: there is none in {}",
                folder.display()
            ))),
            false => Ok(Self {
                nodes,
                members: Members::new(tree).ok(),
                maps_at_ns: 0,
            }),
        }
    }

    /// Adds up the pages of all processes.
    fn read_maps(&mut self, scratch: &mut Scratch) -> Result<(), SamplerError> {
        let Some(members) = &mut self.members else {
            return Ok(());
        };
        members.refresh(scratch)?;
        for node in &mut self.nodes {
            node.resident_bytes = 0;
        }
        for member in members.members() {
            let Ok(maps) = KernelFile::open(format!("/proc/{}/numa_maps", member.pid)) else {
                continue;
            };
            let text = maps.read(&mut scratch.bytes).unwrap_or_default();
            for line in text.split(|byte| *byte == b'\n') {
                let page = words(line)
                    .filter_map(|word| word.strip_prefix(b"kernelpagesize_kB="))
                    .find_map(number);
                for node in &mut self.nodes {
                    let pages = words(line).find_map(|word| node.pages(word));
                    let kilobytes = pages.unwrap_or(0) * page.unwrap_or(4);
                    node.resident_bytes += kilobytes << 10;
                }
            }
        }
        Ok(())
    }
}

impl Node {
    /// The number of `N0=7`, if that is this node.
    fn pages(&self, word: &[u8]) -> Option<i64> {
        let name = self.prefix.trim_end_matches('.').trim_start_matches("node");
        let pages = word.strip_prefix(b"N")?.strip_prefix(name.as_bytes())?;
        pages.strip_prefix(b"=").and_then(number)
    }
}

impl Sampler for Numa {
    fn sample(&mut self, scratch: &mut Scratch, series: &mut Series) -> Result<(), SamplerError> {
        let now = monotonic_ns();
        if self.maps_at_ns == 0 || now - self.maps_at_ns >= MAPS_INTERVAL_NS {
            self.maps_at_ns = now;
            self.read_maps(scratch)?;
        }
        for node in &self.nodes {
            let text = node.file.read(&mut scratch.bytes)?;
            prefixed_pairs(node.prefix.as_bytes(), text, series);
            if self.members.is_some() {
                series.push(
                    &[node.prefix.as_bytes(), b"resident_bytes"],
                    node.resident_bytes,
                );
            }
        }
        Ok(())
    }
}
