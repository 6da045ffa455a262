//! Finds out who asks.

use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use backsight_store::{AccessScope, AccessToken, Store, TokenHash};
use jiff::Timestamp;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    sync::{Mutex, Semaphore},
    time::sleep,
};

/// The header in which a proxy says who asks, unless whoever runs the server names another.
pub const PERSON_HEADER: &str = "x-forwarded-user";
/// The scheme by which a token is sent (RFC 6750).
const SCHEME: &str = "Bearer";
/// How long a wrong token is answered after, one at a time: ten a second can be tried at most.
const WRONG: Duration = Duration::from_millis(if cfg!(test) { 10 } else { 100 });
/// Wrong ones that wait for their answer; more are sent away at once.
const WAITING: usize = 50;
/// For so long the tokens of the store are believed to be the same: one that is revoked is taken no longer than that.
const FRESH: Duration = Duration::from_secs(1);
/// A token that isn't among them is looked for again after so long: it may be new.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// Longest name of a person, in characters.
const LONGEST_NAME: usize = 200;

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Who it is; nothing where only the server's own token says that it is somebody.
    pub person: Option<String>,
    /// The name of the store's token.
    pub token: Option<String>,
    /// What this one may do.
    pub scope: AccessScope,
    /// Whether a proxy says so: it was let in by what browsers send by themselves.
    pub is_proxied: bool,
}

/// Why nothing is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccessRefusal {
    /// The token is none, or none any more.
    Unknown,
    /// Too many wrong ones are tried.
    TooMany,
    /// A proxy doesn't say who asks.
    NoPerson(HeaderName),
    /// The store can't be asked.
    Store(String),
}

impl AccessRefusal {
    /// The status of the answer.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Unknown => StatusCode::UNAUTHORIZED,
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Self::NoPerson(_) => StatusCode::FORBIDDEN,
            Self::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// A sentence about it.
    pub fn sentence(&self) -> String {
        match self {
            Self::Unknown => "the token is missing, wrong, revoked or over".to_owned(),
            Self::TooMany => "too many wrong tokens: wait".to_owned(),
            Self::NoPerson(header) => {
                format!("the proxy doesn't say who asks, in the header `{header}`")
            }
            Self::Store(why) => format!("the store can't be asked who this is: {why}"),
        }
    }
}

impl AccessRefusal {
    /// An answer with what says how to be let in, where a token is wanted.
    pub fn with_challenge(&self, mut answer: Response) -> Response {
        if *self == Self::Unknown {
            let scheme = HeaderValue::from_static(SCHEME);
            answer
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, scheme);
        }
        answer
    }
}

impl IntoResponse for AccessRefusal {
    fn into_response(self) -> Response {
        let answer = (self.status(), format!("{}\n", self.sentence()));
        self.with_challenge(answer.into_response())
    }
}

/// Lets those in who are known.
#[derive(Clone)]
pub struct Gate {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    /// The server's own token: it is as long as the server runs, and says nothing of who has it.
    own: Option<TokenHash>,
    person_header: HeaderName,
    known: Mutex<Option<(Instant, Vec<AccessToken>)>>,
    turn: Mutex<()>,
    places: Semaphore,
}

impl Gate {
    /// For those with a token of this store or with the server's own, and for whom a proxy names in this header.
    pub fn new(store: Store, own: Option<&str>, person_header: HeaderName) -> Self {
        Self {
            inner: Arc::new(Inner {
                store,
                own: own.map(TokenHash::of),
                person_header,
                known: Mutex::default(),
                turn: Mutex::default(),
                places: Semaphore::new(WAITING),
            }),
        }
    }

    /// Who asks; nothing where nobody says.
    ///
    /// # Errors
    /// What is said isn't true, or can't be checked.
    pub async fn caller(&self, headers: &HeaderMap) -> Result<Option<Caller>, AccessRefusal> {
        let given = headers.get(header::AUTHORIZATION);
        let given = given.and_then(|given| given.to_str().ok());
        // Whoever has let a caller in by other means says so in the same header.
        let given = given.and_then(|given| given.split_once(' '));
        let token = given.filter(|(scheme, _)| scheme.eq_ignore_ascii_case(SCHEME));
        let Some((_, token)) = token else {
            return Ok(None);
        };
        let hash = TokenHash::of(token.trim());
        if self.inner.own.as_ref() == Some(&hash) {
            return Ok(Some(Caller {
                person: None,
                token: None,
                scope: AccessScope::Control,
                is_proxied: false,
            }));
        }
        match self.token(&hash).await? {
            Some(token) => self.caller_with(token, headers).map(Some),
            None => Err(self.refuse().await),
        }
    }

