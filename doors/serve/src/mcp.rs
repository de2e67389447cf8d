//! The Model Context Protocol: tools and resources for agents.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource as Page,
    ResourceContents, ResourceTemplate, ServerCapabilities, ServerConfig, Tool as Described,
    ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::answer::{Answer, Reason, Refusal};
use crate::resource::{self, RESOURCES};
use crate::schema;
use crate::service::Service;
use crate::summary;
use crate::tool::{TOOLS, Tool};

const SCHEME: &str = "gpucast://";

const INSTRUCTIONS: &str = "gpucast judges CUDA and PTX kernels without a GPU. Ask `compile` \
    first, then `check`, then `predict` or `advise`; `judge` does all of it beside a reference. \
    Times come with intervals: a difference within them is none. gpucast://skill says when to \
    believe an answer.";

/// The server as an agent sees it.
#[derive(Clone, Debug)]
pub struct Agent {
    service: Arc<Service>,
}

impl Agent {
    /// An agent's view of a service.
    #[must_use]
    pub fn new(service: Arc<Service>) -> Self {
        Self { service }
    }
}

/// The protocol over HTTP. Each request stands for itself, so that no session is left behind.
pub(crate) fn over_http(
    service: Arc<Service>,
    ending: CancellationToken,
) -> StreamableHttpService<Agent, NeverSessionManager> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_cancellation_token(ending);
    let agent = move || Ok(Agent::new(Arc::clone(&service)));
    StreamableHttpService::new(agent, Arc::new(NeverSessionManager::default()), config)
}

fn described(tool: &Tool, service: &Service) -> Described {
    let schema = Arc::new(schema::of_arguments(tool, service.limits()));
    // What runs is confined and leaves nothing behind but kept counts.
    let hints = ToolAnnotations::new().read_only(true).idempotent(true).open_world(false);
    Described::new(tool.name, tool.description, schema).with_title(tool.title).annotate(hints)
}

fn answered(answer: &Answer) -> CallToolResult {
    let value = serde_json::to_value(answer).unwrap_or_default();
    result(summary::of(answer), value, answer.document.is_none())
}

/// An agent reads a tool's error; clients hide those of the protocol.
fn refused(refusal: &Refusal) -> CallToolResult {
    result(format!("{}: {}", refusal.reason.word(), refusal.message), refusal.to_json(), true)
}

fn result(text: String, value: Value, is_error: bool) -> CallToolResult {
    let content = vec![ContentBlock::text(text)];
    let mut result = match is_error {
        true => CallToolResult::error(content),
        false => CallToolResult::success(content),
    };
    result.structured_content = Some(value);
    result
}

impl ServerHandler for Agent {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        let mut info = ServerConfig::new(capabilities);
        info.server_info = Implementation::new("gpucast", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(INSTRUCTIONS.to_owned());
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = TOOLS.iter().map(|tool| described(tool, &self.service));
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = Tool::named(&call.name) else {
            let message = format!("there is no tool `{}`", call.name);
            return Err(ErrorData::invalid_params(message, None));
        };
        let answer = self.service.answer(tool, call.arguments.unwrap_or_default());
        let result = tokio::select! {
            answer = answer => match answer {
                Ok(answer) => answered(&answer),
                Err(refusal) => refused(&refusal),
            },
            // Nobody waits any more; leaving this place ends the process.
            () = context.ct.cancelled() => {
                refused(&Refusal::new(Reason::Stopping, "the request was cancelled"))
            }
        };
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let pages = RESOURCES.iter().map(|resource| {
            Page::new(format!("{SCHEME}{}", resource.name), resource.name)
                .with_title(resource.title)
                .with_description(resource.title)
                .with_mime_type(resource.media_type)
        });
        Ok(ListResourcesResult::with_all_items(pages.collect()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let gpu = ResourceTemplate::new(format!("{SCHEME}gpus/{{name}}"), "gpu")
            .with_title("Every figure of a GPU, with its unit and source")
            .with_mime_type("application/json");
        Ok(ListResourceTemplatesResult::with_all_items(vec![gpu]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let name = uri.strip_prefix(SCHEME).unwrap_or_default();
        match resource::read(name, &self.service).await {
            Ok(page) => {
                let contents = ResourceContents::text(page.text, uri);
                let contents = contents.with_mime_type(page.media_type);
                Ok(ReadResourceResult::new(vec![contents]).into())
            }
            Err(refusal) if refusal.reason == Reason::Unknown => {
                let message = format!("there is no resource {uri}");
                Err(ErrorData::resource_not_found(message, Some(json!({ "uri": uri }))))
            }
            Err(refusal) => Err(ErrorData::internal_error(refusal.message, None)),
        }
    }
}
