//! A client that shows exactly what it is answered.

use std::time::Duration;

use reqwest::{Client, Method};

use crate::server::Server;

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

pub fn client() -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().no_gzip().timeout(Duration::from_secs(60)).build().unwrap()
}

pub async fn ask(client: &Client, method: Method, url: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = client.request(method, url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    Answer { status, headers, body: response.bytes().await.unwrap().to_vec() }
}

pub async fn get(server: &Server, path: &str, headers: &[(&str, &str)]) -> Answer {
    ask(&client(), Method::GET, &server.url(path), headers).await
}