    /// The same, where nobody may ask who isn't known.
    ///
    /// # Errors
    /// As [`Gate::caller`]; nobody says who asks.
    pub async fn known_caller(&self, headers: &HeaderMap) -> Result<Caller, AccessRefusal> {
        match self.caller(headers).await? {
            Some(caller) => Ok(caller),
            None => Err(self.refuse().await),
        }
    }

    fn caller_with(
        &self,
        token: AccessToken,
        headers: &HeaderMap,
    ) -> Result<Caller, AccessRefusal> {
        if token.scope != AccessScope::Proxy {
            return Ok(Caller {
                person: Some(token.person),
                token: Some(token.name),
                scope: token.scope,
                is_proxied: false,
            });
        }
        let header = &self.inner.person_header;
        // A header that comes twice is one of somebody else's too.
        let mut said = headers.get_all(header).iter();
        let person = match (said.next(), said.next()) {
            (Some(person), None) => std::str::from_utf8(person.as_bytes()).ok(),
            _ => None,
        };
        let person = person.map(str::trim).filter(|person| {
            !person.is_empty()
                && person.chars().count() <= LONGEST_NAME
                && !person.chars().any(char::is_control)
        });
        match person {
            Some(person) => Ok(Caller {
                person: Some(person.to_owned()),
                token: Some(token.name),
                scope: AccessScope::Control,
                is_proxied: true,
            }),
            None => Err(AccessRefusal::NoPerson(header.clone())),
        }
    }

    /// The valid token with this hash.
    async fn token(&self, hash: &TokenHash) -> Result<Option<AccessToken>, AccessRefusal> {
        let mut known = self.inner.known.lock().await;
        // One that isn't known may have been made just now.
        for fresh in [FRESH, LOOK_AGAIN] {
            let is_fresh = known.as_ref().is_some_and(|(at, _)| at.elapsed() < fresh);
            if !is_fresh {
                let tokens = self.inner.store.access_tokens().await;
                let tokens = tokens.map_err(|why| AccessRefusal::Store(why.to_string()))?;
                *known = Some((Instant::now(), tokens));
            }
            let now = Timestamp::now();
            let tokens = known.iter().flat_map(|(_, tokens)| tokens);
            let mut valid = tokens.filter(|token| token.is_valid(now));
            // What is compared are hashes: how long that takes says nothing of a token.
            if let Some(token) = valid.find(|token| token.hash == *hash) {
                return Ok(Some(token.clone()));
            }
        }
        Ok(None)
    }

    async fn refuse(&self) -> AccessRefusal {
        let Ok(_place) = self.inner.places.try_acquire() else {
            return AccessRefusal::TooMany;
        };
        let _turn = self.inner.turn.lock().await;
        sleep(WRONG).await;
        AccessRefusal::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn store_with(tokens: &[(&str, AccessScope, Option<i64>)]) -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        for (name, scope, ends) in tokens {
            let token = AccessToken {
                name: (*name).to_owned(),
                person: format!("{name}'s"),
                scope: *scope,
                hash: TokenHash::of(&format!("secret of {name}")),
                made: Timestamp::now(),
                made_by: "test".to_owned(),
                ends: ends.map(|second| Timestamp::from_second(second).unwrap()),
                revoked: None,
                revoked_by: None,
            };
            assert!(store.add_access_token(&token).await.unwrap());
        }
        (folder, store)
    }

    fn gate(store: &Store) -> Gate {
        let header = HeaderName::from_static(PERSON_HEADER);
        Gate::new(store.clone(), Some("own"), header)
    }

    fn headers(token: &str, people: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let token = HeaderValue::from_str(&format!("Bearer {token}")).unwrap();
        headers.insert(header::AUTHORIZATION, token);
        for person in people {
            headers.append(
                PERSON_HEADER,
                HeaderValue::from_bytes(person.as_bytes()).unwrap(),
            );
        }
        headers
    }

