//! Stores in the object storage of a cloud: S3 and what speaks its language, Google Cloud Storage,
//! Azure.
//!
//! Credentials and endpoints come from the environment, as the clouds' own programs read them:
//! `AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT`, `GOOGLE_SERVICE_ACCOUNT`, `AZURE_STORAGE_ACCOUNT_NAME` ….

use gpucast_forecast::store::{Put, Store, StoreError};
use object_store::path::Path;
use object_store::{
    Error, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutPayload, parse_url_opts,
};
use tokio::runtime::{Builder, Runtime};
use url::Url;

use crate::failure::Report;

/// A bucket, or a part of one.
pub(crate) struct Bucket {
    place: String,
    objects: Box<dyn ObjectStore>,
    /// What every name begins with.
    prefix: Path,
    runtime: Runtime,
}

impl Bucket {
    /// Opens the bucket of a URL such as `s3://bucket/prefix`. Nothing is asked of it yet.
    pub(crate) fn open(place: &str) -> Result<Self, Report> {
        let wrong =
            |error: &dyn std::fmt::Display| Report::new(format!("{place} is no store: {error}"));
        // Another part of the program may have made the same choice; either will do.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let url = Url::parse(place).map_err(|error| wrong(&error))?;
        check_encryption(place, &|name| std::env::var(name).ok())?;
        let variables = std::env::vars().map(|(name, value)| (name.to_lowercase(), value));
        let (objects, prefix) = parse_url_opts(&url, variables).map_err(|error| wrong(&error))?;
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| wrong(&error))?;
        Ok(Self { place: place.to_owned(), objects, prefix, runtime })
    }

    fn path(&self, name: &str) -> Path {
        Path::from_iter(self.prefix.parts().chain(Path::from(name).parts()))
    }

    fn failed<'a>(
        &'a self,
        verb: &'static str,
        name: &'a str,
    ) -> impl Fn(Error) -> StoreError + 'a {
        move |error| StoreError {
            verb,
            name: name.to_owned(),
            place: self.place.clone(),
            reason: reason(&error.to_string()),
        }
    }
}

/// Endpoints without encryption are refused unless they are asked for. The library says no more of
/// them than that a request cannot be built.
fn check_encryption(place: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<(), Report> {
    let endpoint = ["AWS_ENDPOINT", "AWS_ENDPOINT_URL"].iter().find_map(|name| variable(name));
    let is_plain = endpoint.as_ref().is_some_and(|endpoint| endpoint.starts_with("http:"));
    let is_allowed = variable("AWS_ALLOW_HTTP").is_some_and(|value| value == "true");
    if !place.starts_with("s3") || !is_plain || is_allowed {
        return Ok(());
    }
    let endpoint = endpoint.unwrap_or_default();
    Err(Report::new(format!("{place} cannot be reached: {endpoint} is not encrypted"))
        .hint("set AWS_ALLOW_HTTP=true if that is meant"))
}

/// The message in a server's answer, without the XML around it.
fn reason(text: &str) -> String {
    let message = text.split_once("<Message>").and_then(|(_, rest)| rest.split_once("</Message>"));
    message.map_or(text, |(message, _)| message).to_owned()
}

impl Store for Bucket {
    fn place(&self) -> &str {
        &self.place
    }

    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.path(name);
        let bytes = self.runtime.block_on(async { self.objects.get(&path).await?.bytes().await });
        match bytes {
            Ok(bytes) => Ok(Some(bytes.to_vec())),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed("read", name)(error)),
        }
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<Put, StoreError> {
        let (path, payload) = (self.path(name), PutPayload::from(bytes.to_vec()));
        let options = PutOptions::from(PutMode::Create);
        let put = self.runtime.block_on(self.objects.put_opts(&path, payload, options));
        match put {
            Ok(_) => Ok(Put::Stored),
            Err(Error::AlreadyExists { .. }) => Ok(Put::Present),
            Err(error) => Err(self.failed("write", name)(error)),
        }
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let (path, payload) = (self.path(name), PutPayload::from(bytes.to_vec()));
        let put = self.runtime.block_on(self.objects.put(&path, payload));
        put.map(drop).map_err(self.failed("write", name))
    }

    fn remove(&self, name: &str) -> Result<(), StoreError> {
        let path = self.path(name);
        match self.runtime.block_on(self.objects.delete(&path)) {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.failed("remove", name)(error)),
        }
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, StoreError> {
        let path = self.path(folder);
        let listed = self.runtime.block_on(self.objects.list_with_delimiter(Some(&path)));
        let listed = listed.map_err(self.failed("list", folder))?;
        let name = |path: &Path| path.filename().map(str::to_owned);
        let mut names: Vec<String> =
            listed.objects.iter().filter_map(|object| name(&object.location)).collect();
        names.sort();
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_endpoints_must_be_asked_for() {
        let check = |endpoint: &'static str, allowed: &'static str| {
            let variable = |name: &str| match name {
                "AWS_ENDPOINT" => Some(endpoint.to_owned()),
                "AWS_ALLOW_HTTP" => Some(allowed.to_owned()),
                _ => None,
            };
            check_encryption("s3://bucket/sweep", &variable).is_ok()
        };
        assert!(check("https://minio:9000", "") && check("http://minio:9000", "true"));
        assert!(!check("http://minio:9000", "") && !check("http://minio:9000", "false"));
    }

    #[test]
    fn a_reason_is_the_server_s_message() {
        let answer = "status 404: <Error><Code>No</Code><Message>There is none.</Message></Error>";
        assert_eq!(reason(answer), "There is none.");
        assert_eq!(reason("no answer"), "no answer");
    }
}
