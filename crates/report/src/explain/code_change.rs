//! Functions whose machine code differs between the builds of two versions.

use backsight_machine_code::CodeDifference;
use backsight_model::counted;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Section, Table, field, left, right};

/// Functions of a program that text and pages show.
const MOST_SHOWN: usize = 20;

/// The builds of two versions against each other.
#[derive(Debug, Clone)]
pub struct CodeChange {
    /// The version whose build is the base.
    pub base: String,
    /// The version of the other build.
    pub new: String,
    /// Programs and libraries of both builds.
    pub programs: Vec<ProgramDifference>,
}

/// A program or library of two builds.
#[derive(Debug, Clone)]
pub struct ProgramDifference {
    /// Its path below the builds' folders.
    pub path: String,
    /// What differs; or why that isn't known.
    pub difference: Result<CodeDifference, String>,
}

/// The builds of two versions against each other, function by function.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CodeChangeView<'a> {
    /// The version whose build is the base.
    pub base: &'a str,
    /// The version of the other build.
    pub new: &'a str,
    /// Programs and libraries of both builds.
    pub programs: Vec<ProgramDifferenceView<'a>>,
}

/// A program or library of two builds.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProgramDifferenceView<'a> {
    /// Its path below the builds' folders.
    pub path: &'a str,
    /// Bytes of its section `.text` in the base; null where it can't be read.
    pub text_base: Option<u64>,
    /// The same in the other build.
    pub text_new: Option<u64>,
    /// Why functions aren't told, or are told less exactly; null where they are.
    pub note: Option<String>,
    /// Functions with other code: changed, added and removed ones; not those that only lie elsewhere.
    pub functions: Vec<FunctionChangeView<'a>>,
}

/// A function with other code.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FunctionChangeView<'a> {
    /// Its name.
    pub name: &'a str,
    /// `changed`, `added` or `removed`.
    pub change: &'static str,
    /// Bytes of its code in the base; null where it isn't there.
    pub base: Option<u64>,
    /// The same in the other build.
    pub new: Option<u64>,
}

impl CodeChange {
    pub(super) fn view(&self) -> CodeChangeView<'_> {
        CodeChangeView {
            base: &self.base,
            new: &self.new,
            programs: self.programs.iter().map(ProgramDifference::view).collect(),
        }
    }

    /// Whether the code of a function is other than before.
    pub fn has_changed(&self, function: &str) -> bool {
        let known = self.programs.iter();
        let mut known = known.filter_map(|program| program.difference.as_ref().ok());
        known.any(|known| known.functions.iter().any(|it| it.name == function))
    }

    /// A table for each program with changed functions; a line for each of the others.
    pub(super) fn sections(&self) -> Vec<Section> {
        let mut sections = Vec::new();
        let mut lines = Vec::new();
        for program in &self.programs {
            match &program.difference {
                Ok(known) if !known.functions.is_empty() => {
                    sections.push(self.table(program, known));
                }
                Ok(known) => lines.push(match program.note() {
                    Some(note) => format!("{}: {}; {note}", program.path, text_sizes(known)),
                    None => format!(
                        "{}: {}; no function's code changed",
                        program.path,
                        text_sizes(known)
                    ),
                }),
                Err(why) => lines.push(format!("{}: {why}", program.path)),
            }
        }
        let heading = format!("Code of other programs, {} against {}", self.new, self.base);
        sections.push(Section::list(heading, lines));
        sections
    }

    fn table(&self, program: &ProgramDifference, known: &CodeDifference) -> Section {
        let mut table = Table::new(vec![
            left("function"),
            left("code"),
            right(self.base.clone()),
            right(self.new.clone()),
        ]);
        for function in known.functions.iter().take(MOST_SHOWN) {
            let bytes = |size: Option<u64>| size.map_or(String::new(), |size| format!("{size} B"));
            let [base, new] = function.change.sizes().map(bytes);
            table.row(vec![
                field(function.name.clone()),
                field(function.change.as_str()),
                field(base),
                field(new),
            ]);
        }
        let mut about = vec![text_sizes(known)];
        about.extend(
            known
                .functions
                .len()
                .checked_sub(MOST_SHOWN)
                .filter(|more| *more > 0)
                .map(|more| format!("{more} more: --format json has all")),
        );
        about.extend(program.note());
        let heading = format!("Functions of {} whose code changed", program.path);
        Section::table(heading, table).with_about(about.join("; "))
    }
}

impl ProgramDifference {
    fn view(&self) -> ProgramDifferenceView<'_> {
        let known = self.difference.as_ref().ok();
        let functions = known.map_or(&[][..], |known| &known.functions);
        ProgramDifferenceView {
            path: &self.path,
            text_base: known.map(|known| known.text_sizes[0]),
            text_new: known.map(|known| known.text_sizes[1]),
            note: self.note(),
            functions: functions
                .iter()
                .map(|function| {
                    let [base, new] = function.change.sizes();
                    FunctionChangeView {
                        name: &function.name,
                        change: function.change.as_str(),
                        base,
                        new,
                    }
                })
                .collect(),
        }
    }

    /// What a reader should know of the comparison.
    fn note(&self) -> Option<String> {
        let known = match &self.difference {
            Ok(known) => known,
            Err(why) => return Some(why.clone()),
        };
        if known.is_stripped.contains(&true) {
            return Some("it has no symbols, so that no function is named".to_owned());
        }
        let machine = known.compared_bytes_of.as_ref()?;
        Some(format!(
            "code of {machine} is compared byte by byte: functions that call or read what moved are among these"
        ))
    }
}

