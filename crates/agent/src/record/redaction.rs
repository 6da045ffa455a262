//! What a record leaves out: passwords, keys, tokens. When in doubt a value is left out: a record without it is still a record.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// Stands where a secret stood.
pub(crate) const LEFT_OUT: &str = "(secret)";

/// Words in a name whose value is a secret; other letters may stand before the first ones.
const SECRET_WORDS: &str = r"[0-9A-Za-z_]*(?:passwd|password|passphrase|passcode|secret|token|pwd|credentials?)|pass|auth|authorization|(?:api|access|private|secret|encryption|signing|luks|session)[-_.]?key|session[-_.]?id|cookie|sig|signature|psk|chap|pin";

/// Each with a group `keep` before the secret, and the secret behind it. Letters of words are ASCII: patterns with all letters of
/// Unicode take ten times as long to compile, which every agent that records does.
static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let key = format!(r"(?:[0-9A-Za-z_.-]*[-_.])?(?:{SECRET_WORDS})(?:[-_.][0-9A-Za-z_.-]*)?");
    let value = r#"(?:"[^"]*"|'[^']*'|[^\s,;&'"]+)"#;
    let patterns = [
        // A private key, whole.
        r"(?s)(?P<keep>)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)".to_owned(),
        // `scheme://user:password@host`, and a user that is a token.
        r"(?P<keep>[a-zA-Z][0-9A-Za-z_+.-]*://)[^\s/@'\x22]+@".to_owned(),
        // `Authorization: Bearer …`
        r"(?P<keep>(?i:bearer|basic|digest|negotiate)\s+)[0-9A-Za-z_.~+/=-]{8,}".to_owned(),
        // `password=…`, `--api-key …`, `"token": "…"`
        format!(r#"(?P<keep>(?i)(?-u:\b){key}["']?\s*[=:]\s*){value}"#),
        format!(r"(?P<keep>(?i)(?:^|\s)--?{key}\s+){value}"),
        // `curl -u user:password`, `sshpass -p …`, `mysql -p…`
        r"(?P<keep>(?:^|\s)(?:-u|--user|--proxy-user)[\s=]*[^\s:]+:)\S+".to_owned(),
        r"(?P<keep>(?-u:\b)sshpass\s+-p\s*)\S+".to_owned(),
        r"(?P<keep>(?-u:\b)(?:mysql|mariadb|mysqldump|mysqladmin)(?-u:\b)[^|;&]*?\s-p)\S+".to_owned(),
        // Tokens that are known by their beginning or their shape.
        r"(?P<keep>(?-u:\b))(?:gh[pousr]_[0-9A-Za-z_]{16,}|github_pat_[0-9A-Za-z_]{16,}|glpat-[0-9A-Za-z_-]{16,}|sk-[0-9A-Za-z_-]{16,}|sk_live_[0-9A-Za-z_]{16,}|xox[abposr]-[0-9A-Za-z_-]{8,}|A(?:KI|SI)A[A-Z0-9]{12,}|AIza[0-9A-Za-z_-]{16,}|ya29\.[0-9A-Za-z_-]{8,}|npm_[0-9A-Za-z_]{16,}|pypi-[0-9A-Za-z_-]{16,}|dop_v1_[0-9A-Za-z_]{16,}|hf_[0-9A-Za-z_]{16,}|SG\.[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,})".to_owned(),
        r"(?P<keep>(?-u:\b))eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{4,}\.[0-9A-Za-z_-]*".to_owned(),
    ];
    let compiled = patterns.iter().map(|pattern| Regex::new(pattern));
    compiled
        .map(|regex| regex.expect("a pattern of ours is one"))
        .collect()
});

static SECRET_NAME: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = format!(r"(?i)(?:^|[-_./])(?:{SECRET_WORDS})(?:$|[-_./])");
    Regex::new(&pattern).expect("a pattern of ours is one")
});

/// The value of this name without what may be a secret.
pub(crate) fn without_secrets(name: &str, value: &str) -> String {
    if SECRET_NAME.is_match(name) {
        return LEFT_OUT.to_owned();
    }
    if !may_hold_secret(value) {
        return value.to_owned();
    }
    let mut text = Cow::Borrowed(value);
    for pattern in PATTERNS.iter() {
        if pattern.is_match(&text) {
            let ending = if pattern.as_str().ends_with('@') {
                "@"
            } else {
                ""
            };
            let left = pattern.replace_all(&text, format!("${{keep}}{LEFT_OUT}{ending}"));
            text = Cow::Owned(left.into_owned());
        }
    }
    text.into_owned()
}

