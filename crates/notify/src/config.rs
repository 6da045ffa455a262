//! `notify.toml`: who is told of changes, how, and when.

use backsight_model::{DocumentError, Located, TomlDocument, UnreadableFileError, did_you_mean};
use backsight_report::escape;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::{Path, PathBuf};

use crate::{
    channel_rules::ChannelRules,
    message_template::MessageTemplate,
    quiet_hours::QuietHours,
    secret::{PerhapsSecret, Secret},
};

/// The name of the file in a store's folder.
pub const NOTIFY_FILE: &str = "notify.toml";

/// More news than this at once are one message, unless a channel says otherwise.
const AT_ONCE: usize = 5;
/// Longest name of a channel, in characters.
const LONGEST_NAME: usize = 60;

/// Who is told of changes: `notify.toml` in a store's folder, or the file that `backsight notify --config` names.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct NotifyFile {
    /// Where `backsight serve` or `backsight publish` shows the site, to which messages link: `https://perf.example.org/`.
    #[serde(default)]
    site: Option<Located<String>>,
    /// When mails and webhooks are quiet.
    #[serde(default)]
    quiet_hours: Option<QuietHours>,
    /// Channels by their names: each is one of `mail`, `webhook`, `github`, `gitlab`, `gitea` (Forgejo too) and `gerrit`.
    #[serde(default)]
    channel: IndexMap<Located<String>, ChannelFile>,
}

/// A way by which people are told.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ChannelFile {
    /// Mails.
    mail: Option<MailFile>,
    /// Requests to a program or a chat.
    webhook: Option<WebhookChannel>,
    /// Statuses of commits and comments on pull requests of GitHub.
    github: Option<ForgeChannel>,
    /// Statuses of commits and comments on merge requests of GitLab.
    gitlab: Option<ForgeChannel>,
    /// Statuses of commits and comments on pull requests of Gitea or Forgejo.
    gitea: Option<ForgeChannel>,
    /// Messages and votes on changes of Gerrit.
    gerrit: Option<GerritChannel>,
    /// Which changes it is told of; all unless said.
    #[serde(default)]
    when: ChannelRules,
    /// Whether it keeps quiet hours; mails and webhooks do unless said, others don't.
    quiet: Option<bool>,
    /// More news than this at once are one message: 5 unless said. Of mails and webhooks.
    at_once: Option<usize>,
}

/// Mails.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct MailFile {
    /// Who sends them: `lab@example.org`, `Lab <lab@example.org>`.
    from: Located<String>,
    /// Who gets them.
    to: Located<Vec<Located<String>>>,
    /// The server that takes them.
    smtp: Option<SmtpServer>,
    /// The system's program that takes them, in place of a server: `/usr/sbin/sendmail`.
    sendmail: Option<PathBuf>,
}

/// Whom to tell, how, and when.
#[derive(Debug, Clone)]
pub struct NotifyConfig {
    /// The folder from which files are named.
    pub folder: PathBuf,
    /// The address of the site, which ends in `/`.
    pub site: Option<String>,
    /// When mails and webhooks are quiet.
    pub quiet_hours: Option<QuietHours>,
    /// The channels by their names.
    pub channels: IndexMap<String, NotifyChannel>,
}

/// A way by which people are told.
#[derive(Debug, Clone)]
pub struct NotifyChannel {
    /// How.
    pub kind: ChannelKind,
    /// Which changes.
    pub rules: ChannelRules,
    /// Whether it keeps quiet hours.
    pub is_quiet: bool,
    /// More news than this at once are one message; none: each is always one of its own.
    pub at_once: Option<usize>,
}

/// How people are told.
#[derive(Debug, Clone)]
pub enum ChannelKind {
    /// By mail.
    Mail(MailChannel),
    /// By a request to a program or a chat.
    Webhook(WebhookChannel, Option<Box<MessageTemplate>>),
    /// On commits and pull requests.
    Forge(ForgeKind, ForgeChannel),
    /// On changes of Gerrit.
    Gerrit(GerritChannel),
}

/// Who keeps repositories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForgeKind {
    /// GitHub.
    GitHub,
    /// GitLab.
    GitLab,
    /// Gitea, and Forgejo, which has the same interface.
    Gitea,
}

/// Mails: from whom, to whom, by what.
#[derive(Debug, Clone)]
pub struct MailChannel {
    /// Who sends them.
    pub from: lettre::message::Mailbox,
    /// Who gets them; at least one.
    pub to: Vec<lettre::message::Mailbox>,
    /// What takes them.
    pub transport: MailTransport,
}

