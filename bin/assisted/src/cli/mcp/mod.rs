//! `assisted mcp`: the commands of this program as tools of an assistant, by the Model Context Protocol.
//!
//! A tool is a command of the command line: its name, its description and its options come from there, so that the two can't
//! differ, and a call runs this program once, as the caller who started the server, with that caller's rights.

mod call;
mod protocol;
mod tool;

use std::io::{BufRead, Read};
use std::path::PathBuf;

use assisted_console::Failure;
use assisted_console::output::line_if_read;
use clap::{Args, CommandFactory};
use serde_json::{Value, json};

use super::common::Context;
use crate::Program;
use call::Caller;
use protocol::{Reply, Request};
use tool::Tool;

/// Longest request, in bytes: manifests of a site fit.
const LONGEST: u64 = 4 << 20;

/// Let an assistant read and act: a server of the Model Context Protocol (MCP) on standard input and output
///
/// Tools are the commands of this program, for the service of --url and with your rights there: what you may not do, the assistant may
/// not either. Files of this computer are not read for it, but for the pull secret that is named here, and kubeconfigs, passwords and
/// addresses of images are not given out.
#[derive(Args, Debug)]
pub struct Mcp {
    /// Only tools that change nothing
    #[arg(long)]
    read_only: bool,
    /// File with the pull secret for clusters and infra-envs that are created; the assistant does not see it
    #[arg(long, value_name = "FILE")]
    pull_secret_file: Option<PathBuf>,
}

impl Mcp {
    /// Answers until standard input ends.
    pub async fn run(self, context: &Context) -> Result<(), Failure> {
        let failed =
            |error: std::io::Error| Failure::Refused(format!("the assistant can't be heard: {error}"));
        let server = Server::new(&self, context);
        // Nothing else goes on between two requests, so that reading may hold up the thread.
        let mut input = std::io::stdin().lock();
        loop {
            let mut line = Vec::new();
            let read = (&mut input).take(LONGEST).read_until(b'\n', &mut line).map_err(failed)?;
            if read == 0 {
                return Ok(());
            }
            if line.last() != Some(&b'\n') && line.len() as u64 == LONGEST {
                return Err(Failure::Refused(format!("a request of more than {LONGEST} bytes was sent")));
            }
            let Some(reply) = server.answer(&line).await else { continue };
            if !line_if_read(&reply.to_string())? {
                return Ok(());
            }
        }
    }
}

struct Server {
    tools: Vec<Tool>,
    caller: Caller,
}

impl Server {
    fn new(options: &Mcp, context: &Context) -> Self {
        let tools = tool::all(&Program::command(), options.read_only, options.pull_secret_file.is_some());
        Self { tools, caller: Caller::new(context, options.pull_secret_file.clone()) }
    }

    /// The answer to a line; none to a notification.
    async fn answer(&self, line: &[u8]) -> Option<Value> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        let request = match Request::read(line) {
            Ok(request) => request,
            Err(reply) => return Some(reply.of(&Value::Null)),
        };
        let id = request.id.clone()?;
        let reply = match request.method.as_str() {
            "initialize" => Reply::Result(protocol::introduction(&request.params)),
            "ping" => Reply::Result(json!({})),
            "tools/list" => {
                let tools: Vec<_> = self.tools.iter().map(Tool::describe).collect();
                Reply::Result(json!({ "tools": tools }))
            }
            "tools/call" => self.call(&request.params).await,
            method => Reply::no_method(method),
        };
        Some(reply.of(&id))
    }

    async fn call(&self, params: &Value) -> Reply {
        let name = params["name"].as_str().unwrap_or_default();
        let Some(tool) = self.tools.iter().find(|tool| tool.name == name) else {
            return Reply::invalid(&format!("there is no tool {name:?}"));
        };
        let arguments = match tool.arguments(&params["arguments"]) {
            Ok(arguments) => arguments,
            Err(why) => return Reply::invalid(&why),
        };
        let (text, failed) =
            match self.caller.call(tool, arguments, Tool::manifests(&params["arguments"])).await {
                Ok(text) => (text, false),
                Err(text) => (text, true),
            };
        Reply::Result(json!({ "content": [{ "type": "text", "text": text }], "isError": failed }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every row of the table is a command, and every option of it that a tool has is one that it can be called with.
    #[test]
    fn tools_are_commands() {
        let tools = tool::all(&Program::command(), false, true);
        assert_eq!(tools.len(), tool::TABLE.len(), "a row of the table names no command");
        let described: Vec<_> = tools.iter().map(Tool::describe).collect();
        let create = described.iter().find(|tool| tool["name"] == "cluster_create").unwrap();
        let schema = &create["inputSchema"];
        assert_eq!(schema["required"], json!(["name"]), "the pull secret is the server's");
        assert_eq!(schema["properties"]["api_vips"]["type"], "array");
        assert_eq!(schema["properties"]["control_plane_count"]["type"], "string");
        assert!(schema["properties"]["platform"]["enum"].as_array().unwrap().contains(&json!("none")));
        for tool in &described {
            for (name, property) in tool["inputSchema"]["properties"].as_object().unwrap() {
                assert!(
                    !name.ends_with("_file") && !property["description"].as_str().unwrap().is_empty(),
                    "{tool}"
                );
            }
        }
        let reading = tool::all(&Program::command(), true, true);
        assert!(reading.iter().all(|tool| tool.describe()["annotations"]["readOnlyHint"] == true));
        assert!(reading.len() > 8 && reading.len() < tools.len());
    }

    #[test]
    fn arguments_can_be_no_options() {
        let tools = tool::all(&Program::command(), false, true);
        let tool = |name: &str| tools.iter().find(|tool| tool.name == name).unwrap();
        let words = tool("cluster_show").arguments(&json!({"cluster": "--url=http://elsewhere"})).unwrap();
        assert_eq!(words, ["--", "--url=http://elsewhere"]);
        let words = tool("host_update").arguments(&json!({"host": "a", "labels": ["b=c", "--d"]})).unwrap();
        assert_eq!(words, ["--label=b=c", "--label=--d", "--", "a"]);
        for (name, wrong) in [
            ("cluster_show", json!({})),
            ("cluster_show", json!({"cluster": 1})),
            ("cluster_show", json!({"cluster": "a", "url": "http://elsewhere"})),
            ("cluster_create", json!({"name": "a", "pull_secret_file": "/etc/shadow"})),
        ] {
            assert!(tool(name).arguments(&wrong).is_err(), "{wrong}");
        }
    }
}
