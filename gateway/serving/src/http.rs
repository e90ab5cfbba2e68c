//! Requests of HTTP within the limits of their clients, for the names of the server.

use std::sync::Arc;

use axum::{
    Router,
    extract::{ConnectInfo, Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use tokio::time::sleep;

use crate::{
    access::{AccessControl, Caller, Reason, Refusal},
    admission::{Client, REFUSAL_PAUSE},
    hosts::AllowedHosts,
    incoming::Peer,
    limits::{Limits, Refused, Slot},
};

/// What requests are admitted by.
#[derive(Clone, Debug)]
pub struct Admission {
    /// Who may do what.
    pub access: Arc<AccessControl>,
    /// How much of it.
    pub limits: Limits,
    /// The names of the server.
    pub hosts: AllowedHosts,
}

/// Routes behind the admission, which adds the [`Client`] to each request.
pub fn admitted(routes: Router, admission: Admission) -> Router {
    routes.layer(middleware::from_fn_with_state(admission, admit))
}

/// Adds the [`Client`] to each request, and refuses requests beyond its limits and those to other hosts.
async fn admit(
    State(state): State<Admission>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    mut request: Request,
    next: Next,
) -> Response {
    let authorization = request.headers().get(header::AUTHORIZATION);
    let authorization = authorization.map(|value| value.to_str().unwrap_or_default());
    let (slot, is_encrypted) = (peer.slot.clone(), peer.is_encrypted);
    let caller = Caller::new(&state.access, peer, authorization);
    let admitted = Client::new(&state.limits, caller, slot.as_ref())
        .and_then(|client| Ok((client.account.begin_call(client.now_us())?, client)));
    match admitted {
        Ok((_open, client)) => {
            let _call = slot.as_ref().map(Slot::begin_call);
            if let Err((status, message)) = state.hosts.check(request.headers(), is_encrypted) {
                return (status, format!("{message}\n")).into_response();
            }
            request.extensions_mut().insert(client);
            next.run(request).await
        }
        Err(refused) => {
            sleep(REFUSAL_PAUSE).await;
            too_many(&refused)
        }
    }
}

/// 429 with `Retry-After` (RFC 6585 §4).
fn too_many(refused: &Refused) -> Response {
    let message = format!("{}\n", refused.message());
    let mut response = (StatusCode::TOO_MANY_REQUESTS, message).into_response();
    if let Some(wait) = refused.retry_after() {
        let seconds = HeaderValue::from(wait.as_secs() + 1);
        response.headers_mut().insert(header::RETRY_AFTER, seconds);
    }
    response
}

/// 401 for an unknown client, 403 for a missing right.
pub fn refused(refusal: Refusal) -> Response {
    let message = format!("{}\n", refusal.message);
    match refusal.reason {
        Reason::Unauthenticated => {
            (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], message)
                .into_response()
        }
        Reason::Right | Reason::Node => (StatusCode::FORBIDDEN, message).into_response(),
    }
}