/// What takes mails.
#[derive(Debug, Clone)]
pub enum MailTransport {
    /// A server.
    Smtp(SmtpServer),
    /// A program of the system.
    Sendmail(PathBuf),
}

/// A mail server.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SmtpServer {
    /// Its name.
    pub host: String,
    /// Its port; else 25, 465 for `tls = "tls"`, 587 for `tls = "starttls"`.
    pub port: Option<u16>,
    /// How the connection is encrypted; `starttls` unless said.
    #[serde(default)]
    pub tls: MailEncryption,
    /// Who logs in; nobody unless said.
    pub user: Option<String>,
    /// The user's password.
    pub password: Option<Secret>,
    /// A file with certificates, in PEM, that are trusted beside the system's.
    pub certificates: Option<PathBuf>,
}

/// How the connection to a mail server is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MailEncryption {
    /// It isn't.
    None,
    /// It begins without, and nothing is sent before it is.
    #[default]
    Starttls,
    /// From the beginning.
    Tls,
}

/// Requests to a program or a chat.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WebhookChannel {
    /// Where they go. An address that is itself the permission is read from a file or the environment.
    pub url: PerhapsSecret,
    /// How the message is written: `slack`, `mattermost`, `matrix`, or a file of your own (`./mine.toml`); else as JSON of our own.
    pub template: Option<Located<String>>,
    /// What signs the requests, as Standard Webhooks says: `webhook-signature`.
    pub secret: Option<Secret>,
    /// What permits them: `authorization: Bearer …`.
    pub token: Option<Secret>,
    /// Values for the placeholders of a template: `{ room = "!abc:example.org" }`.
    #[serde(default)]
    pub values: IndexMap<String, String>,
    /// A file with certificates, in PEM, that are trusted beside the system's.
    pub certificates: Option<PathBuf>,
}

/// Statuses of commits and comments on pull requests. Only changes whose version is known are told: nobody is blamed for a guess.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ForgeChannel {
    /// The server: `https://git.example.org`; else the public one (of GitHub `https://api.github.com`, of GitLab `https://gitlab.com`).
    pub server: Option<String>,
    /// The repository: `owner/name`.
    pub repository: Located<String>,
    /// The token that may do so.
    pub token: Secret,
    /// Whether commits get a status.
    #[serde(default = "yes")]
    pub status: bool,
    /// Whether the pull requests of a commit get a comment.
    #[serde(default = "yes")]
    pub comment: bool,
    /// A file with certificates, in PEM, that are trusted beside the system's.
    pub certificates: Option<PathBuf>,
}

/// Messages and votes on changes of Gerrit. Only changes whose version is known are told.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct GerritChannel {
    /// The server: `https://review.example.org`.
    pub server: String,
    /// The project; any unless said.
    pub project: Option<String>,
    /// Who says it.
    pub user: String,
    /// The user's HTTP password.
    pub password: Secret,
    /// The label of the vote, such as `Performance`; without one there is only a message.
    pub label: Option<String>,
    /// The vote on what is worse.
    #[serde(default = "against")]
    pub worse: i32,
    /// The vote on what is better.
    #[serde(default = "in_favour")]
    pub better: i32,
    /// A file with certificates, in PEM, that are trusted beside the system's.
    pub certificates: Option<PathBuf>,
}

fn yes() -> bool {
    true
}

fn against() -> i32 {
    -1
}

fn in_favour() -> i32 {
    1
}