/// Whether a pattern can fit at all: each needs a letter, and either what stands between a name and a secret or a long word. Most
/// values of a record are short numbers and versions, and are told apart so.
fn may_hold_secret(value: &str) -> bool {
    /// The shortest token that is known by its beginning.
    const SHORTEST_TOKEN: usize = 12;
    let has_letter = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    let separates = |byte: u8| matches!(byte, b'=' | b':' | b'@') || byte.is_ascii_whitespace();
    has_letter && (value.len() >= SHORTEST_TOKEN || value.bytes().any(separates))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name, a value with a secret, and the secret.
    const PLANTED: &[(&str, &str, &str)] = &[
        ("PGPASSWORD", "hunter2", "hunter2"),
        (
            "AWS_SECRET_ACCESS_KEY",
            "wJalrXUtnFEMI/K7MDENG",
            "wJalrXUtnFEMI",
        ),
        ("GITHUB_TOKEN", "abc", "abc"),
        ("API_KEY", "k-123", "k-123"),
        ("SSH_PASSPHRASE", "open sesame", "sesame"),
        ("DB_CREDENTIALS", "root:toor", "toor"),
        ("SESSION_COOKIE", "id=77", "77"),
        ("wifi.psk", "letmein99", "letmein99"),
        (
            "kernel.cmdline",
            "ro quiet rd.luks.key=s3same root=/dev/vda1",
            "s3same",
        ),
        ("kernel.cmdline", "iscsi_password=dragon ip=dhcp", "dragon"),
        (
            "mount./mnt",
            "cifs rw,username=me,password=qwerty,vers=3.0",
            "qwerty",
        ),
        ("http_proxy", "http://me:swordfish@proxy:3128", "swordfish"),
        (
            "remote",
            "https://ghp_abcdefghijklmnop1234@host/repo.git",
            "abcdefghijklmnop",
        ),
        (
            "remote",
            "postgres://lab:pa55@db/backsight?sslmode=require",
            "pa55",
        ),
        ("url", "https://host/x?access_token=zzz999&y=1", "zzz999"),
        (
            "url",
            "https://bucket/x?X-Amz-Signature=deadbeef01&z=2",
            "deadbeef01",
        ),
        (
            "command",
            "curl -H 'Authorization: Bearer abcdef0123456789' host",
            "abcdef0123456789",
        ),
        ("command", "curl -u admin:geheim host", "geheim"),
        ("command", "mysql -uroot -pS3cret db", "S3cret"),
        ("command", "sshpass -p fido ssh host", "fido"),
        ("command", "tool --password topsecret --size 4", "topsecret"),
        ("command", "tool --api-key=0a1b2c3d", "0a1b2c3d"),
        ("command", "env MYSQL_PWD=rex mysql", "rex"),
        ("json", r#"{"token": "t0ps3cret", "n": 4}"#, "t0ps3cret"),
        ("yaml", "client_secret: 'blue42'", "blue42"),
        ("any", "AKIAIOSFODNN7EXAMPLE", "IOSFODNN7"),
        ("any", "key xoxb-123456789012-abcdef", "123456789012"),
        ("any", "glpat-abcdefghijklmnopqrst", "abcdefghijkl"),
        (
            "any",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
            "eyJzdWIi",
        ),
        (
            "any",
            "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----",
            "b3BlbnNzaC1rZXk",
        ),
        ("any", "sk-abcdefghijklmnop1234567890", "abcdefghijkl"),
        ("any", "npm_abcdefghijklmnop12345678", "abcdefghijkl"),
    ];

    #[test]
    fn planted_secrets_are_left_out() {
        for (name, value, secret) in PLANTED {
            let kept = without_secrets(name, value);
            assert!(!kept.contains(secret), "{name}: {value} became {kept}");
            assert!(kept.contains(LEFT_OUT), "{name}: {kept}");
        }
        assert!(PLANTED.len() >= 30);
    }

    #[test]
    fn what_is_no_secret_stays_as_it_is() {
        for (name, value) in [
            (
                "kernel.cmdline",
                "BOOT_IMAGE=/boot/vmlinuz-6.1 root=UUID=1c2d3e4f-0000 ro mitigations=off isolcpus=2-7",
            ),
            ("mount./", "/dev/vda1 ext4 rw,relatime,errors=remount-ro"),
            ("package.libc6", "2.36-9+deb12u10"),
            ("cpu.flags", "fpu vme de pse tsc msr pae sha_ni sse4_2"),
            ("sysctl.kernel.keys.maxkeys", "200"),
            ("kernel-config.CONFIG_CRYPTO_AUTHENC", "m"),
            ("module.passthrough_bridge", "1"),
            (
                "environment.PATH",
                "/usr/local/sbin:/usr/local/bin:/usr/sbin",
            ),
            ("link.eth0.driver", "virtio_net"),
            ("url", "https://example.org/path?x=1"),
        ] {
            assert_eq!(without_secrets(name, value), value, "{name}");
        }
    }
}
