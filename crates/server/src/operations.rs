//! What can be asked of the read API: the table that its answers and its description follow.

use backsight_report::{
    alerts::AlertsView,
    comparison::ComparisonView,
    doctor::DoctorHistoryView,
    history::{HistoryStudyView, HistoryView},
    queue::QueueView,
    schema::schema_of,
    stored_study::StudyListEntry,
    test_matrix::TestMatrix,
};
use backsight_store::AccessScope;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::Serialize;
use serde_json::Value;

use crate::requests::{
    AnnotateRequest, CancelRequest, ControlRequest, QueueRequest, TriageRequest, read_request,
};

/// Something that can be asked.
pub struct Operation {
    /// Its name for programs.
    pub id: &'static str,
    /// Its path after `/api/v1/`; what stands in braces is a parameter.
    pub path: &'static str,
    /// What it answers.
    pub about: &'static str,
    /// Its parameters: name, whether it is in the query, what it is.
    pub parameters: &'static [(&'static str, bool, &'static str)],
    /// Why what was named may have no answer, which is status 422; empty where it always has one.
    pub refusal: &'static str,
    /// The schema of its answer; nothing where it is one of several that `schema` of the command has.
    pub schema: fn() -> Option<Value>,
}

/// Everything that can be asked.
pub const OPERATIONS: &[Operation] = &[
    Operation {
        id: "listTargets",
        path: "targets",
        about: "The targets that have a history.",
        parameters: &[],
        refusal: "",
        schema: || Some(schema_of::<Vec<TargetView<'_>>>()),
    },
    Operation {
        id: "getHistory",
        path: "targets/{target}/history",
        about: "What was measured along a target's versions, and where it changed: what `backsight history` prints.",
        parameters: &[
            ("target", false, "The target's name."),
            (
                "series",
                true,
                "Only series whose name has this text in it.",
            ),
        ],
        refusal: "",
        schema: || Some(schema_of::<HistoryView<'_>>()),
    },
    Operation {
        id: "compareVersions",
        path: "targets/{target}/compare/{versions}",
        about: "Measured versions of a target beside each other: what `backsight compare --target` prints.",
        parameters: &[
            ("target", false, "The target's name."),
            (
                "versions",
                false,
                "Two to six versions with `..` between them, the baseline first: each by its name, its part of addresses, or at least 7 characters of its identity.",
            ),
        ],
        refusal: "Fewer or more versions are named than can be compared, or one of them twice.",
        schema: || Some(schema_of::<ComparisonView<'_>>()),
    },
    Operation {
        id: "compareTestbeds",
        path: "targets/{target}/testbeds/{version}/{testbeds}",
        about: "What testbeds of a target measured last of one version beside each other: what `backsight compare --target --testbeds` prints.",
        parameters: &[
            ("target", false, "The target's name."),
            ("version", false, "The version, named as in a comparison."),
            (
                "testbeds",
                false,
                "The names of two to six testbeds with `..` between them, the baseline first.",
            ),
        ],
        refusal: "Fewer or more testbeds are named than can be compared, or one of them twice.",
        schema: || Some(schema_of::<ComparisonView<'_>>()),
    },
    Operation {
        id: "compareStudies",
        path: "compare/{studies}",
        about: "Studies beside each other: what `backsight compare` prints.",
        parameters: &[(
            "studies",
            false,
            "The names or numbers of two to six studies with `..` between them, the baseline first.",
        )],
        refusal: "Fewer or more studies are named than can be compared, or one of them twice; or one isn't one thing: a study along a history (its versions are compared), a `try` (which compares its own sides), one that measured nothing.",
        schema: || Some(schema_of::<ComparisonView<'_>>()),
    },
    Operation {
        id: "getTests",
        path: "targets/{target}/tests",
        about: "The tests of a target's suites along its versions: what `backsight tests` prints.",
        parameters: &[("target", false, "The target's name.")],
        refusal: "",
        schema: || Some(schema_of::<TestMatrix>()),
    },
    Operation {
        id: "listAlerts",
        path: "alerts",
        about: "One alert for each change of all targets, the worst first: what `backsight alerts --json` prints.",
        parameters: &[],
        refusal: "",
        schema: || Some(schema_of::<AlertsView<'_>>()),
    },
    Operation {
        id: "listMachines",
        path: "machines",
        about: "The machines that measure, by their self-tests: what `backsight doctor --history --json` prints.",
        parameters: &[],
        refusal: "",
        schema: || Some(schema_of::<DoctorHistoryView>()),
    },
    Operation {
        id: "listStudies",
        path: "studies",
        about: "The studies, the newest first: what `backsight studies` prints.",
        parameters: &[],
        refusal: "",
        schema: || Some(schema_of::<Vec<StudyListEntry<'_>>>()),
    },
    Operation {
        id: "getStudy",
        path: "studies/{study}",
        about: "What a study came to: what `backsight show --format json` prints. Of a study along a history (`step`) that is the history of its target, of which it is a part. `backsight schema` has the schemas of the kinds.",
        parameters: &[("study", false, "The study's name or number.")],
        refusal: "The study measured nothing that it could be judged by.",
        schema: || None,
    },
    Operation {
        id: "listJobs",
        path: "queue",
        about: "The jobs of the queue: what `backsight queue list --all --json` prints.",
        parameters: &[],
        refusal: "",
        schema: || Some(schema_of::<QueueView>()),
    },
    Operation {
        id: "getCaller",
        path: "me",
        about: "Who asks, as far as the server knows, and what this one may do.",
        parameters: &[],
        refusal: "",
        schema: || Some(schema_of::<CallerView<'_>>()),
    },
    Operation {
        id: "getDescription",
        path: "openapi.json",
        about: "This description.",
        parameters: &[],
        refusal: "",
        schema: || None,
    },
];

/// Something that who may can ask to be done, with `POST`.
pub struct WriteOperation {
    /// Its name for programs.
    pub id: &'static str,
    /// Its path after `/api/v1/`.
    pub path: &'static str,
    /// What it does.
    pub about: &'static str,
    /// What a token has to be for.
    pub scope: AccessScope,
    /// Reads what is asked.
    pub read: fn(&[u8]) -> Result<ControlRequest, String>,
    /// The schema of what is asked.
    pub schema: fn() -> Value,
}

/// Everything that may be done.
pub const WRITE_OPERATIONS: &[WriteOperation] = &[
    WriteOperation {
        id: "triage",
        path: "triage",
        about: "Say how an alert stands: what `backsight triage` and `backsight accept` keep.",
        scope: AccessScope::Control,
        read: |body| read_request(body, ControlRequest::Triage),
        schema: request_schema::<TriageRequest>,
    },
    WriteOperation {
        id: "annotate",
        path: "annotate",
        about: "Put a note beside a version: what `backsight annotate` keeps.",
        scope: AccessScope::Control,
        read: |body| read_request(body, ControlRequest::Annotate),
        schema: request_schema::<AnnotateRequest>,
    },
    WriteOperation {
        id: "addJob",
        path: "queue",
        about: "Put a measurement into the queue, which `backsight queue worker` works through.",
        scope: AccessScope::Queue,
        read: |body| read_request(body, ControlRequest::Queue),
        schema: request_schema::<QueueRequest>,
    },
    WriteOperation {
        id: "cancelJob",
        path: "queue/cancel",
        about: "Cancel a job that waits, or stop one that runs.",
        scope: AccessScope::Queue,
        read: |body| read_request(body, ControlRequest::Cancel),
        schema: request_schema::<CancelRequest>,
    },
];

fn request_schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    settings.into_generator().into_root_schema_for::<T>().into()
}

/// Who asks, as far as the server knows.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CallerView<'a> {
    /// The name; nothing where nobody says who it is.
    pub person: Option<&'a str>,
    /// What this one may do: `read`, `queue`, `control`.
    pub scope: &'a str,
}

/// What was done.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DoneView {
    /// It in a sentence.
    pub said: String,
}

/// A target in the list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TargetView<'a> {
    /// Its name.
    pub target: &'a str,
    /// How many versions are known.
    pub versions: usize,
    /// How many of them were measured.
    pub measured: usize,
    /// How many series there are: a metric of a cell each.
    pub series: usize,
    /// How many tests its suites have.
    pub tests: usize,
    /// The studies that its history is made of, oldest first.
    pub studies: Vec<HistoryStudyView<'a>>,
}

/// Why there is no answer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ErrorView {
    /// Why.
    pub error: String,
}