    #[tokio::test]
    async fn who_asks_is_known_by_a_token() {
        let tokens = [
            ("reader", AccessScope::Read, None),
            ("late", AccessScope::Control, Some(1000)),
            ("proxy", AccessScope::Proxy, None),
        ];
        let (_folder, store) = store_with(&tokens).await;
        let gate = gate(&store);
        assert_eq!(gate.caller(&HeaderMap::new()).await, Ok(None));
        // Who isn't a proxy can't say that it is somebody else.
        let reader = gate.caller(&headers("secret of reader", &["root"])).await;
        let reader = reader.unwrap().unwrap();
        assert_eq!(reader.person.as_deref(), Some("reader's"));
        assert_eq!(
            (reader.scope, reader.is_proxied),
            (AccessScope::Read, false)
        );
        let own = gate.known_caller(&headers("own", &[])).await.unwrap();
        assert_eq!((own.person, own.scope), (None, AccessScope::Control));
        for wrong in ["", "secret of late", "secret of readeR", "reader", "own "] {
            let known = gate.known_caller(&headers(wrong, &[])).await;
            let is_own = wrong.trim() == "own";
            assert_eq!(known.is_ok(), is_own, "{wrong:?}");
        }
        assert_eq!(
            gate.known_caller(&HeaderMap::new()).await,
            Err(AccessRefusal::Unknown)
        );
        let proxied = gate
            .known_caller(&headers("secret of proxy", &["Zoë "]))
            .await;
        let proxied = proxied.unwrap();
        assert_eq!(proxied.person.as_deref(), Some("Zoë"));
        assert!(proxied.is_proxied);
        for people in [&[][..], &[""], &["\t"], &["one", "two"]] {
            let said = gate.known_caller(&headers("secret of proxy", people)).await;
            assert!(
                matches!(said, Err(AccessRefusal::NoPerson(_))),
                "{people:?}"
            );
        }
    }

    #[tokio::test]
    async fn the_scheme_of_a_token_has_no_case() {
        let (_folder, store) = store_with(&[("one", AccessScope::Read, None)]).await;
        let gate = gate(&store);
        for (scheme, is_taken) in [
            ("Bearer", true),
            ("bearer", true),
            ("BEARER ", true),
            ("Basic", false),
            ("Bear", false),
        ] {
            let given = HeaderValue::from_str(&format!("{scheme} secret of one")).unwrap();
            let headers = HeaderMap::from_iter([(header::AUTHORIZATION, given)]);
            let caller = gate.caller(&headers).await.unwrap();
            assert_eq!(caller.is_some(), is_taken, "{scheme}");
        }
    }

    #[test]
    fn only_who_has_no_token_is_told_how_to_be_let_in() {
        let person = HeaderName::from_static(PERSON_HEADER);
        for (refusal, is_told) in [
            (AccessRefusal::Unknown, true),
            (AccessRefusal::TooMany, false),
            (AccessRefusal::NoPerson(person), false),
        ] {
            let answer = refusal.into_response();
            let told = answer.headers().get(header::WWW_AUTHENTICATE);
            assert_eq!(told.is_some(), is_told, "{answer:?}");
        }
    }

    #[tokio::test]
    async fn a_token_that_was_made_just_now_is_taken() {
        let (_folder, store) = store_with(&[("one", AccessScope::Read, None)]).await;
        let gate = gate(&store);
        assert!(gate.known_caller(&headers("wrong", &[])).await.is_err());
        let mut token = store.access_tokens().await.unwrap().remove(0);
        token.name = "two".to_owned();
        token.hash = TokenHash::of("secret of two");
        assert!(store.add_access_token(&token).await.unwrap());
        sleep(LOOK_AGAIN).await;
        let asked = headers("secret of two", &[]);
        assert!(gate.known_caller(&asked).await.is_ok());
    }

    #[tokio::test]
    async fn a_token_that_is_revoked_is_taken_no_longer_than_a_second() {
        let (_folder, store) = store_with(&[("one", AccessScope::Read, None)]).await;
        let gate = gate(&store);
        let asked = headers("secret of one", &[]);
        assert!(gate.known_caller(&asked).await.is_ok());
        assert!(store.revoke_access_token("one", "test").await.unwrap());
        assert!(!store.revoke_access_token("one", "test").await.unwrap());
        let until = Instant::now() + Duration::from_secs(10);
        while gate.known_caller(&asked).await.is_ok() {
            assert!(Instant::now() < until);
            sleep(Duration::from_millis(20)).await;
        }
    }

    #[tokio::test]
    async fn wrong_tokens_wait_for_each_other_and_right_ones_dont() {
        let (_folder, store) = store_with(&[("one", AccessScope::Read, None)]).await;
        let gate = gate(&store);
        let guess = |number: usize| {
            let gate = gate.clone();
            tokio::spawn(async move { gate.known_caller(&headers(&number.to_string(), &[])).await })
        };
        let guesses: Vec<_> = (0..WAITING + 20).map(guess).collect();
        let began = Instant::now();
        tokio::task::yield_now().await;
        assert!(
            gate.known_caller(&headers("secret of one", &[]))
                .await
                .is_ok()
        );
        assert!(began.elapsed() < WRONG * (WAITING as u32 / 2));
        let mut sent_away = 0;
        for guess in guesses {
            match guess.await.unwrap() {
                Err(AccessRefusal::TooMany) => sent_away += 1,
                refused => assert_eq!(refused, Err(AccessRefusal::Unknown)),
            }
        }
        assert_eq!(sent_away, 20);
        assert!(began.elapsed() >= WRONG * WAITING as u32);
    }
}
