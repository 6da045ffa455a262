//! The name of who says something that is kept: of an acceptance, of what was found out about an alert.

/// The name that was given, else the user's.
///
/// # Errors
/// None was given, and this user has none.
pub fn user_name(given: Option<&str>) -> miette::Result<String> {
    // Neither is set in many a container and service.
    let variables = || {
        let mut names = ["USER", "LOGNAME"]
            .iter()
            .filter_map(|name| std::env::var(name).ok());
        names.find(|name| !name.is_empty())
    };
    let name = given.map(str::to_owned);
    name.or_else(variables)
        .or_else(user_of_system)
        .ok_or_else(|| {
            miette::miette!(
                help = "--by WHO",
                "nobody knows who says it: this user has no name"
            )
        })
}

/// The name that the system's list of users has for who runs this.
fn user_of_system() -> Option<String> {
    let uid = rustix::process::getuid().as_raw().to_string();
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let mut users = users.lines().map(|line| line.split(':'));
    users.find_map(|mut user| {
        let (name, own) = (user.next()?, user.nth(1)?);
        (own == uid && !name.is_empty()).then(|| name.to_owned())
    })
}
