//! What can go wrong with a bucket, in words that say what to do about it.
//!
//! The library's errors are texts inside of texts: the status, S3's code and the innermost cause are taken out of these.

use std::{error::Error, fmt};

/// Why a bucket didn't do what it was asked to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketError {
    /// What was tried: `write`, `read`, …
    pub doing: &'static str,
    /// With what: `s3://BUCKET/KEY`.
    pub url: String,
    /// What came of it.
    pub fault: BucketFault,
}

/// What came of a request to a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BucketFault {
    /// There is no object of this key.
    NoObject,
    /// There is no such bucket.
    NoBucket {
        /// Status and code.
        said: String,
    },
    /// The credentials may not, or aren't known.
    AccessDenied {
        /// Status and code.
        said: String,
    },
    /// No credentials are found.
    NoCredentials {
        /// What was tried last.
        said: String,
    },
    /// The clock of this machine is too far from the bucket's.
    ClockSkew {
        /// Status and code.
        said: String,
    },
    /// The service can't answer now.
    Unavailable {
        /// Status and code.
        said: String,
    },
    /// The connection wasn't made, or broke.
    Connection {
        /// What the system said.
        said: String,
    },
    /// No answer came in time.
    TimedOut,
    /// Another store keeps its objects there.
    Taken,
    /// Anything else.
    Other {
        /// What was said.
        said: String,
    },
}

impl BucketFault {
    /// What an error of the library means.
    pub(crate) fn new(error: &object_store::Error) -> Self {
        let mut texts = vec![error.to_string()];
        let mut source = error.source();
        while let Some(inner) = source {
            texts.push(inner.to_string());
            source = inner.source();
        }
        Self::of_texts(&texts)
    }

    /// The same of the texts of an error and its causes, the outermost first.
    fn of_texts(texts: &[String]) -> Self {
        let whole = texts.join("\n");
        let innermost = texts.last().map_or("", String::as_str);
        let status = after(&whole, "status code: ").map(|rest| first_word(rest).to_owned());
        let code = between(&whole, "<Code>", "</Code>");
        let said = match (&status, code) {
            (Some(status), Some(code)) => format!("{status} {code}"),
            (Some(status), None) => status.clone(),
            (None, Some(code)) => code.to_owned(),
            (None, None) => innermost.chars().take(300).collect(),
        };
        let is_missing = whole.contains("not found") || status.as_deref() == Some("404");
        match (code, status.as_deref()) {
            (Some("NoSuchBucket"), _) => Self::NoBucket { said },
            (Some("NoSuchKey"), _) => Self::NoObject,
            (Some("RequestTimeTooSkewed" | "RequestExpired"), _) => Self::ClockSkew { said },
            (
                Some(
                    "AccessDenied"
                    | "AllAccessDisabled"
                    | "InvalidAccessKeyId"
                    | "SignatureDoesNotMatch"
                    | "ExpiredToken"
                    | "InvalidToken"
                    | "AccountProblem",
                ),
                _,
            )
            | (_, Some("401" | "403")) => Self::AccessDenied { said },
            (_, Some(status)) if status.starts_with('5') || status == "429" => {
                Self::Unavailable { said }
            }
            (Some("SlowDown" | "InternalError" | "ServiceUnavailable"), _) => {
                Self::Unavailable { said }
            }
            _ if whole.contains("169.254.169.254") || whole.contains("169.254.170.2") => {
                Self::NoCredentials {
                    said: innermost.chars().take(300).collect(),
                }
            }
            (None, None)
                if whole.contains("Missing AccessKey")
                    || whole.contains("Missing SecretAccessKey") =>
            {
                Self::NoCredentials { said }
            }
            (None, None | Some("404")) if is_missing => Self::NoObject,
            (None, None) if whole.contains("timed out") => Self::TimedOut,
            (None, None)
                if [
                    "error sending request",
                    "connection",
                    "Connection",
                    "body",
                    "HTTP error",
                ]
                .iter()
                .any(|word| whole.contains(word)) =>
            {
                Self::Connection { said }
            }
            _ => Self::Other { said },
        }
    }

    /// Whether asking again at once may help.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::Connection { .. } | Self::TimedOut)
    }
}

fn after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    text.split_once(mark).map(|(_, rest)| rest)
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<&'a str> {
    after(text, from)?.split_once(to).map(|(inner, _)| inner)
}

fn first_word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric());
    &text[..end.unwrap_or(text.len())]
}

