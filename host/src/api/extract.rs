//! What a caller sends, read; what cannot be read is answered as every other error is (RFC 9457).

use crate::problem::Problem;
use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

/// The query of a request.
pub(super) struct Asked<T>(pub T);

/// The JSON body of a request.
pub(super) struct Sent<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read: Result<Query<T>, QueryRejection> = Query::from_request_parts(parts, state).await;
        match read {
            Ok(Query(query)) => Ok(Self(query)),
            Err(wrong) => Err(Problem::new(wrong.status(), wrong.body_text())),
        }
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Sent<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let read: Result<Json<T>, JsonRejection> = Json::from_request(request, state).await;
        match read {
            Ok(Json(body)) => Ok(Self(body)),
            Err(wrong) => Err(Problem::new(wrong.status(), wrong.body_text())),
        }
    }
}
