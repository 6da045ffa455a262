//! `backsight token`: who may ask through a server, and what.

use backsight_access::new_token;
use backsight_report::{
    access::{TokenView, token_table},
    escape,
};
use backsight_store::{AccessScope, AccessToken, Store, TokenHash};
use jiff::Timestamp;
use miette::IntoDiagnostic as _;
use std::process::ExitCode;

use crate::{
    common_options::CommonOptions,
    files,
    user_name::user_name,
    value_parsers::{SCOPES, moment, one_of},
};

/// Longest name of a token or a person, in characters.
const LONGEST_NAME: usize = 100;

/// Arguments of `token`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct TokenArgs {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Debug, Clone, Copy, clap::Args)]
struct ListArgs {
    /// As JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// List tokens: whose each is, what for, since when and until when
    List(ListArgs),
    /// Make a token and print it: it is shown this once, and the store keeps its hash alone
    Add {
        /// Its name, by which it is listed and revoked
        name: String,
        /// What it is for; each may do what those before it may
        #[arg(long, value_name = "SCOPE", value_parser = one_of(&SCOPES), default_value = "read")]
        scope: AccessScope,
        /// Who asks with it; else the token's name
        #[arg(long, value_name = "NAME")]
        person: Option<String>,
        /// When it ends by itself: 90d, "YYYY-MM-DD 18:00"; else never
        #[arg(long, value_name = "TIME", value_parser = moment)]
        until: Option<Timestamp>,
        /// Who makes it; else the user's name
        #[arg(long, value_name = "NAME")]
        by: Option<String>,
    },
    /// Take a token back: servers refuse it a second later
    Revoke {
        /// Its name
        name: String,
        /// Who does; else the user's name
        #[arg(long, value_name = "NAME")]
        by: Option<String>,
    },
}

impl TokenArgs {
    /// Makes, revokes or lists tokens.
    pub fn execute(self, shared: &CommonOptions) -> miette::Result<ExitCode> {
        crate::block_on(async {
            match self.what.unwrap_or(What::List(self.list)) {
                What::List(how) => list(shared, how).await?,
                What::Add {
                    name,
                    scope,
                    person,
                    until,
                    by,
                } => {
                    let token = NewToken {
                        person: named(person.as_deref().unwrap_or(&name), "a person")?,
                        name: named(&name, "a token")?,
                        scope,
                        ends: until,
                        by: user_name(by.as_deref())?,
                    };
                    add(&files::open_store(shared).await?, token).await?;
                }
                What::Revoke { name, by } => {
                    let store = files::existing_store(shared).await?;
                    revoke(&store, &name, &user_name(by.as_deref())?).await?;
                }
            }
            Ok(ExitCode::SUCCESS)
        })
    }
}

struct NewToken {
    name: String,
    person: String,
    scope: AccessScope,
    ends: Option<Timestamp>,
    by: String,
}

/// A name that can stand in a line.
fn named(text: &str, what: &str) -> miette::Result<String> {
    let name = text.trim();
    let is_plain = !name.is_empty() && !name.chars().any(char::is_control);
    if !is_plain || name.chars().count() > LONGEST_NAME {
        return Err(miette::miette!(
            "{:?} can't be the name of {what}: 1 to {LONGEST_NAME} characters in a line",
            escape::line(text)
        ));
    }
    Ok(name.to_owned())
}

async fn list(shared: &CommonOptions, how: ListArgs) -> miette::Result<()> {
    let store = files::existing_store(shared).await?;
    let tokens = store.access_tokens().await.into_diagnostic()?;
    let now = Timestamp::now();
    let views: Vec<TokenView<'_>> = tokens.iter().map(|it| TokenView::new(it, now)).collect();
    files::print(&match how.json {
        true => backsight_report::json(&views).into_diagnostic()?,
        false => token_table(&views, now, files::width()),
    })
}

async fn add(store: &Store, new: NewToken) -> miette::Result<()> {
    let secret = new_token().into_diagnostic()?;
    let token = AccessToken {
        name: new.name,
        person: new.person,
        scope: new.scope,
        hash: TokenHash::of(&secret),
        made: Timestamp::now(),
        made_by: new.by,
        ends: new.ends,
        revoked: None,
        revoked_by: None,
    };
    if !store.add_access_token(&token).await.into_diagnostic()? {
        return Err(miette::miette!(
            help = "choose another name: what was asked with a token is known by its name, also when it is revoked",
            "there is a token `{}` already, or was",
            escape::line(&token.name)
        ));
    }
    files::print(&format!("{secret}\n"))?;
    files::print_note(&format!(
        "token `{}` of {} is for scope {}; this is the only time that it is shown",
        escape::line(&token.name),
        escape::line(&token.person),
        token.scope
    ));
    Ok(())
}

async fn revoke(store: &Store, name: &str, by: &str) -> miette::Result<()> {
    let revoked = store.revoke_access_token(name, by).await;
    if !revoked.into_diagnostic()? {
        return Err(miette::miette!(
            help = "`backsight token` lists tokens",
            "there is no token `{}`, or it was revoked before",
            escape::line(name)
        ));
    }
    files::print(&format!("token `{}` is revoked\n", escape::line(name)))
}
