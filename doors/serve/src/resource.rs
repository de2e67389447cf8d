//! Pages that an agent reads before it asks: GPUs, metrics, advice, codes, and when to believe.
//! Beside them each GPU has a page, `gpus/NAME`.

use tokio::process::Command;

use crate::answer::{Reason, Refusal};
use crate::service::Service;
use crate::tool::GPU;

/// A page.
pub(crate) struct Resource {
    /// Its name, behind `gpucast://`.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) media_type: &'static str,
    pub(crate) content: Content,
}

/// Where a page comes from.
pub(crate) enum Content {
    Text(&'static str),
    /// The words of the program that print it.
    Printed(&'static [&'static str]),
}

const MARKDOWN: &str = "text/markdown";
const PLAIN: &str = "text/plain";
const JSON: &str = "application/json";

/// All pages.
pub(crate) static RESOURCES: [Resource; 7] = [
    Resource {
        name: "skill",
        title: "How to ask, and when to believe an answer",
        media_type: MARKDOWN,
        content: Content::Text(include_str!("../SKILL.md")),
    },
    Resource {
        name: "gpus",
        title: "The GPUs that are known by name; gpus/NAME has every figure of one",
        media_type: PLAIN,
        content: Content::Printed(&["gpus", "list"]),
    },
    Resource {
        name: "metrics",
        title: "Metrics: names of nvprof and Nsight Compute, units, kinds, meanings",
        media_type: MARKDOWN,
        content: Content::Printed(&["explain", "--page=metrics"]),
    },
    Resource {
        name: "advice",
        title: "Rules of advice: why something is slow, and how to fix it",
        media_type: MARKDOWN,
        content: Content::Printed(&["explain", "--page=advice"]),
    },
    Resource {
        name: "codes",
        title: "Codes of errors and warnings, and the JSON documents",
        media_type: MARKDOWN,
        content: Content::Printed(&["explain", "--page=codes"]),
    },
    Resource {
        name: "checks",
        title: "What checks find, and how a candidate is judged",
        media_type: MARKDOWN,
        content: Content::Printed(&["explain", "--page=checks"]),
    },
    Resource {
        name: "glossary",
        title: "Words of the field",
        media_type: MARKDOWN,
        content: Content::Printed(&["explain", "--page=glossary"]),
    },
];

/// The text of a page.
pub(crate) struct Page {
    pub(crate) media_type: &'static str,
    pub(crate) text: String,
}

/// Reads a page by its name.
pub(crate) async fn read(name: &str, service: &Service) -> Result<Page, Refusal> {
    if let Some(resource) = RESOURCES.iter().find(|resource| resource.name == name) {
        let text = match resource.content {
            Content::Text(text) => text.to_owned(),
            Content::Printed(words) => printed(words, service).await?,
        };
        return Ok(Page { media_type: resource.media_type, text });
    }
    let unknown = || Refusal::new(Reason::Unknown, format!("there is no resource `{name}`"));
    let gpu = name.strip_prefix("gpus/").ok_or_else(unknown)?;
    if !GPU.fits(gpu) {
        return Err(unknown());
    }
    let text = printed(&["gpus", "show", "--format=json", gpu], service).await;
    let text = text.map_err(|refusal| match refusal.reason {
        // The name is a name, so what fails is that there is no such GPU.
        Reason::Server => unknown(),
        _ => refusal,
    })?;
    Ok(Page { media_type: JSON, text })
}

async fn printed(words: &[&str], service: &Service) -> Result<String, Refusal> {
    let _turn = service.turn().await?;
    let mut command = Command::new(service.program());
    command.args(["--no-project", "--color=never"]).args(words);
    command.stdin(std::process::Stdio::null()).kill_on_drop(true);
    let cannot = |error| Refusal::new(Reason::Server, format!("cannot read it: {error}"));
    let output = command.output().await.map_err(cannot)?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            Err(Refusal::new(Reason::Server, said))
        }
    }
}
