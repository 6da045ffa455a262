//! The part of a report on several hosts beside each other.

use askama::Template;
use backsight_report::{Body, instances::StudyInstances};

/// The part of a report on hosts beside each other.
#[derive(Template)]
#[template(path = "instances.html")]
pub(crate) struct InstancesSection {
    studies: Vec<StudyPart>,
}

struct StudyPart {
    name: String,
    parts: Vec<PartView>,
}

/// A table with the charts below it.
struct PartView {
    about: String,
    table: String,
    charts: Vec<(String, String)>,
}

impl InstancesSection {
    /// Nothing where no study has several hosts.
    pub fn new(instances: &[StudyInstances]) -> Option<Self> {
        let study = |instances: &StudyInstances| {
            let mut parts: Vec<PartView> = Vec::new();
            for section in instances.sections() {
                match section.body {
                    Body::Table(table) => parts.push(PartView {
                        about: section.about,
                        table: table.html(),
                        charts: Vec::new(),
                    }),
                    Body::Picture { svg, .. } => {
                        let before = parts.last_mut();
                        if let Some(before) = before {
                            before.charts.push((section.heading, svg));
                        }
                    }
                    Body::List(_) | Body::Verbatim(_) => {}
                }
            }
            StudyPart {
                name: instances.study_name.clone(),
                parts,
            }
        };
        let studies: Vec<StudyPart> = instances.iter().map(study).collect();
        (!studies.is_empty()).then_some(Self { studies })
    }
}
