//! HTTP: an address for each tool and page, the protocol of agents, metrics, and what the server
//! can do.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{get, post};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::answer::{Reason, Refusal};
use crate::mcp;
use crate::openapi;
use crate::request::LONGEST_TEXT;
use crate::resource;
use crate::service::Service;
use crate::token::Token;
use crate::tool::{CLASSROOM, Tool};

/// The longest request: a candidate, a reference and their launch files, with room for escapes.
const LONGEST_REQUEST: usize = 6 * LONGEST_TEXT;

const JSON: &str = "application/json";

#[derive(Clone)]
struct Server {
    service: Arc<Service>,
    token: Token,
    /// The classroom's page.
    page: Option<Bytes>,
}

/// All addresses of a service. `/health`, `/openapi.json` and the page are everybody's; the others
/// ask for the token. Connections of agents end when `ending` is cancelled.
pub fn router(
    service: Arc<Service>,
    token: Token,
    classroom_page: Option<Vec<u8>>,
    ending: CancellationToken,
) -> Router {
    let agents = mcp::over_http(Arc::clone(&service), ending);
    let server = Server { service, token, page: classroom_page.map(Bytes::from) };
    let guarded = Router::new()
        .route("/v1/resources/{*name}", get(page))
        .route("/v1/{tool}", post(tool))
        .route("/metrics", get(metrics))
        .route_service("/mcp", agents)
        .layer(DefaultBodyLimit::max(LONGEST_REQUEST))
        .route_layer(middleware::from_fn_with_state(server.clone(), guard));
    Router::new()
        .merge(guarded)
        .route("/", get(classroom))
        .route("/health", get(health))
        .route("/openapi.json", get(document))
        .fallback(absent)
        .method_not_allowed_fallback(not_allowed)
        .with_state(server)
}

fn response(status: StatusCode, media_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

fn refused(refusal: &Refusal) -> Response {
    let status = StatusCode::from_u16(refusal.reason.status());
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = response(status, JSON, refusal.to_json().to_string());
    let header = match refusal.reason {
        Reason::Busy | Reason::Stopping => Some((RETRY_AFTER, "1")),
        Reason::Unauthorized => Some((WWW_AUTHENTICATE, "Bearer")),
        _ => None,
    };
    if let Some((name, value)) = header {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn guard(State(server): State<Server>, request: Request, next: Next) -> Response {
    let header = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes);
    if server.token.is_in(header) {
        return next.run(request).await;
    }
    let message = "send the server's token as `Authorization: Bearer TOKEN`";
    refused(&Refusal::new(Reason::Unauthorized, message))
}

async fn tool(
    State(server): State<Server>,
    Path(name): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    match answered(&server, &name, body).await {
        Ok(answer) => response(StatusCode::OK, JSON, answer),
        Err(refusal) => refused(&refusal),
    }
}

async fn answered(
    server: &Server,
    name: &str,
    body: Result<Bytes, BytesRejection>,
) -> Result<String, Refusal> {
    let of_page = (name == CLASSROOM.name && server.page.is_some()).then_some(&CLASSROOM);
    let Some(tool) = Tool::named(name).or(of_page) else {
        return Err(Refusal::new(Reason::Unknown, format!("there is no tool `{name}`")));
    };
    let body = body.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            let message = format!("a request has at most {LONGEST_REQUEST} bytes");
            Refusal::new(Reason::TooLong, message)
        }
        _ => Refusal::request(rejection.body_text()),
    })?;
    let arguments: Map<String, Value> = serde_json::from_slice(&body)
        .map_err(|error| Refusal::request(format!("the body is no JSON object: {error}")))?;
    Ok(server.service.answer(tool, arguments).await?.to_json())
}

async fn page(State(server): State<Server>, Path(name): Path<String>) -> Response {
    match resource::read(&name, &server.service).await {
        Ok(page) => response(StatusCode::OK, page.media_type, page.text),
        Err(refusal) => refused(&refusal),
    }
}

async fn metrics(State(server): State<Server>) -> Response {
    response(StatusCode::OK, "text/plain; version=0.0.4", server.service.metrics.page())
}

/// The classroom's page. It knows the token by the address that the server's user opens.
async fn classroom(State(server): State<Server>) -> Response {
    match server.page {
        Some(page) => response(StatusCode::OK, "text/html; charset=utf-8", page),
        None => absent().await,
    }
}

async fn health() -> Response {
    response(StatusCode::OK, JSON, "{\"status\":\"ok\"}")
}

async fn document(State(server): State<Server>) -> Response {
    response(StatusCode::OK, JSON, openapi::document(server.service.limits()).to_string())
}

async fn absent() -> Response {
    refused(&Refusal::new(Reason::Unknown, "there is nothing here; see /openapi.json"))
}

async fn not_allowed() -> Response {
    refused(&Refusal::new(Reason::Method, "this address takes another method"))
}