impl NotifyConfig {
    /// The configuration in the file at this path.
    ///
    /// # Errors
    /// It can't be read, or as [`NotifyConfig::read`].
    pub fn open(path: &Path) -> miette::Result<Self> {
        let document = TomlDocument::open(path).map_err(|error| UnreadableFileError {
            help: Some("`backsight schema notify` says what channels there are".to_owned()),
            ..error
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Ok(Self::read(&document, folder)?)
    }

    /// Refuses names that no channel has.
    ///
    /// # Errors
    /// There is no channel of one of these names.
    pub fn check_channels(&self, names: &[String]) -> miette::Result<()> {
        let unknown = names.iter().find(|name| !self.channels.contains_key(*name));
        let Some(name) = unknown else {
            return Ok(());
        };
        let known: Vec<&str> = self.channels.keys().map(String::as_str).collect();
        let near = did_you_mean(name, known.iter().copied());
        Err(miette::miette!(
            help = near.unwrap_or_else(|| format!("there are: {}", known.join(", "))),
            "there is no channel `{}`",
            escape::line(name)
        ))
    }

    /// The configuration that this document has; files are named from this folder.
    ///
    /// # Errors
    /// It isn't TOML of the right shape, or something in it can't work; the problem points at the place.
    pub fn read(
        document: &TomlDocument,
        folder: impl Into<PathBuf>,
    ) -> Result<Self, DocumentError> {
        let file: NotifyFile = document.read()?;
        let folder = folder.into();
        let site = file.site.map(|site| site_address(document, &site));
        let mut channels = IndexMap::new();
        for (name, channel) in file.channel {
            check_name(document, &name)?;
            let channel = read_channel(document, &name, channel, &folder)?;
            channels.insert(name.into_inner(), channel);
        }
        Ok(Self {
            folder,
            site: site.transpose()?,
            quiet_hours: file.quiet_hours,
            channels,
        })
    }
}

fn site_address(document: &TomlDocument, site: &Located<String>) -> Result<String, DocumentError> {
    let is_address = site.starts_with("http://") || site.starts_with("https://");
    let is_plain =
        !site.contains(|c: char| c.is_whitespace() || c.is_control() || "<>\"'()".contains(c));
    match is_address && is_plain {
        true => Ok(format!("{}/", site.trim_end_matches('/'))),
        false => Err(document.problem(
            site.span(),
            "this is no address of a site: expected for example https://perf.example.org/",
            "here",
            None,
        )),
    }
}

/// The name goes into keys and headers.
fn check_name(document: &TomlDocument, name: &Located<String>) -> Result<(), DocumentError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_name = !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(is_plain);
    match is_name {
        true => Ok(()),
        false => Err(document.problem(
            name.span(),
            "a channel's name has letters, digits, `-`, `_` and `.`",
            "here",
            None,
        )),
    }
}

fn read_channel(
    document: &TomlDocument,
    name: &Located<String>,
    file: ChannelFile,
    folder: &Path,
) -> Result<NotifyChannel, DocumentError> {
    let forges = [
        (ForgeKind::GitHub, file.github),
        (ForgeKind::GitLab, file.gitlab),
        (ForgeKind::Gitea, file.gitea),
    ];
    let mut kinds = Vec::new();
    if let Some(mail) = file.mail {
        kinds.push(ChannelKind::Mail(read_mail(document, mail)?));
    }
    if let Some(webhook) = file.webhook {
        let template = webhook.template.as_ref();
        let template = template.map(|name| MessageTemplate::find(document, name, folder));
        kinds.push(ChannelKind::Webhook(
            webhook.clone(),
            template.transpose()?.map(Box::new),
        ));
    }
    for (kind, forge) in forges {
        if let Some(forge) = forge {
            check_repository(document, &forge.repository)?;
            if kind == ForgeKind::Gitea && forge.server.is_none() {
                let help = "server = \"https://git.example.org\"";
                return Err(document.problem(
                    name.span(),
                    "there is no one public server of Gitea or Forgejo",
                    "say the server of this channel",
                    Some(help.to_owned()),
                ));
            }
            kinds.push(ChannelKind::Forge(kind, forge));
        }
    }
    kinds.extend(file.gerrit.map(ChannelKind::Gerrit));
    let mut kinds = kinds.into_iter();
    let (Some(kind), None) = (kinds.next(), kinds.next()) else {
        return Err(document.problem(
            name.span(),
            "a channel is one of mail, webhook, github, gitlab, gitea and gerrit",
            "this one",
            Some(format!("[channel.{}.mail]", **name)),
        ));
    };
    let is_for_readers = matches!(kind, ChannelKind::Mail(_) | ChannelKind::Webhook(..));
    Ok(NotifyChannel {
        rules: ChannelRules {
            // What lies at a guess is said of no commit.
            located: file.when.located || !is_for_readers,
            ..file.when
        },
        is_quiet: file.quiet.unwrap_or(is_for_readers),
        at_once: is_for_readers.then(|| file.at_once.unwrap_or(AT_ONCE).max(1)),
        kind,
    })
}

fn read_mail(document: &TomlDocument, file: MailFile) -> Result<MailChannel, DocumentError> {
    let mailbox = |text: &Located<String>| {
        text.parse::<lettre::message::Mailbox>().map_err(|_| {
            document.problem(
                text.span(),
                "this is no address of mail: expected for example `lab@example.org` or `Lab <lab@example.org>`",
                "here",
                None,
            )
        })
    };
    let to: Vec<_> = file.to.iter().map(mailbox).collect::<Result<_, _>>()?;
    let problem = |message: &str, help: &str| {
        document.problem(file.to.span(), message, "here", Some(help.to_owned()))
    };
    if to.is_empty() {
        return Err(problem(
            "nobody gets these mails",
            "to = [\"team@example.org\"]",
        ));
    }
    let transport = match (file.smtp, file.sendmail) {
        (Some(smtp), None) => {
            if smtp.user.is_some() != smtp.password.is_some() {
                return Err(problem(
                    "user and password of the mail server belong together",
                    "smtp = { host = \"mail.example.org\", user = \"lab\", password = { file = \"password\" } }",
                ));
            }
            MailTransport::Smtp(smtp)
        }
        (None, Some(program)) => MailTransport::Sendmail(program),
        _ => {
            return Err(problem(
                "mails need what takes them: `smtp` or `sendmail`",
                "smtp = { host = \"mail.example.org\" }, or sendmail = \"/usr/sbin/sendmail\"",
            ));
        }
    };
    Ok(MailChannel {
        from: mailbox(&file.from)?,
        to,
        transport,
    })
}

fn check_repository(
    document: &TomlDocument,
    repository: &Located<String>,
) -> Result<(), DocumentError> {
    let is_part = |part: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        !part.is_empty() && part.chars().all(is_plain) && !part.chars().all(|c| c == '.')
    };
    let is_named = repository.contains('/') && repository.split('/').all(is_part);
    match is_named {
        true => Ok(()),
        false => Err(document.problem(
            repository.span(),
            "this is no repository: expected owner/name",
            "here",
            None,
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<NotifyConfig, DocumentError> {
        NotifyConfig::read(&TomlDocument::new(NOTIFY_FILE, text), ".")
    }

    #[test]
    fn a_whole_file_is_read() {
        let config = read(
            r#"
site = "https://perf.example.org"
quiet-hours = { from = "20:00", to = "07:00", zone = "UTC" }

[channel.team]
mail = { from = "Lab <lab@example.org>", to = ["team@example.org"], smtp = { host = "mail.example.org", user = "lab", password = { env = "MAIL" } } }
when = { kinds = ["worse"], least-percent = 2 }

[channel.chat.webhook]
url = { file = "slack" }
template = "slack"

[channel.forge]
gitea = { server = "https://git.example.org", repository = "lab/app", token = { file = "token" } }

[channel.review.gerrit]
server = "https://review.example.org"
user = "lab"
password = { file = "gerrit" }
label = "Performance"
"#,
        )
        .unwrap();
        assert_eq!(config.site.as_deref(), Some("https://perf.example.org/"));
        let [team, chat, forge, review] =
            ["team", "chat", "forge", "review"].map(|name| &config.channels[name]);
        assert!(team.is_quiet && team.at_once == Some(5) && !team.rules.located);
        assert!(matches!(chat.kind, ChannelKind::Webhook(_, Some(_))));
        assert!(!forge.is_quiet && forge.at_once.is_none() && forge.rules.located);
        assert!(matches!(&review.kind, ChannelKind::Gerrit(gerrit) if gerrit.worse == -1));
    }

    #[test]
    fn faults_point_at_their_place() {
        let mail = "[channel.a.mail]\nfrom = \"a@b.c\"\nto = [\"d@e.f\"]\n";
        for (text, place, said) in [
            ("site = \"perf\"\n", (1, 8), "no address of a site"),
            ("[channel.a]\n", (1, 10), "a channel is one of mail"),
            (
                "[channel.\"a b\".webhook]\nurl = \"x\"\n",
                (1, 10),
                "a channel's name has",
            ),
            (mail, (3, 6), "`smtp` or `sendmail`"),
            (
                "[channel.a.mail]\nfrom = \"a\"\nto = [\"d@e.f\"]\nsendmail = \"x\"\n",
                (2, 8),
                "no address of mail",
            ),
            (
                "[channel.a.mail]\nfrom = \"a@b.c\"\nto = [\"d@e.f\\r\\nBcc: g@h.i\"]\nsendmail = \"x\"\n",
                (3, 7),
                "no address of mail",
            ),
            (
                "[channel.a.github]\nrepository = \"../x\"\ntoken = { env = \"T\" }\n",
                (2, 14),
                "no repository",
            ),
            (
                "[channel.a.github]\nrepository = \"a/b\"\ntoken = \"secret\"\n",
                (3, 9),
                "",
            ),
            (
                "[channel.a.gitea]\nrepository = \"a/b\"\ntoken = { env = \"T\" }\n",
                (1, 10),
                "no one public server",
            ),
            (
                "[channel.a.webhook]\nurl = \"x\"\ntemplate = \"slak\"\n",
                (3, 12),
                "there is no template `slak`",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.to_string().contains(said), "{text}: {error}");
            assert_eq!(error.place(), place, "{text}: {error}");
        }
    }
}
