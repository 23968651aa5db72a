//! Keys: who may write, and who may see the jury's view.
//!
//! A key comes as `Authorization: Bearer KEY`, or as the password of HTTP Basic, whatever the user name: CLICS tools send
//! Basic. Only digests are kept, and they are compared in constant time. A browser that opens a protected live connection
//! cannot send a header: it takes a ticket, which is good once and for a minute.

use std::time::Duration;

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, StatusCode, header, request::Parts},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use rand::RngExt as _;
use subtle::ConstantTimeEq as _;

use super::{Shared, problem::Problem};
use crate::{
    contest::View,
    store::{Digest, SharedStore, StoreError},
};

/// How long a ticket is good.
pub const TICKET_TTL: Duration = Duration::from_secs(60);

/// The keys of this server.
#[derive(Debug)]
pub struct Keys {
    admin: Digest,
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nobody in particular.
    Public,
    /// Whoever holds the admin key.
    Admin,
}

impl Keys {
    /// The digest under which a key is kept.
    pub fn digest(key: &str) -> Digest {
        Digest::of(&[b"rankcast key", key.as_bytes()])
    }

    /// This key alone.
    pub fn new(admin: Digest) -> Self {
        Self { admin }
    }

    /// Who asks; an error for a key that is wrong.
    pub fn access(&self, headers: &HeaderMap) -> Result<Access, Problem> {
        let Some(value) = headers.get(header::AUTHORIZATION) else {
            return Ok(Access::Public);
        };
        let wrong = || Problem::new(StatusCode::UNAUTHORIZED, "the key is wrong");
        // A key may be any text, and not only ASCII.
        let key = std::str::from_utf8(value.as_bytes())
            .ok()
            .and_then(presented)
            .ok_or_else(wrong)?;
        if bool::from(Self::digest(&key).0.ct_eq(&self.admin.0)) {
            Ok(Access::Admin)
        } else {
            Err(wrong())
        }
    }

    /// Only for the holder of the admin key.
    pub fn admin(&self, headers: &HeaderMap) -> Result<(), Problem> {
        match self.access(headers)? {
            Access::Admin => Ok(()),
            Access::Public => Err(Problem::new(
                StatusCode::UNAUTHORIZED,
                "a key is needed: send it as `Authorization: Bearer KEY`, or as the password of HTTP Basic",
            )),
        }
    }

    /// Only for those who may see that view.
    pub fn view(&self, headers: &HeaderMap, view: View) -> Result<(), Problem> {
        match view {
            View::Public => self.access(headers).map(drop),
            // What the hall sees is not for those at home, unless the contest's settings give it to the public view.
            View::Jury | View::Ceremony => self.admin(headers),
        }
    }
}

/// What a handler takes that is for the holder of the admin key alone. Standing before the body, it refuses strangers
/// before anything of what they send is read.
pub struct Admin;

impl FromRequestParts<Shared> for Admin {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> Result<Self, Problem> {
        app.keys.admin(&parts.headers).map(|()| Self)
    }
}

/// The key of an Authorization header.
fn presented(value: &str) -> Option<String> {
    let (scheme, rest) = value.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(rest.trim().to_owned());
    }
    if scheme.eq_ignore_ascii_case("basic") {
        let decoded = String::from_utf8(BASE64_STANDARD.decode(rest.trim()).ok()?).ok()?;
        return decoded
            .split_once(':')
            .map(|(_, password)| password.to_owned());
    }
    None
}

/// A new secret: 160 random bits.
pub fn new_secret(prefix: &str) -> String {
    let random: [u8; 20] = rand::rng().random();
    random.iter().fold(prefix.to_owned(), |mut text, byte| {
        use std::fmt::Write as _;
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Makes a ticket for a scope.
pub async fn make_ticket(store: &SharedStore, scope: &str) -> Result<String, StoreError> {
    let ticket = new_secret("rct_");
    store
        .put_ticket(
            Digest::of(&[b"rankcast ticket", ticket.as_bytes()]),
            scope,
            TICKET_TTL,
        )
        .await?;
    Ok(ticket)
}

/// Takes a ticket: is it good for that scope? It is used up either way.
pub async fn take_ticket(
    store: &SharedStore,
    ticket: &str,
    scope: &str,
) -> Result<bool, StoreError> {
    let taken = store
        .take_ticket(Digest::of(&[b"rankcast ticket", ticket.as_bytes()]))
        .await?;
    Ok(taken.is_some_and(|good_for| good_for == scope))
}