/// `.text 1240 B, was 1200 B`.
fn text_sizes(known: &CodeDifference) -> String {
    let [base, new] = known.text_sizes;
    match base == new {
        true => format!(".text {new} B as before"),
        false => format!(".text {new} B, was {base} B"),
    }
}

/// `12 functions have other code`.
pub(super) fn sentence(code: &CodeChange) -> Option<String> {
    let known = code.programs.iter();
    let known = known.filter_map(|program| program.difference.as_ref().ok());
    let functions: usize = known.map(|known| known.functions.len()).sum();
    let have = if functions == 1 { "has" } else { "have" };
    (functions > 0).then(|| {
        format!(
            "{} {have} other machine code in {} than in {}",
            counted(functions, "function"),
            code.new,
            code.base
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Document, explain::NamedCorrelate};
    use backsight_machine_code::{FunctionChange, FunctionDifference};
    use backsight_model::MonitorName;
    use backsight_policy::explain::{CandidateKind, ChangeBasis, Correlate};
    use backsight_stats::Undefined;

    fn difference(functions: usize) -> CodeDifference {
        let changed = |number| FunctionDifference {
            name: format!("f{number}"),
            change: FunctionChange::Changed { base: 10, new: 12 },
        };
        CodeDifference {
            text_sizes: [100, 102],
            is_stripped: [false; 2],
            compared_bytes_of: None,
            functions: (0..functions).map(changed).collect(),
        }
    }

    fn shown(difference: Result<CodeDifference, String>) -> (CodeChange, String) {
        let code = CodeChange {
            base: "v1".into(),
            new: "v2".into(),
            programs: vec![ProgramDifference {
                path: "app".into(),
                difference,
            }],
        };
        let document = code.sections().into_iter();
        let document = document.fold(Document::new(""), Document::with_section);
        let text = document.text(&crate::TerminalStyle::default());
        (code, text)
    }

    #[test]
    fn the_first_functions_are_shown_and_the_rest_is_counted() {
        let (code, text) = shown(Ok(difference(23)));
        assert!(text.contains("f19"), "{text}");
        assert!(!text.contains("f20"), "{text}");
        assert!(text.contains(".text 102 B, was 100 B; 3 more"), "{text}");
        assert_eq!(code.view().programs[0].functions.len(), 23);
        assert!(code.has_changed("f22") && !code.has_changed("f23"));
        let said = sentence(&code).unwrap();
        assert_eq!(
            said,
            "23 functions have other machine code in v2 than in v1"
        );
    }

    #[test]
    fn a_function_that_goes_along_is_marked_if_its_code_changed() {
        let (code, _) = shown(Ok(difference(1)));
        let marked = |kind, name: &str, code| {
            let correlate = NamedCorrelate {
                kind,
                name: name.into(),
                monitor: MonitorName::new("profile").unwrap(),
                about: String::new(),
                unit: None,
                figures: Correlate {
                    candidate: 0,
                    base: 1.0,
                    new: 2.0,
                    basis: ChangeBasis::Itself,
                    percent: Ok(100.0),
                    percent_interval: Err(Undefined::NoSpread),
                    p: 0.0,
                    correlation: 1.0,
                    share: None,
                    score: 1.0,
                },
                over_versions: None,
            };
            (
                correlate.marked_name(code),
                correlate.view(code).code_changed,
            )
        };
        let function = CandidateKind::Function;
        let changed = ("f0 (its code changed)".to_owned(), Some(true));
        assert_eq!(marked(function, "f0", Some(&code)), changed);
        let same = ("f1".to_owned(), Some(false));
        assert_eq!(marked(function, "f1", Some(&code)), same);
        assert_eq!(marked(function, "f0", None), ("f0".to_owned(), None));
        let metric = marked(CandidateKind::Metric, "f0", Some(&code));
        assert_eq!(metric, ("f0".to_owned(), None));
    }

    #[test]
    fn what_cannot_be_compared_is_said() {
        let (code, text) = shown(Ok(difference(0)));
        assert!(
            text.contains("app: .text 102 B, was 100 B; no function's code changed"),
            "{text}"
        );
        assert_eq!(sentence(&code), None);
        let stripped = CodeDifference {
            is_stripped: [true, false],
            ..difference(0)
        };
        assert!(shown(Ok(stripped)).1.contains("it has no symbols"));
        let other = CodeDifference {
            compared_bytes_of: Some("Riscv64".into()),
            ..difference(1)
        };
        assert!(
            shown(Ok(other))
                .1
                .contains("code of Riscv64 is compared byte by byte")
        );
        let (code, text) = shown(Err("it is gone".into()));
        assert!(text.contains("app: it is gone"), "{text}");
        let view = code.view();
        assert_eq!(view.programs[0].note.as_deref(), Some("it is gone"));
        assert_eq!(view.programs[0].text_base, None);
    }
}
