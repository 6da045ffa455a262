//! How a bucket is reached: address and credentials by the variables and profiles that all programs for S3 read.
//!
//! `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, `AWS_REGION`, `AWS_ACCESS_KEY_ID`, … come first; what they don't say, the profile that
//! `AWS_PROFILE` names says (`default` unless set), in `~/.aws/credentials` and `~/.aws/config`. Profiles that log in elsewhere
//! (`sso_…`, `role_arn`, `credential_process`) aren't understood here.

use backsight_model::BucketUrl;
use object_store::{
    ClientOptions, ObjectStore, RetryConfig,
    aws::{AmazonS3Builder, AmazonS3ConfigKey, Checksum},
};
use std::{collections::HashMap, env, path::PathBuf, sync::Arc, time::Duration};

/// A connection that isn't made by then won't be.
const CONNECT: Duration = Duration::from_secs(5);
/// A request, with all that it sends and gets, takes no longer.
pub(crate) const REQUEST: Duration = Duration::from_secs(30);

/// A client for this bucket, whose requests are tried again for so long.
pub(crate) fn connect(
    url: &BucketUrl,
    patience: Duration,
) -> object_store::Result<Arc<dyn ObjectStore>> {
    // Whoever was first has chosen; ours is the only one that is built in.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let profile = Profile::load();
    let said = |name: &str, key: &str| {
        let of_environment = env::var(name).ok().filter(|value| !value.is_empty());
        of_environment.or_else(|| profile.0.get(key).cloned())
    };
    let mut builder = AmazonS3Builder::from_env()
        .with_bucket_name(&url.bucket)
        // The bucket refuses what doesn't arrive as it was sent.
        .with_checksum_algorithm(Checksum::SHA256);
    let endpoint = said("AWS_ENDPOINT_URL_S3", "endpoint_url")
        .or_else(|| said("AWS_ENDPOINT_URL", "endpoint_url"));
    if let Some(endpoint) = endpoint {
        let plain = endpoint.starts_with("http://");
        builder = builder.with_endpoint(endpoint).with_allow_http(plain);
    }
    let region = said("AWS_REGION", "region").or_else(|| said("AWS_DEFAULT_REGION", "region"));
    builder = builder.with_region(region.as_deref().unwrap_or("us-east-1"));
    for (name, key, config) in [
        (
            "AWS_ACCESS_KEY_ID",
            "aws_access_key_id",
            AmazonS3ConfigKey::AccessKeyId,
        ),
        (
            "AWS_SECRET_ACCESS_KEY",
            "aws_secret_access_key",
            AmazonS3ConfigKey::SecretAccessKey,
        ),
        (
            "AWS_SESSION_TOKEN",
            "aws_session_token",
            AmazonS3ConfigKey::Token,
        ),
    ] {
        // A key of one place isn't mixed with a secret of another.
        let from_profile = env::var_os("AWS_ACCESS_KEY_ID").is_none();
        let value = match from_profile {
            true => profile.0.get(key).cloned(),
            false => env::var(name).ok(),
        };
        if let Some(value) = value {
            builder = builder.with_config(config, value);
        }
    }
    let plain = builder.get_config_value(&AmazonS3ConfigKey::Endpoint);
    let plain = plain.is_some_and(|endpoint| endpoint.starts_with("http://"));
    let client = ClientOptions::new()
        .with_allow_http(plain)
        .with_connect_timeout(CONNECT.min(patience.max(Duration::from_secs(1))))
        .with_timeout(REQUEST);
    let retry = RetryConfig {
        backoff: object_store::BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(5),
            base: 2.,
        },
        max_retries: 1000,
        retry_timeout: patience,
    };
    let bucket = builder
        .with_client_options(client)
        .with_retry(retry)
        .build()?;
    Ok(Arc::new(bucket))
}

/// What the profile says.
#[derive(Debug, Default)]
struct Profile(HashMap<String, String>);

impl Profile {
    fn load() -> Self {
        let name = env::var("AWS_PROFILE").unwrap_or_else(|_| "default".to_owned());
        let file = |variable: &str, file: &str| {
            let named = env::var_os(variable).map(PathBuf::from);
            let path = named
                .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".aws").join(file)))?;
            std::fs::read_to_string(path).ok()
        };
        let mut keys = HashMap::new();
        if let Some(text) = file("AWS_CONFIG_FILE", "config") {
            keys.extend(section(&text, &[&format!("profile {name}"), &name]));
        }
        if let Some(text) = file("AWS_SHARED_CREDENTIALS_FILE", "credentials") {
            keys.extend(section(&text, &[&name]));
        }
        Self(keys)
    }
}

/// Keys and values of the sections with one of these names.
fn section(text: &str, names: &[&str]) -> HashMap<String, String> {
    let mut inside = false;
    let mut keys = HashMap::new();
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(name) = trimmed
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            inside = names.contains(&name.trim());
        } else if inside
            // A line that is set in belongs to the key above it.
            && !line.starts_with([' ', '\t', '#', ';'])
            && let Some((key, value)) = trimmed.split_once('=')
        {
            keys.insert(key.trim().to_lowercase(), value.trim().to_owned());
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_read_as_other_programs_do() {
        let text = "[default]\naws_access_key_id = A\n# no\n[profile lab]\nregion=eu-1\ns3 =\n  region = no\nendpoint_url = http://x\n[other]\nregion = no\n";
        let lab = section(text, &["profile lab", "lab"]);
        assert_eq!(lab["region"], "eu-1");
        assert_eq!(lab["endpoint_url"], "http://x");
        assert_eq!(section(text, &["default"])["aws_access_key_id"], "A");
        assert!(section(text, &["none"]).is_empty());
    }
}
