//! Files of every site that are the same whatever it tells: style sheets and scripts, which `build.rs` made of `web/`.

/// The style sheet of all pages.
pub const STYLE_SHEET: &str = "style.css";
/// What pages with trials look like besides.
pub const TRIALS_STYLE: &str = "assets/trials.css";
/// The script of the page of a target, and what only that page looks like.
pub const HISTORY_SCRIPT: &str = "assets/history.js";
pub const HISTORY_STYLE: &str = "assets/history.css";

/// The script that looks for news, where pages are served.
pub const LIVE_SCRIPT: &str = "assets/live.js";

/// The script that lets a reader say something, where the server takes it.
pub const CONTROL_SCRIPT: &str = "assets/control.js";

/// The style sheet: that of reports, and what only these pages need.
const STYLE: &str = concat!(
    include_str!("../../templates/report.css"),
    include_str!("../../templates/pages/published.css")
);

/// The script of the first page.
pub const HOME_SCRIPT: &str = "assets/home.js";

/// The script of pages that compare.
pub const COMPARISON_SCRIPT: &str = "assets/compare.js";

/// The script that opens the folds that an address leads into.
pub const FOLD_SCRIPT: &str = "assets/fold.js";

const CSS: &str = "text/css; charset=utf-8";
pub const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// A file by its address.
pub struct Asset {
    pub address: &'static str,
    pub media_type: &'static str,
    pub content: &'static str,
}

pub const ASSETS: [Asset; 9] = [
    Asset {
        address: STYLE_SHEET,
        media_type: CSS,
        content: STYLE,
    },
    Asset {
        address: TRIALS_STYLE,
        media_type: CSS,
        content: include_str!("../../templates/trials.css"),
    },
    Asset {
        address: LIVE_SCRIPT,
        media_type: JAVASCRIPT,
        content: include_str!("../../templates/pages/live.js"),
    },
    Asset {
        address: CONTROL_SCRIPT,
        media_type: JAVASCRIPT,
        content: include_str!("../../templates/pages/control.js"),
    },
    Asset {
        address: HOME_SCRIPT,
        media_type: JAVASCRIPT,
        content: include_str!("../../templates/pages/home.js"),
    },
    Asset {
        address: FOLD_SCRIPT,
        media_type: JAVASCRIPT,
        content: include_str!("../../templates/pages/fold.js"),
    },
    Asset {
        address: COMPARISON_SCRIPT,
        media_type: JAVASCRIPT,
        content: include_str!("../../templates/pages/compare.js"),
    },
    Asset {
        address: HISTORY_SCRIPT,
        media_type: JAVASCRIPT,
        content: include_str!(concat!(env!("OUT_DIR"), "/web/history.js")),
    },
    Asset {
        address: HISTORY_STYLE,
        media_type: CSS,
        content: include_str!(concat!(env!("OUT_DIR"), "/web/history.css")),
    },
];