impl fmt::Display for BucketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { doing, url, fault } = self;
        // What a study prints is written.
        let goes_on = match *doing {
            "write" => "; a study that was stopped by this goes on with `backsight resume`",
            _ => "",
        };
        write!(f, "can't {doing} {url}: ")?;
        match fault {
            BucketFault::NoObject => f.write_str("it isn't in the bucket"),
            BucketFault::NoBucket { said } => write!(
                f,
                "there is no such bucket ({said}): make it, mend `raw` in the store's settings, or mend AWS_ENDPOINT_URL and AWS_REGION"
            ),
            BucketFault::AccessDenied { said } => write!(
                f,
                "access is denied ({said}): check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the profile that AWS_PROFILE names; they must be allowed to \
                 s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket there{goes_on}"
            ),
            BucketFault::NoCredentials { said } => write!(
                f,
                "there are no credentials ({said}): set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
            ),
            BucketFault::ClockSkew { said } => write!(
                f,
                "the clock of this machine is too far from the bucket's ({said}): set it (`timedatectl` says whether something does){goes_on}"
            ),
            BucketFault::Unavailable { said } => write!(
                f,
                "the bucket isn't available ({said}), also when asked again: try later; `patience` in the store's settings says how long it is asked{goes_on}"
            ),
            BucketFault::Connection { said } => write!(
                f,
                "the connection failed ({said}), also when tried again: check the network and AWS_ENDPOINT_URL{goes_on}"
            ),
            BucketFault::TimedOut => write!(
                f,
                "no answer came in time, also when asked again: check the network and AWS_ENDPOINT_URL{goes_on}"
            ),
            BucketFault::Taken => f.write_str(
                "another store keeps its raw outputs there: two stores at one place would remove each other's; choose another prefix (`backsight store raw s3://BUCKET/PREFIX`)",
            ),
            BucketFault::Other { said } => f.write_str(said),
        }
    }
}

impl Error for BucketError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(texts: &[&str]) -> BucketFault {
        let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
        BucketFault::of_texts(&texts)
    }

    #[test]
    fn what_s3_says_is_told_apart() {
        let answer = |status: &str, code: &str| {
            fault(&[
                "Generic S3 error: Error performing GET",
                &format!(
                    "Server returned non-2xx status code: {status}: <Error><Code>{code}</Code></Error>"
                ),
            ])
        };
        assert_eq!(answer("404 Not Found", "NoSuchKey"), BucketFault::NoObject);
        let said = |text: &str| text.to_owned();
        assert_eq!(
            answer("404 Not Found", "NoSuchBucket"),
            BucketFault::NoBucket {
                said: said("404 NoSuchBucket")
            }
        );
        assert_eq!(
            answer("403 Forbidden", "RequestTimeTooSkewed"),
            BucketFault::ClockSkew {
                said: said("403 RequestTimeTooSkewed")
            }
        );
        assert_eq!(
            answer("403 Forbidden", "AccessDenied"),
            BucketFault::AccessDenied {
                said: said("403 AccessDenied")
            }
        );
        assert_eq!(
            answer("400 Bad Request", "ExpiredToken"),
            BucketFault::AccessDenied {
                said: said("400 ExpiredToken")
            }
        );
        assert_eq!(
            fault(&["Server returned non-2xx status code: 503 Service Unavailable: "]),
            BucketFault::Unavailable { said: said("503") }
        );
        assert_eq!(
            fault(&[
                "Generic S3 error",
                "error sending request",
                "Connection refused (os error 111)"
            ]),
            BucketFault::Connection {
                said: said("Connection refused (os error 111)")
            }
        );
        assert_eq!(
            fault(&["Generic S3 error", "operation timed out"]),
            BucketFault::TimedOut
        );
        let missing = "Generic S3 error: Missing AccessKeyId";
        assert_eq!(
            fault(&[missing, "Missing AccessKeyId"]),
            BucketFault::NoCredentials {
                said: said("Missing AccessKeyId")
            }
        );
    }

    #[test]
    fn a_study_that_was_stopped_is_named_where_something_was_written() {
        let of = |doing| {
            let error = BucketError {
                doing,
                url: "s3://lab/a".to_owned(),
                fault: BucketFault::TimedOut,
            };
            error.to_string()
        };
        assert!(
            of("write")
                .ends_with("; a study that was stopped by this goes on with `backsight resume`")
        );
        assert!(!of("read").contains("study"), "{}", of("read"));
    }
}
